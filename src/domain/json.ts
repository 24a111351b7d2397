/** Types and functions for JSON values as `JSON.parse` returns them. */

/** A plain object. All of its keys are own properties, even `__proto__`. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * The deepest nesting that is accepted. `JSON.parse` reads any depth, but with Node's default stack size,
 * `JSON.stringify` writes only about 4,400 levels. Half of that leaves room on the stack for the callers.
 */
export const JSON_DEPTH_MAX = 2_000;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Returns a key that an object in the text has twice, of which `JSON.parse` drops the first; null if there is none. */
export function repeatedKey(json: string): string | null {
  const objects: Set<unknown>[] = [];
  for (const [token, key, colon] of json.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}]/g)) {
    if (token === "{") objects.push(new Set());
    else if (token === "}") objects.pop();
    else if (key !== undefined && colon !== undefined) {
      const name: unknown = JSON.parse(key);
      if (objects.at(-1)?.has(name)) return `${name}`;
      objects.at(-1)?.add(name);
    }
  }
  return null;
}

/** Parses an object from a string or from bytes in UTF-8; null if it is not JSON or not an object. */
export function jsonObjectIn(text: string | Buffer): JsonObject | null {
  try {
    const json: unknown = JSON.parse(text.toString());
    return isJsonObject(json) ? json : null;
  } catch {
    return null;
  }
}

/** This function and those below read values of unknown type. They return null if the value has the wrong type. */
export function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

export function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function oneOf<Name extends string>(names: readonly Name[], value: unknown): Name | null {
  return names.find((name) => name === value) ?? null;
}

/** The entries of a list that are objects. Empty if the value is not a list. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Names the kind of a value, for messages. The value itself is not included, because it may be personal data. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  if (typeof value === "string") return value === "" ? "an empty string" : "a string";
  // JSON.parse reads 1e400 as infinity.
  if (typeof value === "number")
    return Number.isFinite(value) ? "a number" : "a number too large to be read";
  return `${value}`;
}

/** Like `kindOf`, but shows the value if it is a single short word, such as a misspelled type or ID. */
export function describe(value: unknown): string {
  if (value === undefined || value === "") return "missing";
  const isWord = typeof value === "string" && /^[\w.-]{1,40}$/.test(value);
  return isWord ? `"${value}"` : kindOf(value);
}

/** Returns true if objects and lists in a value are nested more than `levels` deep. */
export function nestsDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Object.values(value)) {
    if (typeof inner === "object" && nestsDeeperThan(levels - 1, inner)) return true;
  }
  return false;
}

/**
 * Returns true if both values have the same type and are equal. Objects and lists are compared by content. Nesting
 * may be of any depth, because the function does not recurse.
 */
export function isEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  const left: unknown[] = [one];
  const right: unknown[] = [other];
  while (left.length > 0) {
    const [a, b] = [left.pop(), right.pop()];
    if (a === b) continue;
    if (Array.isArray(a)) {
      if (!Array.isArray(b) || a.length !== b.length) return false;
      for (const [at, entry] of a.entries()) {
        left.push(entry);
        right.push(b[at]);
      }
    } else {
      if (!isJsonObject(a) || !isJsonObject(b)) return false;
      const names = Object.keys(a);
      if (names.length !== Object.keys(b).length) return false;
      for (const name of names) {
        if (!Object.hasOwn(b, name)) return false;
        left.push(a[name]);
        right.push(b[name]);
      }
    }
  }
  return true;
}
