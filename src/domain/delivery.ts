/**
 * A delivery is one call for one destination. The record's value is the call's record value, byte for byte. The
 * fields that later stages need are in headers, as strings (docs/topics.md#headers).
 *
 *   header                        written by        kept by replay   value
 *   switchyard-message-id         route             yes              string
 *   switchyard-source             route             yes              source ID
 *   switchyard-destination        route             yes              destination ID
 *   switchyard-timestamp          route             yes              the call's time, ms
 *   switchyard-received-at        route             yes              ms; latency is measured from it
 *   switchyard-user-hash          route             yes              hashes of user IDs (`suppression/user-header.ts`)
 *   switchyard-endpoint           deliver (every)   yes              reference to the only endpoint to request
 *   switchyard-accepted-endpoints deliver (strict)  yes              references to the endpoints that accepted it
 *   switchyard-attempt            deliver           no               number of attempts, 0 if absent
 *   switchyard-first-attempt-at   deliver           no               ms; the retry window starts here
 *   switchyard-retry-count        deliver           no               number of scheduled retries, 0 if absent
 *   switchyard-due-at             deliver           no               ms; when it was scheduled, plus the retry delay
 *   switchyard-not-before         deliver           no               ms; only after `Retry-After`
 *   switchyard-retry-topic        deliver           no               topic to which the delivery is returned
 *   switchyard-rejected-by        deliver           no               hashes of URLs, separated by commas
 *   switchyard-queue-place        deliver (strict)  with hold        place in the queue: partition, a slash, and offset
 *   switchyard-last-result        deliver           no               `crm[1] crm.example.com=503`, and so on
 *
 * Other programs can also write to these topics, so counts and lists that exceed what stages write are cut to that
 * maximum.
 */

import { HeaderFields } from "./header-fields.ts";
import type { DestinationId, EndpointKey, EndpointRef, MessageId, SourceId } from "./ids.ts";
import { eachHeader, type RecordHeader, type RecordHeaders, type WithHeaders } from "./record.ts";

export const DELIVERY_HEADER = {
  messageId: "switchyard-message-id",
  source: "switchyard-source",
  destination: "switchyard-destination",
  timestamp: "switchyard-timestamp",
  receivedAt: "switchyard-received-at",
  userHash: "switchyard-user-hash",
  endpoint: "switchyard-endpoint",
  accepted: "switchyard-accepted-endpoints",
  attempt: "switchyard-attempt",
  firstAttemptAt: "switchyard-first-attempt-at",
  retryCount: "switchyard-retry-count",
  dueAt: "switchyard-due-at",
  notBefore: "switchyard-not-before",
  retryTopic: "switchyard-retry-topic",
  rejected: "switchyard-rejected-by",
  lastOutcome: "switchyard-last-result",
} as const;

const OWN_HEADER_PREFIX = "switchyard-";

/**
 * Returns true if Switchyard reserves the header name, in any case. If a producer sends a header with such a name,
 * the header is dropped, because receivers that ignore case would confuse it with Switchyard's own.
 */
export function isOwnHeader(name: string): boolean {
  if (name.startsWith(OWN_HEADER_PREFIX)) return true;
  if (name[0] !== "S" && name[0] !== "s") return false;
  return name.slice(0, OWN_HEADER_PREFIX.length).toLowerCase() === OWN_HEADER_PREFIX;
}

export interface Delivery {
  readonly messageId: MessageId;
  readonly source: SourceId;
  readonly destination: DestinationId;
  /** The call's time as the route stage resolved it. */
  readonly timestampMs: number;
  readonly receivedAtMs: number;
  /** Null unless the destination's rules changed the user ID of the call. */
  readonly userHash: string | null;
  /**
   * The only endpoint to send the delivery to, if `deliver: every` has created a separate record for that endpoint;
   * otherwise null.
   */
  readonly endpoint: EndpointRef | null;
  /**
   * With `deliver: every` and a strict order, the endpoints that accepted it: there is one record for all others. Otherwise
   * empty.
   */
  readonly accepted: readonly EndpointRef[];
  readonly attempt: number;
  /** When the deliver stage first attempted the delivery; null before that. */
  readonly firstAttemptAtMs: number | null;
  /** How many retries have been scheduled so far. */
  readonly retryCount: number;
  readonly dueAtMs: number | null;
  readonly notBeforeMs: number | null;
  readonly retryTopic: string | null;
  readonly rejected: readonly EndpointKey[];
  readonly lastOutcome: string | null;
}

export type ParsedDelivery =
  | { readonly kind: "delivery"; readonly delivery: Delivery }
  /** `header` is the name of the header that is missing or cannot be read. */
  | { readonly kind: "invalid"; readonly header: string; readonly error: string };

/** More than any stage counts: one attempt per second in the longest retry window makes 14,400 attempts. */
const COUNT_MAX = 100_000;
/** A destination has at most five endpoints at a time, but some of them may have been replaced since. */
const LISTED_MAX = 100;
const NONE: readonly string[] = [];
/** Two hashes. */
const USER_HASH_MAX = 64;
/** More than the last results of five endpoints need, even if the names of their hosts are very long. */
const LAST_OUTCOME_MAX = 2_000;

type DeliveryField = keyof typeof DELIVERY_HEADER;

const NAMES = Object.keys(DELIVERY_HEADER) as DeliveryField[];
const AT = Object.fromEntries(NAMES.map((name, field) => [name, field])) as Record<
  DeliveryField,
  number
>;
const fields = new HeaderFields(Object.values(DELIVERY_HEADER));

