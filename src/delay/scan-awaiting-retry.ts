/**
 * Reads what waits in delay topics from outside, when no process is asked: of all destinations what
 * the groups have not finished, without the records that a retry or a cancel took out early and that
 * lie there still. All counts of these from outside begin here. It keeps no record.
 *
 *   it                                       then
 *   comes to all ends                        all were found
 *   has read the records that are allowed,   it stops: as many as are told may wait beside
 *   or the signal aborts
 *   meets a damaged batch, another error,    the same for that partition, or topic, with the error
 *   or a permission is missing
 */

import { hasLeft, type OperatorActions } from "../control/operator-action-state.ts";
import { delayMsOfTopic, type GroupNames, type TopicNames } from "../domain/topics.ts";
import type { Kafka } from "../kafka/port.ts";
import { readUnfinished, recordsIn, unfinishedIn } from "../kafka/uncommitted-ranges.ts";
import { asError } from "../runtime/as-error.ts";
import type { Clock } from "../runtime/clock.ts";
import { readWaiting, type Waiting } from "./due.ts";
import { releasable } from "./released-ahead.ts";

/** Of each partition that is read; all are, side by side. */
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
  /** Most records to read, over all tiers. */
  readonly recordsMax: number;
  readonly signal: AbortSignal;
}

export interface DelayRead {
  readonly delay: string;
  /** Records that were not read: what was found is at least so much. 0: it is all. */
  readonly unread: number;
  /** Why a partition could not be read, or nothing of the tier. */
  readonly errors: readonly string[];
}

/** The tiers are read side by side, and share the records. @param found is called for each. */
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

/** Whether nothing was left out. */
export function isWhole(delays: readonly DelayRead[]): boolean {
  return delays.every(({ unread, errors }) => unread === 0 && errors.length === 0);
}
