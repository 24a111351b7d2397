/**
 * Reads the waiting records of delay topics, independently of the stage. These are all records that the groups have
 * not processed, except those that a retry or a cancellation has released early. All counts outside the stage use this
 * scan, which keeps no records in memory.
 *
 *   the scan                                    then
 *   reaches all log end offsets                 everything was found
 *   has read the allowed number of records,     it stops, and returns how many records were not read
 *   or the signal aborts
 *   finds a corrupt batch, another error,       the same for that partition or topic, with the error
 *   or a missing permission
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import { hearingLimit } from "../../base/runtime/hearing-limit.ts";
import { readDelivery } from "../../domain/delivery.ts";
import { endpointIdIn } from "../../domain/endpoint-name.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { delayMsOfTopic, type GroupNames, type TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import {
  partBelow,
  readUnfinished,
  recordsIn,
  type UnfinishedPart,
  unfinishedIn,
} from "../../kafka/uncommitted-ranges.ts";
import { hasLeft, type OperatorActions } from "../control/operator-action-state.ts";
import { type DelayedRecord, readWaiting } from "./due.ts";
import { releasable } from "./released-ahead.ts";

/** Number of bytes that a step reads from each partition. All partitions are read in parallel. */
const STEP_BYTES = 262_144;

export interface WaitingDeps {
  readonly kafka: Pick<Kafka, "admin" | "read">;
  readonly clock: Pick<Clock, "nowMs">;
}

export interface AskedWaiting {
  readonly delays: readonly string[];
  readonly topics: TopicNames;
  readonly groups: Pick<GroupNames, "delay">;
  readonly operatorActions: Pick<OperatorActions, "earlyReleasesOf" | "releasedThrough">;
  /** Maximum number of records to read from all delay topics together. */
  readonly recordsMax: number;
  readonly signal: AbortSignal;
}

export interface DelayRead {
  readonly delay: string;
  /** The number of records that were not read; 0 if all were read. If it is above 0, the count is a lower bound. */
  readonly unread: number;
  /** The reasons why a partition, or the whole delay topic, could not be read. */
  readonly errors: readonly string[];
}

/**
 * Reads the topics of all delays in parallel, with one limit of records for all of them. @param found called for
 * each record.
 */
export async function eachWaiting(
  { kafka, clock }: WaitingDeps,
  { delays, topics, groups, operatorActions, recordsMax, signal }: AskedWaiting,
  found: (waiting: DelayedRecord, delay: string) => void,
): Promise<readonly DelayRead[]> {
  const topicOf = (delay: string) => topics.delays(delayMsOfTopic(delay) ?? 0);
  const unfinished = await unfinishedIn(
    kafka,
    delays.map((delay) => ({ groupId: groups.delay(delay), topic: topicOf(delay) })),
  );
  let left = recordsMax;
  const ofDelay = async (delay: string): Promise<DelayRead> => {
    const ofTopic = unfinished.get(topicOf(delay));
    if (ofTopic?.kind === "unknown") return { delay, unread: 0, errors: [ofTopic.error] };
    if (ofTopic?.kind !== "known") return { delay, unread: 0, errors: [] };
    const { topicId, parts } = ofTopic;
    const delayMs = delayMsOfTopic(delay) ?? 0;
    const errors: string[] = [];
    const unread = await Promise.all(
      parts.map(async (part) => {
        let rest = recordsIn([part]);
        try {
          for await (const records of readUnfinished(kafka, part, {
            maxBytes: STEP_BYTES,
            signal,
          })) {
            for (const record of records) {
              if (left <= 0) return rest;
              left -= 1;
              rest -= 1;
              const { partition, offset } = record;
              const waiting = readWaiting(record, topics, delayMs, clock.nowMs());
              const place = { delay, partition, offset, topicId };
              const isGone =
                waiting.kind === "waiting" && hasLeft(operatorActions, place, releasable(waiting));
              if (!isGone) found(waiting, delay);
            }
            if (left <= 0) return rest;
          }
        } catch (error) {
          errors.push(asError(error).message);
          return rest;
        }
        return signal.aborted ? rest : 0;
      }),
    );
    return { delay, unread: unread.reduce((sum, each) => sum + each, 0), errors };
  };
  return Promise.all(delays.map(ofDelay));
}

