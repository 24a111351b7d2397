/**
 * Decides which record a replay writes for a dead letter. The first row that matches applies.
 *
 *   the dead letter                                   result
 *   has the reason invalid-sync                       refused: part of a sync cannot be replayed
 *   has the reason rule-failed                        refused: its call is replayed instead, by the current rules
 *   has no value                                      refused: there is nothing to send
 *   is the call of a suppressed user, and does not    skipped; it can be replayed when the user is lifted
 *   block its user
 *   is from deliver or delay, or has the reason unknown-destination
 *     its destination is not configured               refused
 *     its endpoint was removed, or all that have not  refused (domain/endpoint-name.ts)
 *     accepted it
 *     it blocks its user                              written to `retries.<destination>`, which does not wait for the queue. If
 *                                                     the user is suppressed, the deliver stage ends it without a request, and
 *                                                     then the deliveries that wait for it
 *     any other                                       written to `deliveries.<destination>`
 *   came from calls, audience-syncs or
 *     deletion-requests                               written there
 *   any other                                         refused
 *
 *   written to                 headers
 *   deliveries, retries        the producer's own, this destination, and those of Switchyard's that identify the delivery
 *                              (domain/delivery.ts, "kept by replay"). Headers of attempts, retries and the retry window are
 *                              removed: a new retry window starts with the next attempt. The place in the queue of a delivery
 *                              that blocks its user is kept (`router/order/facts.ts`): the replayed delivery is the copy for
 *                              which the user waits. That does not depend on the current order, because a user who was blocked
 *                              stays blocked if it changes. A destination without an order ignores the header. If the
 *                              destination is a topic destination now, or was removed, nobody waits: the dead letter
 *                              blocks nobody.
 *   where it came from         the producer's own
 *
 * Key and value are those of the dead letter, byte for byte. If the dead letter has an endpoint header (`deliver:
 * every`), the delivery is sent only to that endpoint; if it names endpoints that have accepted it, only to the others.
 *
 *   a dead letter is canceled instead      result
 *   it blocks its user                     the fact `settled` is written to `order.<destination>`: the user's next delivery follows
 *   any other                              nothing: it is skipped
 */

import { unknownDestination } from "../../base/words/wrong-usage.ts";
import { DELIVERY_HEADER, foreignHeaders } from "../../domain/delivery.ts";
import type { Destination } from "../../domain/destination.ts";
import { endpointFor, OTHERS_REMOVED, removedText } from "../../domain/endpoint-name.ts";
import type { OutgoingRecord, RecordHeader, RecordHeaders } from "../../domain/record.ts";
import type { TopicNames } from "../../domain/topics.ts";
import {
  factRecord,
  placeHeader,
  type QueuePlace,
  queuePlaceOf,
} from "../../router/order/facts.ts";
import { isSuppressed, parseContent } from "../../router/stage/content.ts";
import type { KnownSuppressions } from "../../router/suppression/known-suppressions.ts";
import type { DeadLetter } from "./dead-letter-record.ts";

type ReplayedRecord =
  | { readonly kind: "replay"; readonly outgoing: OutgoingRecord }
  /** Dead letters that are refused or skipped for the same reason have the same `why`. */
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "skipped"; readonly why: string };

export interface ReplayTargets {
  readonly topics: TopicNames;
  readonly destinations: readonly Destination[];
  /** The suppressions that have been read (`ReplayRules.suppressions`). */
  readonly suppressions?: KnownSuppressions;
}

const KEPT: ReadonlySet<string> = new Set([
  DELIVERY_HEADER.messageId,
  DELIVERY_HEADER.source,
  DELIVERY_HEADER.timestamp,
  DELIVERY_HEADER.receivedAt,
  DELIVERY_HEADER.userHash,
  DELIVERY_HEADER.endpoint,
  DELIVERY_HEADER.accepted,
]);

export function replayOf(deadLetter: DeadLetter, targets: ReplayTargets): ReplayedRecord {
  const { record, reason, stage } = deadLetter;
  if (reason === "invalid-sync") return refused("a sync cannot be replayed. Send it again.");
  if (reason === "rule-failed") return refused("replay its call with `switchyard replay`");
  if (record.value === null) return refused("it has no value");
  const isDelivery = stage === "deliver" || stage === "delay" || reason === "unknown-destination";
  const blocksUser = isDelivery && blockingPlace(deadLetter, targets) !== null;
  if (!blocksUser && isOfSuppressed(deadLetter, targets))
    return { kind: "skipped", why: "its user is suppressed" };
  if (isDelivery) return toDestination(deadLetter, targets);
  const { calls, audienceSyncs, deletionRequests } = targets.topics;
  const { topic } = deadLetter.from;
  if (![calls, audienceSyncs, deletionRequests].includes(topic)) {
    return refused(
      topic === ""
        ? "its headers do not name the topic that it came from"
        : `it came from ${topic}, which is not a topic of this configuration`,
    );
  }
  return write(deadLetter, topic, foreignHeaders(record));
}

/** The place in the queue of a dead letter that blocks its user; null if nobody waits for it. */
function blockingPlace(
  { destination: id, record }: DeadLetter,
  { destinations }: ReplayTargets,
): QueuePlace | null {
  const isAttempted = destinations.some((each) => each.id === id && each.isAttempted);
  return isAttempted ? queuePlaceOf(record) : null;
}

/** Null if nobody waits for the dead letter. */
export function cancellationOf(
  deadLetter: DeadLetter,
  targets: ReplayTargets,
): ReplayedRecord | null {
  const { destination, messageId } = deadLetter;
  const place = blockingPlace(deadLetter, targets);
  if (destination === null || place === null) return null;
  const fact = { kind: "settled", ...place } as const;
  const topic = targets.topics.order(destination);
  return { kind: "replay", outgoing: factRecord(topic, place.line, fact, messageId ?? "") };
}

