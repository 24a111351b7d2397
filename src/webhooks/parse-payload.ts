/**
 * Reads the body of a webhook. Checks its shape, not its sender.
 *
 *   a payload of type                        needs
 *   any                                      timestamp
 *   any but delete                           version 1
 *   page, screen, identify, track, group     userId or anonymousId
 *   each                                     what `NEEDED` lists
 */

import type { Payload } from "./payload.ts";
import { bytesOf, type RawBody } from "./raw-body.ts";

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
 * @param rawBody as it arrived; bytes are read as UTF-8.
 * @throws TypeError for a parsed body.
 * @throws PayloadError saying what is wrong. Answer such a request with 400: Switchyard then does
 *   not send it again.
 */
export function parsePayload(rawBody: RawBody): Payload {
  const payload = parseJson(rawBody);
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

function parseJson(rawBody: RawBody): unknown {
  const bytes = bytesOf(rawBody);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
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
