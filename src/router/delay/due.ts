/**
 * Decides what happens to a record of a delay topic (docs/retries.md#delay-topics). All records of a delay topic wait
 * equally long, so due times increase within a partition, and only the partition's first record needs a timer.
 *
 *   record                                           decision
 *   lacks a header that a delivery needs, or due-at  dead letter, invalid-call
 *   due later                                        wait
 *   due, but its topic does not exist                dead letter, unknown-destination; a topic that will be
 *                                                    recreated, or is hidden, counts as existing
 *   due, and attempted before or for one endpoint    to its destination's retry topic, or to the
 *                                                    destination's queue while that does not exist
 *   due, but never attempted                         to its destination's queue
 *   due, and it has a place in the queue             to its destination's retry topic: in the queue, it would wait for those
 *                                                    that wait for it
 *   would be dead-lettered, or is canceled, and its  suppressed: it is processed, and nothing is written (`stage.ts`)
 *   user is suppressed
 *
 * The due-at header of a record contains the time at which the record was scheduled, plus the delay. If this time
 * were too late, the record would block all later records, so it is limited:
 *
 *   at most                                               because
 *   the delay after the record was read                   the record was scheduled before it was read
 *   the delay and a minute after the record's timestamp   the record is written when it is scheduled;
 *                                                         clocks differ by less
 *
 * The record is returned with unchanged value and headers. The destination need not be configured in this process:
 * during a rollout, it may already be configured in others.
 *
 *   the first waiting record of a partition          next step
 *   does not exist                                   wait for records
 *   is due later                                     wait until then
 *   is due, and its topic is unknown                 look up the topics (`topic-lookup.ts`)
 *   is due or a dead letter                          take it, and the following records that are due or dead letters
 */

import { DELIVERY_HEADER, readDelivery } from "../../domain/delivery.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { TopicNames } from "../../domain/topics.ts";
import { queuePlaceOf } from "../order/facts.ts";

const CLOCKS_DIFFER_MS = 60_000;

/** A record of a delay topic, parsed once when it is taken. */
export type DelayedRecord = {
  readonly record: IncomingRecord;
  /** The record's timestamp, but not later than the time at which the record was read. */
  readonly scheduledAtMs: number;
} & (
  | {
      readonly kind: "waiting";
      readonly dueAtMs: number;
      readonly destination: DestinationId;
      readonly receivedAtMs: number;
      /** Null if the delivery was never attempted, and therefore has no retry window. */
      readonly firstAttemptAtMs: number | null;
      /** The record is written to the first of these topics that exists. */
      readonly topics: readonly [string, ...string[]];
    }
  | { readonly kind: "invalid"; readonly error: string }
);

export type DestinationTopics = Pick<TopicNames, "deliveries" | "retries">;

export type Verdict =
  | { readonly kind: "wait"; readonly waitMs: number }
  | { readonly kind: "return"; readonly topic: string; readonly dueAtMs: number }
  | {
      readonly kind: "dead-letter";
      readonly reason: "invalid-call" | "unknown-destination" | "cancelled";
      readonly error: string;
    }
  | { readonly kind: "suppressed" };

/** Shows which topics exist, from a list. An old list does not prove that a topic is missing. */
export interface Places {
  exists(topic: string): boolean;
  isCertain(topic: string, nowMs: number): boolean;
}

/**
 * Reads a record. The header with the retry topic is not trusted, because anyone who may write to the delay topic
 * could put any topic into it.
 *
 * @param delayMs the delay of the topic from which the record was read.
 */
export function readWaiting(
  record: IncomingRecord,
  topics: DestinationTopics,
  delayMs: number,
  nowMs: number,
): DelayedRecord {
  const { timestampMs } = record;
  const scheduledAtMs = timestampMs > 0 ? Math.min(timestampMs, nowMs) : nowMs;
  const invalid = (error: string): DelayedRecord => ({
    kind: "invalid",
    record,
    scheduledAtMs,
    error,
  });
  const parsed = readDelivery(record);
  if (parsed.kind === "invalid") return invalid(parsed.error);
  const { dueAtMs, destination, firstAttemptAtMs, receivedAtMs } = parsed.delivery;
  const { attempt, endpoint } = parsed.delivery;
  if (dueAtMs === null) return invalid(`the header ${DELIVERY_HEADER.dueAt} is missing`);
  const line = topics.deliveries(destination);
  const passes = attempt > 0 || endpoint !== null || queuePlaceOf(record) !== null;
  const places = passes ? ([topics.retries(destination), line] as const) : ([line] as const);
  const writtenMs = timestampMs > 0 ? timestampMs + CLOCKS_DIFFER_MS : nowMs;
  const latestMs = Math.min(writtenMs, nowMs) + delayMs;
  return {
    kind: "waiting",
    record,
    scheduledAtMs,
    dueAtMs: Math.min(dueAtMs, latestMs),
    destination,
    receivedAtMs,
    firstAttemptAtMs,
    topics: places,
  };
}

export function judgeDue(waiting: DelayedRecord, places: Places, nowMs: number): Verdict {
  if (waiting.kind === "waiting" && nowMs < waiting.dueAtMs) {
    return { kind: "wait", waitMs: waiting.dueAtMs - nowMs };
  }
  return judgeNow(waiting, places);
}

/** Decides what would happen to the record if it were due now. */
export function judgeNow(waiting: DelayedRecord, places: Places): Due["verdict"] {
  if (waiting.kind === "invalid") {
    return { kind: "dead-letter", reason: "invalid-call", error: waiting.error };
  }
  const { dueAtMs, topics } = waiting;
  const topic = topics.find((each) => places.exists(each));
  const isKeptOut = topic !== topics[0] && queuePlaceOf(waiting.record) !== null;
  if (topic !== undefined && !isKeptOut) return { kind: "return", topic, dueAtMs };
  const error = `the topic ${topics.join(" or ")} does not exist`;
  return { kind: "dead-letter", reason: "unknown-destination", error };
}

export interface Due {
  readonly waiting: DelayedRecord;
  readonly verdict: Exclude<Verdict, { kind: "wait" }>;
}

export type DelayStep =
  | { readonly kind: "empty" }
  | { readonly kind: "wait"; readonly waitMs: number }
  | { readonly kind: "lookup" }
  | { readonly kind: "due"; readonly due: readonly Due[] };

/**
 * Removes due records from the queue.
 *
 * @param max the maximum number of records to take, at least 1.
 */
export function takeDue(
  queue: DelayedRecord[],
  places: Places,
  nowMs: number,
  max: number,
): DelayStep {
  const due: Due[] = [];
  let step: DelayStep = { kind: "empty" };
  for (const waiting of queue) {
    if (due.length === max) break;
    const verdict = judgeDue(waiting, places, nowMs);
    if (verdict.kind === "wait") {
      step = verdict;
      break;
    }
    if (needsLookup(waiting, places, nowMs)) {
      step = { kind: "lookup" };
      break;
    }
    due.push({ waiting, verdict });
  }
  if (due.length === 0) return step;
  queue.splice(0, due.length);
  return { kind: "due", due };
}

/** Returns `true` if it is not certain which topic the record has to be returned to. */
export function needsLookup(waiting: DelayedRecord, places: Places, nowMs: number): boolean {
  if (waiting.kind === "invalid") return false;
  for (const topic of waiting.topics) {
    if (!places.isCertain(topic, nowMs)) return true;
    if (places.exists(topic)) return false;
  }
  return false;
}
