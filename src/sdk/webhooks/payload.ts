/**
 * The bodies of webhooks, with a type for each of the seven kinds.
 *
 *   type       fields
 *   page       version, type, userId, properties, timestamp
 *   screen     version, type, userId, name, timestamp, context
 *   identify   version, type, userId, traits, timestamp
 *   track      version, type, userId, event, properties, timestamp
 *   alias      version, type, `Previous ID`, `User ID`, timestamp
 *   group      version, type, groupId, userId, traits, timestamp
 *   delete     type, userId, timestamp
 *
 * The payload of a call without userId has anonymousId instead. With `payload: full` in the destination's
 * settings, a payload also has the fields of `FullFields`. Timestamps are ISO 8601, UTC, with milliseconds.
 *
 * `parsePayload` checks the shape of a body, not its sender:
 *
 *   a payload of type                        needs
 *   any                                      timestamp
 *   any except delete                        version 1
 *   page, screen, identify, track, group     userId or anonymousId
 *   each                                     the fields that `NEEDED` lists
 */

import { bytesOf, type RawBody } from "./verify.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * The caller: a user, or somebody without a user ID. With `payload: full`, a user's call may also have an anonymousId.
 */
export type PayloadCaller =
  | { readonly userId: string; readonly anonymousId?: string }
  | { readonly anonymousId: string; readonly userId?: undefined };

/** Fields that are present only with `payload: full`, and only if the call had them. */
export interface FullFields {
  readonly properties?: JsonObject;
  readonly traits?: JsonObject;
  readonly messageId?: string;
  readonly category?: string;
  readonly name?: string;
  readonly groupId?: string;
  readonly previousId?: string;
  readonly context?: JsonObject;
  readonly integrations?: JsonObject;
  readonly originalTimestamp?: string;
  readonly sentAt?: string;
  readonly receivedAt?: string;
}

interface Versioned {
  readonly version: 1;
  readonly timestamp: string;
}

export type PagePayload = Versioned &
  PayloadCaller &
  FullFields & { readonly type: "page"; readonly properties: JsonObject };

export type ScreenPayload = Versioned &
  PayloadCaller &
  FullFields & { readonly type: "screen"; readonly context: JsonObject };

export type IdentifyPayload = Versioned &
  PayloadCaller &
  FullFields & { readonly type: "identify"; readonly traits: JsonObject };

export type TrackPayload = Versioned &
  PayloadCaller &
  FullFields & {
    readonly type: "track";
    readonly event: string;
    readonly properties: JsonObject;
  };

export type GroupPayload = Versioned &
  PayloadCaller &
  FullFields & { readonly type: "group"; readonly groupId: string; readonly traits: JsonObject };

export type AliasPayload = Versioned &
  FullFields & {
    readonly type: "alias";
    readonly "Previous ID": string;
    readonly "User ID": string;
    readonly anonymousId?: string;
  };

/** A request to delete everything about the user. */
export interface DeletePayload {
  readonly type: "delete";
  readonly userId: string;
  readonly timestamp: string;
  readonly messageId?: string;
  readonly receivedAt?: string;
}

export type Payload =
  | PagePayload
  | ScreenPayload
  | IdentifyPayload
  | TrackPayload
  | AliasPayload
  | GroupPayload
  | DeletePayload;

/** Thrown if the body is not a webhook from Switchyard, or has a later version. */
export class PayloadError extends Error {
  override readonly name = "PayloadError";
}

type Kind = "text" | "object";

const NEEDED: Readonly<Record<Payload["type"], Readonly<Record<string, Kind>>>> = {
  page: { properties: "object" },
  screen: { context: "object" },
  identify: { traits: "object" },
  track: { event: "text", properties: "object" },
  alias: { "Previous ID": "text", "User ID": "text" },
  group: { groupId: "text", traits: "object" },
  delete: { userId: "text" },
};

/**
 * @param rawBody the body as it arrived; bytes are read as UTF-8.
 * @throws TypeError for a parsed body.
 * @throws PayloadError that describes the problem. Respond to such a request with 400, so that Switchyard does not send
 * it again.
 */
export function parsePayload(rawBody: RawBody): Payload {
  return payloadOf(parseJson(textOf(rawBody)));
}

/** @throws PayloadError that describes the problem. */
export function payloadOf(payload: unknown): Payload {
  if (!isObject(payload)) throw new PayloadError("the body is not a JSON object");
  const { type } = payload;
  if (!isType(type)) {
    throw new PayloadError(`type is not one of ${Object.keys(NEEDED).join(", ")}`);
  }
  need(payload, type, { timestamp: "text", ...NEEDED[type] });
  if (type !== "delete" && payload.version !== 1) {
    throw new PayloadError(`${type}: unsupported version; only version 1 is supported`);
  }
  const isCallersOwn = type === "alias" || type === "delete";
  if (!isCallersOwn && !isText(payload.userId) && !isText(payload.anonymousId)) {
    throw new PayloadError(`${type}: neither userId nor anonymousId is a string`);
  }
  return payload as unknown as Payload;
}

/**
 * @throws TypeError for a parsed body.
 * @throws PayloadError if the body is not UTF-8.
 */
export function textOf(rawBody: RawBody): string {
  const bytes = bytesOf(rawBody);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new PayloadError("the body is not JSON in UTF-8", { cause });
  }
}

/** @throws PayloadError if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PayloadError("the body is not JSON in UTF-8", { cause });
  }
}

function need(
  payload: Readonly<Record<string, unknown>>,
  type: string,
  fields: Readonly<Record<string, Kind>>,
): void {
  for (const [field, kind] of Object.entries(fields)) {
    const value = payload[field];
    if (kind === "text" ? isText(value) : isObject(value)) continue;
    throw new PayloadError(
      `${type}: ${field} is not ${kind === "text" ? "a string" : "an object"}`,
    );
  }
}

function isType(value: unknown): value is Payload["type"] {
  return typeof value === "string" && Object.hasOwn(NEEDED, value);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
