/**
 * Paths in rules, such as `context.traits` or `properties.total\.net`, are names separated by dots. A backslash makes
 * the next character literal.
 *
 *   a path               in a call of type     stands for
 *   traits, traits.x     identify with traits  context.traits, context.traits.x
 *                        only in
 *                        context.traits
 *   traits               any other identify    also context.traits, if traits is removed, because a receiver
 *                                              would see context.traits instead
 *   properties,          page                  also traits, traits.x, because a page's traits are properties
 *     properties.x
 */

import type { CallType } from "../../domain/call.ts";
import { isJsonObject, type JsonObject } from "../../domain/json.ts";
import { nearest } from "../../domain/nearest.ts";

/** The names of a path; empty for the call itself. */
export type RulePath = readonly string[];

/** What the fields at the top level of a call must be. Other fields can be anything. */
export const FIELDS: ReadonlyMap<string, "id" | "object" | "string" | "time"> = new Map([
  ...(["userId", "anonymousId", "groupId", "previousId", "messageId", "category"] as const).map(
    (name) => [name, "id"] as const,
  ),
  ...(["type", "event", "name"] as const).map((name) => [name, "string"] as const),
  ...(["properties", "traits", "context", "integrations"] as const).map(
    (name) => [name, "object"] as const,
  ),
  ...(["timestamp", "originalTimestamp", "sentAt", "receivedAt"] as const).map(
    (name) => [name, "time"] as const,
  ),
]);

export const ESCAPE_HINT = "a backslash before a character makes it part of a name";

/** The path that was most likely meant by one that starts with the name of no field; null if it may be meant. */
export function meantField([first = "", ...rest]: RulePath, written: string): string | null {
  if (FIELDS.has(first) || written.includes("\\")) return null;
  const field = nearest(first, [...FIELDS.keys()], 1 / 4.5);
  return field && pathOf([field, ...rest]);
}

/** Spellings of other languages: `$.a`, `/a/b`, `a->b`, `a[0]`, `a[*]`, `a['b']`, `a.0`, `a.*`, and spaces around. */
const FOREIGN = /^\s+|\s+$|^\$(?=[.[]|$)|->|\[["'`]?(?:\d+|\*)?|["'`]?\]|\.(?:\d+|\*)(?=\.|$)/g;

/** Like `meantField`, also for paths with the spelling of another language. */
export function meantPath(text: string): string | null {
  if (text.includes("\\")) return null;
  const slashed = text.startsWith("/") ? text.slice(1).replaceAll("/", ".") : text;
  const plain = slashed.replaceAll(FOREIGN, (found) =>
    /^(?:->|\[["'`]?$)/.test(found) ? "." : "",
  );
  const names = plain.split(".").filter((name) => name !== "");
  return meantField(names, "") ?? (names.join(".") === text ? null : names.join(".") || "a name");
}

/** Parses a path; null if a name is empty, or if the last character is a backslash. */
export function parsePath(text: string): RulePath | null {
  const names: string[] = [];
  let name = "";
  let isEscaped = false;
  for (const character of text) {
    if (isEscaped || (character !== "\\" && character !== ".")) {
      name += character;
      isEscaped = false;
    } else if (character === "\\") {
      isEscaped = true;
    } else {
      names.push(name);
      name = "";
    }
  }
  names.push(name);
  return isEscaped || names.includes("") ? null : names;
}

export function pathOf(names: RulePath): string {
  return names.map((name) => (/[\\.]/.test(name) ? escaped(name) : name)).join(".");
}

function escaped(name: string): string {
  return name.replaceAll(/[\\.]/g, "\\$&");
}

/** Returns true if the paths are equal, or if one path leads to a value inside the value at the other path. */
export function overlaps(one: RulePath, other: RulePath): boolean {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) if (one[at] !== other[at]) return false;
  return true;
}

/** Compares paths name by name, by UTF-16 code units. A path comes before the longer paths that start with it. */
export function comparePaths(one: RulePath, other: RulePath): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const [a, b] = [one[at] ?? "", other[at] ?? ""];
    if (a !== b) return a < b ? -1 : 1;
  }
  return one.length - other.length;
}

/** The locations in a call that receivers see as traits and properties. */
export interface CallShape {
  readonly traitsAreInContext: boolean;
  readonly isIdentify: boolean;
  readonly isPage: boolean;
}

export function shapeOf(type: CallType, json: JsonObject): CallShape {
  const isIdentify = type === "identify";
  const context = own(json, "context");
  const traitsAreInContext =
    isIdentify &&
    !isJsonObject(own(json, "traits")) &&
    isJsonObject(context) &&
    isJsonObject(own(context, "traits"));
  return { traitsAreInContext, isIdentify, isPage: type === "page" };
}

/** The locations in a call that a path stands for, according to the table above. */
export function placesOf(
  path: RulePath,
  shape: CallShape,
  isRemoved: boolean,
): readonly RulePath[] {
  const [first, ...rest] = path;
  if (first === "traits" && shape.traitsAreInContext) return [["context", "traits", ...rest]];
  if (first === "traits" && shape.isIdentify && isRemoved && rest.length === 0) {
    return [path, ["context", "traits"]];
  }
  if (first === "properties" && shape.isPage) return [path, ["traits", ...rest]];
  return [path];
}

/** Returns an own property. Inherited properties, such as `constructor`, are ignored. */
export function own(object: JsonObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