/** True if the value may show that the user is suppressed. */
export function showsUser({ from }: DeadLetter, targets: ReplayTargets): boolean {
  const { topics, suppressions } = targets;
  if (suppressions === undefined || suppressions.size === 0) return false;
  return ![topics.audienceSyncs, topics.deletionRequests].includes(from.topic);
}

/** If the schema of a call's value is not known, the call is only checked when it is routed. */
function isOfSuppressed(deadLetter: DeadLetter, targets: ReplayTargets): boolean {
  const { suppressions } = targets;
  if (suppressions === undefined || !showsUser(deadLetter, targets)) return false;
  const { record } = deadLetter;
  const header = record.headers.findLast(([name]) => name === DELIVERY_HEADER.userHash)?.[1];
  return isSuppressed({ userHash: header?.toString() ?? null }, parseContent(record), suppressions);
}

export interface TallyRow {
  /** Null if the records were not deliveries. */
  readonly destination: string | null;
  readonly reason: string;
  /** The topic to which a replay writes these dead letters; null if a replay rejects them. */
  readonly to: string | null;
  /** The reason why these dead letters cannot be replayed; null if they can. */
  readonly rejected: string | null;
  readonly count: number;
}

/** Counts dead letters by destination and reason, and by the topic to which a replay would write them. */
export class Tally {
  readonly #targets: ReplayTargets;
  readonly #rows = new Map<string, TallyRow>();
  readonly #destinations = new Set<string | null>();
  total = 0;
  refused = 0;
  /** Dead letters of suppressed users, which are skipped. `total` does not contain them. */
  suppressed = 0;
  /** Dead letters that were replayed before. `total` contains them only if the replay includes them. */
  replayed = 0;
  /** Dead letters that the resumed replay had already sent, but not committed. */
  own = 0;

  constructor(targets: ReplayTargets) {
    this.#targets = targets;
  }

  /** @param replay what is written for the dead letter. */
  add(deadLetter: DeadLetter, replay = replayOf(deadLetter, this.#targets)): void {
    const { destination, reason } = deadLetter;
    const to = replay.kind === "replay" ? replay.outgoing.topic : null;
    const rejected = replay.kind === "replay" ? null : replay.why;
    const key = JSON.stringify([destination, reason, to, rejected]);
    const count = (this.#rows.get(key)?.count ?? 0) + 1;
    this.#rows.set(key, { destination, reason, to, rejected, count });
    this.#destinations.add(destination);
    if (replay.kind === "skipped") this.suppressed += 1;
    else this.total += 1;
    if (replay.kind === "refused") this.refused += 1;
  }

  /** Counts a dead letter that has a mark. */
  skip({ destination }: DeadLetter, isOwn: boolean): void {
    this.#destinations.add(destination);
    if (isOwn) this.own += 1;
    else this.replayed += 1;
  }

  /**
   * Rejects destinations that are not configured and have no dead letters here, because their IDs are probably
   * misspelled. Dead letters of a removed destination are counted, with the reason why they cannot be replayed.
   *
   * @throws WrongUsage
   */
  assertKnown(destinations: readonly string[]): void {
    const ids = this.#targets.destinations.map(({ id }): string => id);
    const unknown = destinations.find((id) => !ids.includes(id) && !this.#destinations.has(id));
    if (unknown === undefined) return;
    throw unknownDestination(unknown, ids, ", and no dead letter that matches is for it");
  }

  /** The topics to which a replay writes these dead letters. */
  targets(): readonly string[] {
    return this.rows().flatMap(({ to }) => to ?? []);
  }

  /** The rows, with the largest counts first. */
  rows(): readonly TallyRow[] {
    return [...this.#rows.values()].sort((one, other) => other.count - one.count);
  }
}

function toDestination(deadLetter: DeadLetter, targets: ReplayTargets): ReplayedRecord {
  const { topics, destinations } = targets;
  const { destination: id, endpoint, record } = deadLetter;
  if (id === null) return refused("its headers do not name a destination");
  const destination = destinations.find((configured) => configured.id === id);
  if (destination === undefined) return refused(`the destination ${id} is not configured`);
  if (destination.isAttempted) {
    const { endpoints } = destination;
    const isThere = endpoint === null || endpointFor(endpoint, endpoints) !== undefined;
    if (!isThere) return refused(removedText(endpoint, id));
    const accepted = deadLetter.accepted.map((each) => endpointFor(each, endpoints));
    if (endpoints.every((each) => accepted.includes(each))) return refused(OTHERS_REMOVED);
  }
  // If a header is repeated, only the last one is kept, because everything that reads deliveries uses the last one.
  const kept = new Map<string, RecordHeader>();
  for (const header of record.headers) if (KEPT.has(header[0])) kept.set(header[0], header);
  const name = DELIVERY_HEADER.destination;
  const place = blockingPlace(deadLetter, targets);
  const headers: RecordHeaders = [
    [name, Buffer.from(id)],
    ...kept.values(),
    ...(place === null ? [] : [placeHeader(place)]),
    ...foreignHeaders(record),
  ];
  const topic = place === null ? topics.deliveries : topics.retries;
  return write(deadLetter, topic(destination.id), headers);
}

function write({ record }: DeadLetter, topic: string, headers: RecordHeaders): ReplayedRecord {
  const { key, value } = record;
  return { kind: "replay", outgoing: { topic, key, value, headers } };
}

function refused(why: string): ReplayedRecord {
  return { kind: "refused", why };
}
