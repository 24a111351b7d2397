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

import { hasLeft, type OperatorActions } from "../control/operator-action-state.ts";
import { delayMsOfTopic, type GroupNames, type TopicNames } from "../domain/topics.ts";
import type { Kafka } from "../kafka/port.ts";
import { readUnfinished, recordsIn, unfinishedIn } from "../kafka/uncommitted-ranges.ts";
import { asError } from "../runtime/as-error.ts";
import type { Clock } from "../runtime/clock.ts";
import { readWaiting, type Waiting } from "./due.ts";
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
  found: (waiting: Waiting, delay: string) => void,
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

/** Returns `true` if all records were read. */
export function isWhole(delays: readonly DelayRead[]): boolean {
  return delays.every(({ unread, errors }) => unread === 0 && errors.length === 0);
}
