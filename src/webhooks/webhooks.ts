/**
 * `switchyard/webhooks`: what receivers of webhooks import.
 *
 *   verify         whether a request was signed with the shared secret; call it first
 *   parsePayload   the body, typed; it checks the shape, not the sender
 *
 *   a payload of type                        needs
 *   any                                      timestamp
 *   any but delete                           version 1
 *   page, screen, identify, track, group     userId or anonymousId
 *   each                                     what `NEEDED` lists
 */

import { createHmac, timingSafeEqual } from "node:crypto";

import type { Payload } from "./payload.ts";

export type {
  AliasPayload,
  DeletePayload,
  FullFields,
  GroupPayload,
  IdentifyPayload,
  JsonObject,
  PagePayload,
  Payload,
  PayloadCaller,
  ScreenPayload,
  TrackPayload,
} from "./payload.ts";

/**
 * Whether a request was signed with the secret. The time it takes does not depend on how much of a
 * wrong signature is right. The signature (`X-Signature`) is the lowercase hex HMAC-SHA1 of the
 * body's exact bytes, keyed with the shared secret.
 *
 * @param rawBody the body exactly as it arrived, before any JSON parser: a parsed and re-written
 *   body may differ. A string counts as its UTF-8 bytes.
 * @param signature the value of the header `X-Signature`; absent: false.
 * @param secret the destination's shared secret.
 * @throws TypeError for an empty secret, with which anybody could sign, and for a parsed body.
 */
export function verify(
  rawBody: string | Uint8Array,
  signature: string | null | undefined,
  secret: string,
): boolean {
  if (typeof secret !== "string" || secret === "") {
    throw new TypeError("the secret is empty: set it to the destination's shared secret");
  }
  if (typeof rawBody !== "string" && !(rawBody instanceof Uint8Array)) {
    throw new TypeError("rawBody must be the request's bytes or text, not what JSON.parse made");
  }
  if (typeof signature !== "string") return false;
  const encoder = new TextEncoder();
  const given = encoder.encode(signature);
  const expected = encoder.encode(createHmac("sha1", secret).update(rawBody).digest("hex"));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** The body is no webhook of ours, or one of a later version. */
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
 * @param body as it arrived; bytes are read as UTF-8.
 * @throws PayloadError saying what is wrong. Answer such a request with 400: Switchyard then does
 *   not send it again.
 */
export function parsePayload(body: string | Uint8Array): Payload {
  const payload = parseJson(body);
  if (!isObject(payload)) throw new PayloadError("the body is not a JSON object");
  const { type } = payload;
  if (!isType(type)) {
    throw new PayloadError(`type is none of ${Object.keys(NEEDED).join(", ")}`);
  }
  need(payload, type, { timestamp: "text", ...NEEDED[type] });
  if (type !== "delete" && payload.version !== 1) {
    throw new PayloadError(`${type}: version is not 1, the only one that is known here`);
  }
  const isCallersOwn = type === "alias" || type === "delete";
  if (!isCallersOwn && !isText(payload.userId) && !isText(payload.anonymousId)) {
    throw new PayloadError(`${type}: neither userId nor anonymousId is text`);
  }
  return payload as unknown as Payload;
}

function parseJson(body: string | Uint8Array): unknown {
  try {
    const text =
      typeof body === "string" ? body : new TextDecoder("utf-8", { fatal: true }).decode(body);
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
    throw new PayloadError(`${type}: ${field} is not ${kind === "text" ? "text" : "an object"}`);
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
