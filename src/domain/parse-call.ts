/**
 * Reads a call from JSON. The call's type is read first, because the record's source is looked up before the other
 * fields are checked (docs/calls.md#checks).
 *
 *   type              needs
 *   identify          userId or anonymousId
 *   track             userId or anonymousId; event
 *   page, screen      userId or anonymousId
 *   group             userId or anonymousId; groupId
 *   alias             userId (the new ID); previousId
 */

import {
  CALL_TYPES,
  type Call,
  type CallFields,
  type CallType,
  type DeliveredCall,
  type InvalidCall,
  type ParsedCall,
} from "./call.ts";
import type { MessageId } from "./ids.ts";
import {
  describe,
  isEmptyList,
  isJsonObject,
  JSON_DEPTH_MAX,
  type JsonObject,
  kindOf,
  nestsDeeperThan,
} from "./json.ts";

/** The longest message ID that is kept (docs/calls.md#fields). */
const MESSAGE_ID_CHARACTERS_MAX = 100;

/** A value that looks like a call: an object with a known type. */
export interface TypedCall {
  readonly kind: "typed";
  readonly type: CallType;
  readonly json: JsonObject;
}

const TYPES: ReadonlySet<unknown> = new Set(CALL_TYPES);

/** Reads the type of a call, which must be an object with one of the six types. */
export function parseCallType(json: unknown): TypedCall | InvalidCall {
  if (!isJsonObject(json))
    return refused(`a call must be a JSON object, but this is ${kindOf(json)}`);
  if (!TYPES.has(json.type)) {
    return refused(`type is ${describe(json.type)}, expected one of ${CALL_TYPES.join(", ")}`);
  }
  return { kind: "typed", type: json.type as CallType, json };
}

/**
 * Reads a whole call.
 *
 * @param sizeBytes the size of the JSON, if known. If it is small, the nesting is not checked, because small JSON
 *   cannot be nested too deeply.
 */
export function parseCall(json: unknown, sizeBytes = Number.POSITIVE_INFINITY): ParsedCall {
  const typed = parseCallType(json);
  return typed.kind === "typed" ? parseCallFields(typed, sizeBytes) : typed;
}

/** Reads the other fields of a call, for callers that have already read the type. */
export function parseCallFields(typed: TypedCall, sizeBytes: number): ParsedCall {
  const { call, problems } = fieldsOf(typed);
  if (problems.length === 0) findMissing(call, problems);
  checkDepth(call, sizeBytes, problems);
  if (problems.length > 0) return refused(problems.join("; "));
  return { kind: "call", call: call as Call };
}

/** Reads the call of a delivery, in which identifiers may be missing. */
export function parseDeliveredCall(
  json: unknown,
  sizeBytes: number,
): { readonly kind: "call"; readonly call: DeliveredCall } | InvalidCall {
  const typed = parseCallType(json);
  if (typed.kind !== "typed") return typed;
  const { call, problems } = fieldsOf(typed);
  if (problems.length === 0) findMissingNames(call, problems);
  checkDepth(call, sizeBytes, problems);
  if (problems.length > 0) return refused(problems.join("; "));
  return { kind: "call", call: call as DeliveredCall };
}

function fieldsOf({ type, json }: TypedCall): {
  readonly call: Unchecked;
  readonly problems: string[];
} {
  const problems: string[] = [];
  const properties = object(json.properties, "properties", problems);
  const context = object(json.context, "context", problems);
  const traits = traitsOf(type, object(json.traits, "traits", problems), context);
  const call: Unchecked = {
    type,
    messageId: messageId(json.messageId),
    userId: id(json.userId, "userId", problems),
    anonymousId: id(json.anonymousId, "anonymousId", problems),
    groupId: id(json.groupId, "groupId", problems),
    previousId: id(json.previousId, "previousId", problems),
    event: text(json.event, "event", problems),
    name: text(type === "screen" ? numberAsText(json.name) : json.name, "name", problems),
    category: text(numberAsText(json.category), "category", problems),
    properties: type === "page" ? pageProperties(traits, properties) : properties,
    traits: type === "page" ? null : traits,
    context,
    integrations: integrations(json),
    timestamp: json.timestamp,
    originalTimestamp: json.originalTimestamp,
    sentAt: json.sentAt,
    receivedAt: json.receivedAt,
  };
  return { call, problems };
}

function checkDepth(call: CallFields, sizeBytes: number, problems: string[]): void {
  // Every level of nesting takes at least two bytes.
  if (problems.length === 0 && sizeBytes > 2 * JSON_DEPTH_MAX) findTooDeep(call, problems);
}

function refused(error: string): InvalidCall {
  return { kind: "refused", reason: "invalid-call", error };
}

interface Unchecked extends CallFields {
  readonly type: CallType;
  readonly userId: string | null;
  readonly anonymousId: string | null;
}