const SEEN_MAX = 200_000;
/** More than a partition's records that are processed and not committed. */
const MOVED_MAX = 5_000;

/**
 * Returns false if the delivery of a record is in `seen`, and otherwise adds the delivery. Until the offset of a record
 * that was moved to another topic is committed, its delivery is in both topics, and must not be counted twice.
 */
export function isFirstOf(record: IncomingRecord, seen: Set<string>): boolean {
  const [call, delivery] = deliveryOf(record);
  if (delivery === "") return true;
  if (seen.has(delivery)) return false;
  if (seen.size < SEEN_MAX) seen.add(delivery).add(call);
  return true;
}

/** Identifies the call, as in the queue, and the delivery, which is for one endpoint or for all of them. */
function deliveryOf(record: IncomingRecord): readonly [call: string, delivery: string] {
  const read = readDelivery(record);
  if (read.kind === "invalid") return ["", ""];
  const { destination, messageId, endpoint } = read.delivery;
  const call = `${destination} ${messageId}`;
  return [call, endpoint === null ? call : `${call} ${endpointIdIn(endpoint)}`];
}

/** `true` if the call of a record in a queue was retried: one of its deliveries is in `seen`. */
export function wasRetried(record: IncomingRecord, seen: ReadonlySet<string>): boolean {
  return seen.has(deliveryOf(record)[0]);
}

/** Counts the records at the start of the parts that have moved. Never rejects, because the result only corrects a count. */
export async function countMoved(
  kafka: Pick<Kafka, "read">,
  parts: readonly UnfinishedPart[],
  isMoved: (record: IncomingRecord) => boolean,
  signal: AbortSignal,
): Promise<number> {
  let moved = 0;
  const countIn = async (part: UnfinishedPart) => {
    const start = partBelow(part, part.from + MOVED_MAX);
    for await (const records of readUnfinished(kafka, start, { maxBytes: STEP_BYTES, signal })) {
      moved += records.filter(isMoved).length;
    }
  };
  await Promise.allSettled(parts.map(countIn));
  return moved;
}

/** Returns `true` if all records were read. */
export function isWhole(delays: readonly DelayRead[]): boolean {
  return delays.every(({ unread, errors }) => unread === 0 && errors.length === 0);
}

/** The count of expiring deliveries is needed about once per incident, so it may read several hundred thousand records. */
const EXPIRING_LIMIT_MS = 5_000;
const EXPIRING_RECORDS_MAX = 500_000;

export interface ExpiringDeliveries {
  readonly deliveries: number;
  /** `true` if not all records were read, so that there may be more deliveries than were counted. */
  readonly isLowerBound: boolean;
}

export interface Windows
  extends Pick<AskedWaiting, "delays" | "topics" | "groups" | "operatorActions"> {
  /** Measured from the first attempt. */
  readonly retryWindowMs: number;
}

/**
 * Counts the deliveries that expire before a time, by destination. Destinations with a count of 0 are omitted.
 */
export async function countExpiring(
  deps: WaitingDeps,
  { retryWindowMs, ...where }: Windows,
  destinations: ReadonlySet<string>,
  beforeMs: number,
  ended: AbortSignal,
): Promise<ReadonlyMap<string, ExpiringDeliveries>> {
  const counts = new Map<string, number>();
  using late = hearingLimit(EXPIRING_LIMIT_MS, ended);
  const asked: AskedWaiting = { ...where, recordsMax: EXPIRING_RECORDS_MAX, signal: late.signal };
  const read = await eachWaiting(deps, asked, (waiting) => {
    if (waiting.kind === "invalid" || !destinations.has(waiting.destination)) return;
    const { destination, firstAttemptAtMs } = waiting;
    if (firstAttemptAtMs === null || firstAttemptAtMs + retryWindowMs > beforeMs) return;
    counts.set(destination, (counts.get(destination) ?? 0) + 1);
  });
  const isLowerBound = !isWhole(read);
  const reported = [...counts].map(
    ([destination, deliveries]) => [destination, { deliveries, isLowerBound }] as const,
  );
  return new Map(reported);
}