/** Reads a delivery from its record's headers, and decodes only those that it needs. The last one of a name counts. */
export function readDelivery(record: WithHeaders): ParsedDelivery {
  fields.read(record);
  const messageId = fields.text(AT.messageId);
  const source = fields.fewTexts(AT.source);
  const destination = fields.fewTexts(AT.destination);
  const timestampMs = fields.whole(AT.timestamp);
  const receivedAtMs = fields.whole(AT.receivedAt);
  if (!messageId || !source || !destination) return whatIsWrong();
  if (timestampMs === null || receivedAtMs === null) return whatIsWrong();
  const attempt = Math.min(fields.whole(AT.attempt) ?? 0, COUNT_MAX);
  const firstAttemptAtMs = fields.whole(AT.firstAttemptAt);
  const retryCount = Math.min(fields.whole(AT.retryCount) ?? 0, COUNT_MAX);
  const dueAtMs = fields.whole(AT.dueAt);
  const notBeforeMs = fields.whole(AT.notBefore);
  // The sum is NaN if one of the fields is NaN.
  const times = timestampMs + receivedAtMs + (firstAttemptAtMs ?? 0) + (dueAtMs ?? 0);
  if (Number.isNaN(times + (notBeforeMs ?? 0) + attempt + retryCount)) return whatIsWrong();
  if (attempt < 0 || retryCount < 0)
    return invalid(attempt < 0 ? "attempt" : "retryCount", "is below 0");
  const delivery: Delivery = {
    messageId: messageId as MessageId,
    source: source as SourceId,
    destination: destination as DestinationId,
    timestampMs,
    receivedAtMs,
    userHash: fields.text(AT.userHash)?.slice(0, USER_HASH_MAX) ?? null,
    endpoint: fields.fewTexts(AT.endpoint) as EndpointRef | null,
    accepted: listed(fields.text(AT.accepted), ";") as readonly EndpointRef[],
    attempt,
    firstAttemptAtMs,
    retryCount,
    dueAtMs,
    notBeforeMs,
    retryTopic: fields.fewTexts(AT.retryTopic),
    rejected: listed(fields.text(AT.rejected), ",") as readonly EndpointKey[],
    lastOutcome: fields.text(AT.lastOutcome)?.slice(0, LAST_OUTCOME_MAX) ?? null,
  };
  return { kind: "delivery", delivery };
}

const NEEDED: readonly DeliveryField[] = [
  "messageId",
  "source",
  "destination",
  "timestamp",
  "receivedAt",
];
const NUMBERS: readonly DeliveryField[] = [
  "timestamp",
  "receivedAt",
  "attempt",
  "firstAttemptAt",
  "retryCount",
  "dueAt",
  "notBefore",
];

/** Names the first invalid field of the record that was read last. */
function whatIsWrong(): ParsedDelivery {
  const empty = NEEDED.find((name) => fields.isEmpty(AT[name]));
  if (empty !== undefined) return invalid(empty, "is missing");
  const odd = NUMBERS.find((name) => Number.isNaN(fields.whole(AT[name])));
  return invalid(odd as DeliveryField, "is not an integer");
}

function invalid(field: DeliveryField, what: string): ParsedDelivery {
  const header = DELIVERY_HEADER[field];
  return { kind: "invalid", header, error: `the header ${header} ${what}` };
}

function listed(value: string | null, separator: string): readonly string[] {
  if (value === null || value === "") return NONE;
  return value.split(separator, LISTED_MAX);
}

/** The headers of a delivery's record; absent fields and zero counts are omitted. */
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
  add(DELIVERY_HEADER.userHash, delivery.userHash);
  add(DELIVERY_HEADER.endpoint, delivery.endpoint);
  add(DELIVERY_HEADER.accepted, delivery.accepted.join(";"));
  add(DELIVERY_HEADER.attempt, delivery.attempt || null);
  add(DELIVERY_HEADER.firstAttemptAt, delivery.firstAttemptAtMs);
  add(DELIVERY_HEADER.retryCount, delivery.retryCount || null);
  add(DELIVERY_HEADER.dueAt, delivery.dueAtMs);
  add(DELIVERY_HEADER.notBefore, delivery.notBeforeMs);
  add(DELIVERY_HEADER.retryTopic, delivery.retryTopic);
  add(DELIVERY_HEADER.rejected, delivery.rejected.join(","));
  add(DELIVERY_HEADER.lastOutcome, delivery.lastOutcome);
  return headers;
}

/** Returns Switchyard's own headers and those in the set. */
export function onlyPassed(headers: RecordHeaders, passed: ReadonlySet<string>): RecordHeaders {
  return headers.filter(([name]) => passed.has(name) || isOwnHeader(name));
}

/** The headers that the producer sent: the record's headers, except those that Switchyard adds to a delivery. */
export function foreignHeaders(record: WithHeaders): RecordHeaders {
  const foreign: RecordHeader[] = [];
  eachHeader(record, (name, bytes, start, end) => {
    if (isOwnHeader(name)) return;
    foreign.push([name, start < 0 ? null : bytes.subarray(start, end)]);
  });
  return foreign;
}

/** Message IDs and other names are truncated to this many characters in logs. */
const NAME_MAX = 100;

/** The names by which log lines identify the call in a dead-lettered record. */
export interface CallNames {
  readonly messageId?: string;
  readonly source?: string;
}

/** The names that the headers contain. If a header is repeated, its last value counts, as everywhere else. */
export function callNames(headers: RecordHeaders): CallNames {
  const text = (wanted: string) =>
    headers
      .findLast(([name]) => name === wanted)?.[1]
      ?.toString()
      .slice(0, NAME_MAX);
  const [messageId, source] = [text(DELIVERY_HEADER.messageId), text(DELIVERY_HEADER.source)];
  return {
    ...(messageId === undefined ? {} : { messageId }),
    ...(source === undefined ? {} : { source }),
  };
}
