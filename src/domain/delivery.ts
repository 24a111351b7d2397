/**
 * A delivery is one call for one destination. What a later stage needs of it travels in the
 * headers of its record, all strings (SPEC section 2); the value is the call's, byte for byte.
 *
 *   header                        written by        kept by replay   value
 *   switchyard-message-id         route             yes              text
 *   switchyard-source             route             yes              source id
 *   switchyard-destination        route             yes              destination id
 *   switchyard-timestamp          route             yes              the call's time, ms
 *   switchyard-received-at        route             yes              ms; latency is measured from it
 *   switchyard-endpoint           deliver (every)   yes              the only endpoint to request
 *   switchyard-attempt            deliver           no               attempts made, 0 when absent
 *   switchyard-first-attempt-at   deliver           no               ms; the window begins here
 *   switchyard-parked             deliver           no               times parked, 0 when absent
 *   switchyard-due-at             deliver           no               ms; time of parking plus the tier's delay
 *   switchyard-not-before         deliver           no               ms; only after `Retry-After`
 *   switchyard-return-topic       deliver           no               where the delay stage puts it back
 *   switchyard-rejected           deliver           no               endpoint keys with commas
 *   switchyard-last-outcome       deliver           no               `<endpoint key>=503,<endpoint key>=timeout`
 */

import type { DestinationId, EndpointKey, MessageId, SourceId } from "./ids.ts";
import type { RecordHeader, RecordHeaders } from "./record.ts";

export const DELIVERY_HEADER = {
  messageId: "switchyard-message-id",
  source: "switchyard-source",
  destination: "switchyard-destination",
  timestamp: "switchyard-timestamp",
  receivedAt: "switchyard-received-at",
  endpoint: "switchyard-endpoint",
  attempt: "switchyard-attempt",
  firstAttemptAt: "switchyard-first-attempt-at",
  parked: "switchyard-parked",
  dueAt: "switchyard-due-at",
  notBefore: "switchyard-not-before",
  returnTopic: "switchyard-return-topic",
  rejected: "switchyard-rejected",
  lastOutcome: "switchyard-last-outcome",
} as const;

/** Producers' headers of this prefix are dropped by route. */
export const OWN_HEADER_PREFIX = "switchyard-";

export interface Delivery {
  readonly messageId: MessageId;
  readonly source: SourceId;
  readonly destination: DestinationId;
  /** The call's time as route resolved it. */
  readonly timestampMs: number;
  readonly receivedAtMs: number;
  /** Only with `deliver: every`, once an endpoint has a record of its own. */
  readonly endpoint: EndpointKey | null;
  /** Attempts made so far. */
  readonly attempt: number;
  /** When deliver first requested or parked it; null before. */
  readonly firstAttemptAtMs: number | null;
  /** Times parked so far; chooses the tier. */
  readonly parked: number;
  readonly dueAtMs: number | null;
  readonly notBeforeMs: number | null;
  readonly returnTopic: string | null;
  readonly rejected: readonly EndpointKey[];
  readonly lastOutcome: string | null;
}

export type ParsedDelivery =
  | { readonly kind: "delivery"; readonly delivery: Delivery }
  /** `header` is the one that is missing or cannot be read. */
  | { readonly kind: "invalid"; readonly header: string; readonly error: string };

const OWN: ReadonlySet<string> = new Set(Object.values(DELIVERY_HEADER));

/** Reads a delivery from its record's headers; of a repeated header the last one counts. */
export function parseDelivery(headers: RecordHeaders): ParsedDelivery {
  const found = new Map<string, string>();
  for (const [name, value] of headers) {
    if (value !== null && OWN.has(name)) found.set(name, value.toString());
  }
  const problems: { header: string; error: string }[] = [];
  const text = (name: string): string => {
    const value = found.get(name);
    if (value === undefined || value === "") {
      problems.push({ header: name, error: `the header ${name} is missing` });
    }
    return value ?? "";
  };
  const whole = (name: string, absent: number | null): number | null => {
    const value = found.get(name);
    if (value === undefined) return absent;
    // 15 digits stay below 2^53; a sign is for times before 1970.
    if (!/^-?\d{1,15}$/.test(value)) {
      problems.push({ header: name, error: `the header ${name} is no whole number` });
    }
    return Number(value);
  };
  const needed = (name: string): number => (text(name) === "" ? 0 : (whole(name, 0) ?? 0));
  const delivery: Delivery = {
    messageId: text(DELIVERY_HEADER.messageId) as MessageId,
    source: text(DELIVERY_HEADER.source) as SourceId,
    destination: text(DELIVERY_HEADER.destination) as DestinationId,
    timestampMs: needed(DELIVERY_HEADER.timestamp),
    receivedAtMs: needed(DELIVERY_HEADER.receivedAt),
    endpoint: (found.get(DELIVERY_HEADER.endpoint) ?? null) as EndpointKey | null,
    attempt: whole(DELIVERY_HEADER.attempt, 0) ?? 0,
    firstAttemptAtMs: whole(DELIVERY_HEADER.firstAttemptAt, null),
    parked: whole(DELIVERY_HEADER.parked, 0) ?? 0,
    dueAtMs: whole(DELIVERY_HEADER.dueAt, null),
    notBeforeMs: whole(DELIVERY_HEADER.notBefore, null),
    returnTopic: found.get(DELIVERY_HEADER.returnTopic) ?? null,
    rejected: endpointKeys(found.get(DELIVERY_HEADER.rejected)),
    lastOutcome: found.get(DELIVERY_HEADER.lastOutcome) ?? null,
  };
  const [first] = problems;
  return first === undefined ? { kind: "delivery", delivery } : { kind: "invalid", ...first };
}

function endpointKeys(value: string | undefined): readonly EndpointKey[] {
  if (value === undefined || value === "") return [];
  return value.split(",") as EndpointKey[];
}

/** The headers of a delivery's record; absent fields and zero counts are left out. */
export function deliveryHeaders(delivery: Delivery): RecordHeader[] {
  const headers: RecordHeader[] = [];
  const add = (name: string, value: string | number | null) => {
    if (value !== null && value !== "") headers.push([name, Buffer.from(`${value}`)]);
  };
  add(DELIVERY_HEADER.messageId, delivery.messageId);
  add(DELIVERY_HEADER.source, delivery.source);
  add(DELIVERY_HEADER.destination, delivery.destination);
  add(DELIVERY_HEADER.timestamp, delivery.timestampMs);
  add(DELIVERY_HEADER.receivedAt, delivery.receivedAtMs);
  add(DELIVERY_HEADER.endpoint, delivery.endpoint);
  add(DELIVERY_HEADER.attempt, delivery.attempt || null);
  add(DELIVERY_HEADER.firstAttemptAt, delivery.firstAttemptAtMs);
  add(DELIVERY_HEADER.parked, delivery.parked || null);
  add(DELIVERY_HEADER.dueAt, delivery.dueAtMs);
  add(DELIVERY_HEADER.notBefore, delivery.notBeforeMs);
  add(DELIVERY_HEADER.returnTopic, delivery.returnTopic);
  add(DELIVERY_HEADER.rejected, delivery.rejected.join(","));
  add(DELIVERY_HEADER.lastOutcome, delivery.lastOutcome);
  return headers;
}

/** A record's headers without those of a delivery: what producers sent along. */
export function foreignHeaders(headers: RecordHeaders): RecordHeaders {
  return headers.filter(([name]) => !name.startsWith(OWN_HEADER_PREFIX));
}
