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

type Field = keyof typeof DELIVERY_HEADER;
type Found = { -readonly [Name in Field]: Buffer | null };

const FIELDS: ReadonlyMap<string, Field> = new Map(
  Object.entries(DELIVERY_HEADER).map(([field, name]) => [name, field as Field]),
);
const NOTHING_FOUND: Found = {
  messageId: null,
  source: null,
  destination: null,
  timestamp: null,
  receivedAt: null,
  endpoint: null,
  attempt: null,
  firstAttemptAt: null,
  parked: null,
  dueAt: null,
  notBefore: null,
  returnTopic: null,
  rejected: null,
  lastOutcome: null,
};
const NEEDED = ["messageId", "source", "destination", "timestamp", "receivedAt"] as const;
const NUMBERS = [
  "timestamp",
  "receivedAt",
  "attempt",
  "firstAttemptAt",
  "parked",
  "dueAt",
  "notBefore",
] as const;
/** So many digits stay below 2^53. */
const DIGITS_MAX = 15;
const MINUS = 0x2d;
const DIGIT_0 = 0x30;

/** Reads a delivery from its record's headers; of a repeated header the last one counts. */
export function parseDelivery(headers: RecordHeaders): ParsedDelivery {
  const found = { ...NOTHING_FOUND };
  for (const [name, value] of headers) {
    const field = FIELDS.get(name);
    if (field !== undefined && value !== null) found[field] = value;
  }
  for (const field of NEEDED) {
    if (found[field] === null || found[field].length === 0) return invalid(field, "is missing");
  }
  for (const field of NUMBERS) {
    if (Number.isNaN(whole(found[field]))) return invalid(field, "is no whole number");
  }
  const delivery: Delivery = {
    messageId: text(found.messageId) as MessageId,
    source: text(found.source) as SourceId,
    destination: text(found.destination) as DestinationId,
    timestampMs: whole(found.timestamp) ?? 0,
    receivedAtMs: whole(found.receivedAt) ?? 0,
    endpoint: text(found.endpoint) as EndpointKey | null,
    attempt: whole(found.attempt) ?? 0,
    firstAttemptAtMs: whole(found.firstAttemptAt),
    parked: whole(found.parked) ?? 0,
    dueAtMs: whole(found.dueAt),
    notBeforeMs: whole(found.notBefore),
    returnTopic: text(found.returnTopic),
    rejected: endpointKeys(text(found.rejected)),
    lastOutcome: text(found.lastOutcome),
  };
  return { kind: "delivery", delivery };
}

function invalid(field: Field, what: string): ParsedDelivery {
  const header = DELIVERY_HEADER[field];
  return { kind: "invalid", header, error: `the header ${header} ${what}` };
}

function text(value: Buffer | null): string | null {
  return value === null ? null : value.toString();
}

/**
 * NaN for what is no whole number; a minus is for times before 1970. Read from the bytes: making a
 * text of each number would be felt.
 */
function whole(value: Buffer | null): number | null {
  if (value === null) return null;
  const isNegative = value[0] === MINUS;
  const start = isNegative ? 1 : 0;
  const digits = value.length - start;
  if (digits < 1 || digits > DIGITS_MAX) return Number.NaN;
  let number = 0;
  for (let at = start; at < value.length; at += 1) {
    const digit = (value[at] ?? 0) - DIGIT_0;
    if (digit < 0 || digit > 9) return Number.NaN;
    number = number * 10 + digit;
  }
  return isNegative ? -number : number;
}

function endpointKeys(value: string | null): readonly EndpointKey[] {
  if (value === null || value === "") return [];
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