/** Finds missing fields according to the table above. */
function findMissing(call: Unchecked, problems: string[]): void {
  const { type } = call;
  if (type === "alias") {
    if (call.userId === null) problems.push("userId is missing, but an alias requires it");
    if (call.previousId === null) problems.push("previousId is missing, but an alias requires it");
  } else if (call.userId === null && call.anonymousId === null) {
    problems.push("userId and anonymousId are both missing, but a call requires one of them");
  }
  findMissingNames(call, problems);
}

function findMissingNames(call: Unchecked, problems: string[]): void {
  const { type } = call;
  if (type === "track" && call.event === null)
    problems.push("event is missing, but a track requires it");
  if (type === "group" && call.groupId === null) {
    problems.push("groupId is missing, but a group requires it");
  }
}

const OBJECT_FIELDS = ["properties", "traits", "context", "integrations"] as const;

function findTooDeep(call: CallFields, problems: string[]): void {
  for (const field of OBJECT_FIELDS) {
    if (nestsDeeperThan(JSON_DEPTH_MAX, call[field])) {
      problems.push(`${field} nests more than ${JSON_DEPTH_MAX} levels deep`);
    }
  }
}

function id(value: unknown, field: string, problems: string[]): string | null {
  if (typeof value === "string") return value === "" ? null : value;
  if (value === undefined || value === null) return null;
  if (typeof value === "number" && Number.isFinite(value)) return `${value}`;
  problems.push(`${field} is ${kindOf(value)}, expected a string or a number`);
  return null;
}

/** Accepts a number instead of a string: the category 5 becomes the category "5". */
function numberAsText(value: unknown): unknown {
  return typeof value === "number" && Number.isFinite(value) ? `${value}` : value;
}

function text(value: unknown, field: string, problems: string[]): string | null {
  if (typeof value === "string") return value === "" ? null : value;
  if (value === undefined || value === null) return null;
  problems.push(`${field} is ${kindOf(value)}, expected a string`);
  return null;
}

function object(value: unknown, field: string, problems: string[]): JsonObject | null {
  if (isJsonObject(value)) return value;
  // Some languages write an empty string if a value is absent, even if the value would be an object. PHP and Lua
  // write an empty list for an empty map.
  if (value === undefined || value === null || value === "" || isEmptyList(value)) return null;
  problems.push(`${field} is ${kindOf(value)}, expected an object`);
  return null;
}

/** Some libraries put the traits of an identify call only into the call's context. */
function traitsOf(
  type: CallType,
  traits: JsonObject | null,
  context: JsonObject | null,
): JsonObject | null {
  if (type !== "identify" || traits !== null) return traits;
  const inContext = context?.traits;
  return isJsonObject(inContext) ? inContext : null;
}

function pageProperties(traits: JsonObject | null, properties: JsonObject | null) {
  if (traits === null || properties === null) return properties ?? traits;
  // Object spread creates own properties for all keys, even for `__proto__`.
  return { ...traits, ...properties };
}

function integrations(json: JsonObject): JsonObject | null {
  const flags = json.integrations;
  if (isJsonObject(flags)) return flags;
  const goFlags = json.Integrations;
  return isJsonObject(goFlags) ? goFlags : null;
}

function messageId(value: unknown): MessageId | null {
  if (typeof value === "number" && Number.isFinite(value)) return `${value}` as MessageId;
  // In UTF-8, all lone surrogates would become the same character, and different IDs the same ID.
  if (typeof value !== "string" || value === "" || !value.isWellFormed()) return null;
  if (value.length <= MESSAGE_ID_CHARACTERS_MAX) return value as MessageId;
  // Characters outside the Basic Multilingual Plane count twice in a string's length.
  if (value.length > 2 * MESSAGE_ID_CHARACTERS_MAX) return null;
  return Array.from(value).length <= MESSAGE_ID_CHARACTERS_MAX ? (value as MessageId) : null;
}

/**
 * A delete notification on `deliveries.<destination>`, as the deletion stage writes it:
 * `{"type":"delete","userId","timestamp","messageId"}`. It is not a call, and applications cannot publish one.
 */
export interface DeleteNotification {
  readonly type: "delete";
  /** Never empty. */
  readonly userId: string;
}

/** Does not read the time or the message ID, which are also in the delivery's headers. */
export function parseDelete(
  json: unknown,
): { readonly kind: "delete"; readonly notification: DeleteNotification } | InvalidCall {
  if (!isJsonObject(json))
    return refused(`a delete must be a JSON object, but this is ${kindOf(json)}`);
  const { type, userId } = json;
  if (type !== "delete") return refused(`type is ${describe(type)}, expected delete`);
  const isNumber = typeof userId === "number" && Number.isFinite(userId);
  if (isNumber || (typeof userId === "string" && userId !== "")) {
    return { kind: "delete", notification: { type, userId: `${userId}` } };
  }
  return refused(`userId is ${kindOf(userId)}, expected a string or a number`);
}
