/**
 * Checks a call and returns the object to send. `call-input.ts` has the types of calls.
 *
 *   value                                     is
 *   undefined, null, empty string             absent
 *   id: a number up to 2^53 - 1, a bigint     sent as a string
 *   id: a number beyond 2^53 - 1              rejected, because its last digits are already lost
 *   properties, traits, context               a plain object, or one whose toJSON returns one; no
 *                                             Map, list or Date, which JSON would empty or change
 *   integrations                              an object of booleans and objects (options)
 *   timestamp: string                         unchanged, if the server can read its form
 *                                             (docs/calls.md#timestamps)
 *   timestamp: a Date or a number             ISO 8601, UTC, milliseconds; not a number that the server
 *                                             cannot read, nor a year beyond 9999
 *   a field that the method does not accept   rejected: it would be lost silently
 *   anything else                             rejected, with the field's name and without the value
 */

import { isJsonObject } from "../../domain/json.ts";
import { isoTimestamp, isWritable, readTimestamp } from "../../domain/timestamp.ts";
import type { CallType } from "./call-input.ts";
import { ValidationError } from "./client-error.ts";

/** The value of `context.library` in calls; a test compares it with package.json. */
export const LIBRARY = { name: "switchyard", version: "0.1.0" } as const;

/** A call as it is sent: field by field, in this order. */
export type CheckedCall = Readonly<Record<string, unknown>>;

type InputFields = Record<string, unknown>;
/** Returns the value to send; undefined if the given value has the wrong type. */
type Reader = (value: unknown) => unknown;

interface FieldRule {
  readonly read: Reader;
  readonly expected: string;
}

const MESSAGE_ID_CHARACTERS_MAX = 100;
const LIBRARY_ALONE: unknown = { library: LIBRARY };

const ID: FieldRule = {
  read: readId,
  expected:
    "a string, or a finite number up to 2^53 - 1; pass a larger ID as a string, because JavaScript rounds larger numbers",
};
const TEXT: FieldRule = {
  read: (value) => (typeof value === "string" ? value : undefined),
  expected: "text",
};
const OBJECT: FieldRule = {
  read: readObject,
  expected: "a plain object (no list, Map, Set or Date)",
};

const RULES: Readonly<Record<string, FieldRule>> = {
  messageId: {
    read: (value) => {
      const id = readId(value);
      return id !== undefined && id.length <= MESSAGE_ID_CHARACTERS_MAX ? id : undefined;
    },
    expected: `a string of at most ${MESSAGE_ID_CHARACTERS_MAX} characters, or a number up to 2^53 - 1`,
  },
  userId: ID,
  anonymousId: ID,
  groupId: ID,
  previousId: ID,
  event: TEXT,
  name: TEXT,
  category: TEXT,
  properties: OBJECT,
  traits: OBJECT,
  context: OBJECT,
  integrations: { ...OBJECT, expected: "an object of integration names to booleans" },
  timestamp: {
    read: readTime,
    expected: "a Date, an ISO 8601 string, or seconds or milliseconds since the epoch",
  },
};

const COMMON = ["context", "integrations", "timestamp"];
const CALLER = ["messageId", "userId", "anonymousId"];

/** The fields that each method accepts, in the order in which they are sent. */
const FIELDS: Readonly<Record<CallType, readonly string[]>> = {
  identify: [...CALLER, "traits", ...COMMON],
  track: [...CALLER, "event", "properties", ...COMMON],
  page: [...CALLER, "name", "category", "properties", "traits", ...COMMON],
  screen: [...CALLER, "name", "category", "properties", ...COMMON],
  group: [...CALLER, "groupId", "traits", ...COMMON],
  alias: ["messageId", "userId", "previousId", ...COMMON],
};

const REQUIRED: Readonly<Record<CallType, readonly string[]>> = {
  identify: [],
  track: ["event"],
  page: [],
  screen: [],
  group: ["groupId"],
  alias: ["userId", "previousId"],
};

