/**
 * Creates and reads operator events, which are CloudEvents 1.0 in JSON (`schemas/operator-event.schema.json`).
 *
 *   attribute   is
 *   id          the same for the same incident: derived from its kind, subject and start
 *   source      `/switchyard/<prefix>`
 *   type        `switchyard.<kind>`
 *   subject     the destination; the audience; `configuration`; `kafka`
 *   time        when the incident started, or ended
 *   data        details, without secrets or payloads
 */

import { isJsonObject, type JsonObject, jsonObjectIn } from "../../domain/json.ts";
import { uuidV5 } from "../../domain/uuid.ts";

export const OPERATOR_EVENT_KINDS = [
  "destination.failing",
  "destination.recovered",
  "destination.paused",
  "destination.resumed",
  "destination.token_missing",
  "destination.token_obtained",
  "destination.proxy_failed",
  "destination.proxy_works",
  "destination.endpoints_gone",
  "destination.endpoints_available",
  "deliveries.expiring",
  "audience.approval_required",
  "configuration.invalid",
  "kafka.unreachable",
] as const;
export type OperatorEventKind = (typeof OPERATOR_EVENT_KINDS)[number];

const TYPE_PREFIX = "switchyard.";
/** Namespace of the UUIDs of operator events. */
const NAMESPACE = "7f0d3c52-6f0e-4b8e-9a53-1d1f3c1b0e5a";

export interface OperatorEvent {
  readonly id: string;
  readonly source: string;
  readonly kind: OperatorEventKind;
  readonly subject: string;
  /** ISO 8601. */
  readonly time: string;
  readonly data: JsonObject;
}

export function operatorEvent(
  source: string,
  kind: OperatorEventKind,
  subject: string,
  atMs: number,
  data: JsonObject,
): OperatorEvent {
  const time = new Date(atMs).toISOString();
  const id = uuidV5(NAMESPACE, JSON.stringify([source, kind, subject, time]));
  return { id, source, kind, subject, time, data };
}

export function eventText({ id, source, kind, subject, time, data }: OperatorEvent): string {
  const type = `${TYPE_PREFIX}${kind}`;
  const datacontenttype = "application/json";
  return JSON.stringify({
    specversion: "1.0",
    id,
    source,
    type,
    subject,
    time,
    datacontenttype,
    data,
  });
}

/** Returns null if the value is not an operator event, or has a later version. */
export function readEvent(value: Buffer): OperatorEvent | null {
  const json = jsonObjectIn(value);
  if (json === null) return null;
  const { id, source, type, subject, time, data } = json;
  const kind = OPERATOR_EVENT_KINDS.find((each) => type === `${TYPE_PREFIX}${each}`);
  if (kind === undefined || typeof id !== "string" || typeof source !== "string") return null;
  if (typeof subject !== "string" || typeof time !== "string" || !isJsonObject(data)) return null;
  return { id, source, kind, subject, time, data };
}
