/**
 * Waits until the audience stage has applied all records of one audience in `audience-syncs`. Until then,
 * the stored members do not reflect the audience's earlier syncs.
 *
 *   the audience's records               result
 *   are all applied                      null
 *   are not all applied after a minute   the number that is left, and since when the oldest has waited
 *   cannot be read, or the stage's       the reason: immediately, or after a minute if Kafka is
 *     consumer group is not visible        unreachable
 *
 * A record belongs to the audience whose ID is its key (docs/audiences.md#send-a-sync). The command does not wait for
 * other audiences' records.
 */

import { asError } from "../../../base/runtime/as-error.ts";
import type { Clock } from "../../../base/runtime/clock.ts";
import { hearingLimit } from "../../../base/runtime/hearing-limit.ts";
import { type Kafka, MissingPermissionError } from "../../../kafka/port.ts";
import {
  isFinished,
  partFrom,
  type Reading,
  readUnfinished,
  type UnfinishedPart,
  unfinishedIn,
} from "../../../kafka/uncommitted-ranges.ts";

const WAIT_MS = 60_000;
const POLL_EVERY_MS = 500;
const STEP_BYTES = 1_048_576;

export type Unapplied =
  | { readonly kind: "waiting"; readonly records: number; readonly oldestAtMs: number }
  | Unknown;

interface Unknown {
  readonly kind: "unknown";
  readonly error: string;
}

/** The position of a record of the audience. */
interface SyncPosition {
  readonly partition: number;
  readonly offset: number;
  readonly atMs: number;
}

export interface AwaitedSync {
  readonly kafka: Pick<Kafka, "admin" | "read">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The topic `audience-syncs`, and the consumer group of the audience stage. */
  readonly reading: Reading;
  readonly audienceId: string;
}

/** @param onWaiting called after each poll that finds unapplied records. @throws the signal's reason if it aborts. */
export async function untilApplied(
  waiting: AwaitedSync,
  onWaiting: (records: number) => void,
): Promise<Unapplied | null> {
  const { clock, signal } = waiting;
  const untilMs = clock.nowMs() + WAIT_MS;
  const poll = unappliedPoll(waiting);
  for (;;) {
    const found = await poll().catch((error: unknown) => asError(error));
    signal.throwIfAborted();
    const isOver = clock.nowMs() >= untilMs;
    if (found instanceof Error) {
      // A retry cannot succeed while a permission is missing.
      const isLasting = isOver || found instanceof MissingPermissionError;
      if (isLasting) return { kind: "unknown", error: found.message };
    } else if ("error" in found) {
      return found;
    } else if (found.length === 0) {
      return null;
    } else if (isOver) {
      const oldestAtMs = found.reduce((least, { atMs }) => Math.min(least, atMs), untilMs);
      return { kind: "waiting", records: found.length, oldestAtMs };
    } else {
      onWaiting(found.length);
    }
    await clock.sleep(POLL_EVERY_MS, signal);
  }
}

/**
 * Each poll reads only records that were written since the previous poll, and returns all records that have not been
 * applied.
 */
function unappliedPoll({ kafka, signal, reading, audienceId }: AwaitedSync) {
  const readTo = new Map<number, number>();
  let ours: readonly SyncPosition[] = [];
  return async (): Promise<readonly SyncPosition[] | Unknown> => {
    const unfinished = (await unfinishedIn(kafka, [reading])).get(reading.topic);
    if (unfinished?.kind === "unknown") return unfinished;
    const parts = unfinished?.kind === "known" ? unfinished.parts : [];
    // Records after an open transaction of another producer cannot be read yet.
    using late = hearingLimit(WAIT_MS, signal);
    for (const part of parts) {
      const { partition } = part;
      const fresh: SyncPosition[] = [];
      const rest = partFrom(part, readTo.get(partition) ?? 0);
      try {
        for await (const records of readUnfinished(kafka, rest, {
          maxBytes: STEP_BYTES,
          signal: late.signal,
        })) {
          for (const { key, offset, timestampMs: atMs } of records) {
            if (key?.toString() === audienceId) fresh.push({ partition, offset, atMs });
          }
        }
      } catch (error) {
        // Reading has already been retried for half a minute, or another retry cannot succeed.
        return { kind: "unknown", error: asError(error).message };
      }
      if (late.signal.aborted) {
        return { kind: "unknown", error: `${reading.topic} could not be read within a minute` };
      }
      ours = ours.concat(fresh);
      readTo.set(partition, part.to);
    }
    ours = ours.filter((place) => parts.some((part) => waitsIn(part, place)));
    return ours;
  };
}

function waitsIn(part: UnfinishedPart, { partition, offset }: SyncPosition): boolean {
  const isWithin = part.partition === partition && part.from <= offset && offset < part.to;
  return isWithin && !isFinished(part, offset);
}