/**
 * @param newMessageId returns the ID of a call that has none.
 * @throws ValidationError that names the invalid field.
 */
export function validate(type: CallType, call: unknown, newMessageId: () => string): CheckedCall {
  if (!isJsonObject(call)) {
    throw new ValidationError(
      "call",
      `${type}: the call must be an object with the fields of the call`,
    );
  }
  rejectOtherFields(type, call);
  const checked: InputFields = { type, messageId: undefined };
  for (const field of FIELDS[type]) {
    const value = call[field];
    if (isAbsent(value)) continue;
    const rule = RULES[field];
    const read = rule?.read(value);
    if (read === undefined) {
      throw new ValidationError(field, `${type}: ${field} must be ${rule?.expected}`);
    }
    checked[field] = read;
  }
  requireFields(type, checked);
  if (checked.integrations !== undefined) checkIntegrations(type, checked.integrations);
  if (type === "page" && checked.traits !== undefined) takeTraitsAsProperties(checked);
  checked.context = withLibrary(checked.context);
  checked.messageId ??= newMessageId();
  return checked;
}

function rejectOtherFields(type: CallType, call: InputFields): void {
  const taken = FIELDS[type];
  for (const field of Object.keys(call)) {
    if (taken.includes(field) || call[field] === undefined) continue;
    const message = `${type} does not accept the field ${field}; it accepts ${taken.join(", ")}`;
    throw new ValidationError(field, message);
  }
}

function requireFields(type: CallType, checked: InputFields): void {
  for (const field of REQUIRED[type]) {
    if (checked[field] !== undefined) continue;
    throw new ValidationError(field, `${type}: ${field} is missing or empty`);
  }
  if (checked.userId === undefined && checked.anonymousId === undefined) {
    const message = `${type}: userId and anonymousId are both missing or empty; one of them is required`;
    throw new ValidationError("userId", message);
  }
}

function checkIntegrations(type: CallType, integrations: unknown): void {
  for (const [name, value] of Object.entries(integrations as InputFields)) {
    if (typeof value === "boolean" || isAbsent(value) || readObject(value) !== undefined) continue;
    const field = `integrations.${name}`;
    throw new ValidationError(field, `${type}: ${field} must be true, false or an object`);
  }
}

/** Also accepts a page's properties under the name that the older Go library uses. */
function takeTraitsAsProperties(checked: InputFields): void {
  checked.properties = { ...(checked.traits as object), ...(checked.properties as object) };
  checked.traits = undefined;
}

/** A wrapper around this library may set its own name in `context.library`. */
function withLibrary(context: unknown): unknown {
  if (context === undefined) return LIBRARY_ALONE;
  const given = context as InputFields;
  return isAbsent(given.library) ? { ...given, library: LIBRARY } : given;
}

function readId(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "bigint") return String(value);
  // This is also false for NaN.
  const isExact = typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return isExact ? String(value) : undefined;
}

function readObject(value: unknown): object | undefined {
  if (!isJsonObject(value)) return undefined;
  // biome-ignore lint/complexity/useLiteralKeys: toJSON is a caller's own key, not a known one.
  const toJson = value["toJSON"];
  const written: unknown = typeof toJson === "function" ? toJson.call(value, "") : value;
  return isJsonObject(written) && Object.prototype.toString.call(written) === "[object Object]"
    ? written
    : undefined;
}

/**
 * Reads a timestamp. Other forms are rejected, because the server would silently replace them with the time of receipt.
 */
function readTime(value: unknown): string | undefined {
  const atMs = dateMs(value) ?? readTimestamp(value);
  if (atMs === null || !isWritable(atMs)) return undefined;
  return typeof value === "string" ? value : isoTimestamp(atMs);
}

/** Null if the value is not a Date. Dates of another realm, such as that of a test runner, are also read. */
function dateMs(value: unknown): number | null {
  try {
    return Date.prototype.getTime.call(value);
  } catch {
    return null;
  }
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}
