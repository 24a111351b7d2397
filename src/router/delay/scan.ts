/**
 * Reads ahead in the partitions that this process owns, to count the records behind those in flight. The scan uses
 * no consumer group, and keeps no records in memory. Deliveries have priority: in all partitions together, only one
 * step runs at a time. After each step, the scan pauses for as long as the step took, but at least 50 ms and at most 10 s.
 *
 *   a step of a partition                              then
 *   returns records, or reaches the end                the records are counted, and the next partition follows
 *   fails: corrupt batch, missing topic, unreachable   this partition is tried again after 10 s
 *     Kafka
 *   returns nothing for 10 s: an open transaction      the same
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { Kafka } from "../../kafka/port.ts";
import type { DelayedRecord } from "./due.ts";
import type { OwnedCount } from "./owned-counts.ts";
import { LOOK_EVERY_MS, type OffsetRange } from "./partition-count.ts";

const STEP_BYTES = 512 * 1_024;
const REST_MIN_MS = 50;
const STEP_LIMIT_MS = 10_000;
const TRY_AGAIN_MS = 10_000;

export interface Scan {
  readonly kafka: Pick<Kafka, "read">;
  readonly clock: Clock;
  readonly partitions: () => readonly OwnedCount[];
  readonly read: (delay: string, record: IncomingRecord) => DelayedRecord;
  /** Updates the counts with the progress of the consumers. */
  readonly look: () => void;
}

export interface RunningScan extends AsyncDisposable {
  /** Returns a sentence for each partition whose last step failed. */
  readonly healthProblems: () => readonly string[];
}

interface Failure {
  readonly error: string;
  readonly atMs: number;
}

/** Starts immediately. */
export function startScan(scan: Scan): RunningScan {
  const { clock } = scan;
  const stopping = new AbortController();
  const { signal } = stopping;
  const failures = new WeakMap<OwnedCount["count"], Failure>();

  const isReadable = ({ count }: OwnedCount) => {
    const failure = failures.get(count);
    const waits = failure !== undefined && Math.abs(clock.nowMs() - failure.atMs) < TRY_AGAIN_MS;
    return count.ahead !== null && !waits;
  };
  const live = async () => {
    for (;;) {
      await clock.sleep(LOOK_EVERY_MS, signal);
      scan.look();
      for (let all = readable(); all.length > 0; all = readable()) {
        for (const owned of all) await step(owned);
      }
    }
  };
  const readable = () => scan.partitions().filter(isReadable);
  const step = async (owned: OwnedCount) => {
    const { count } = owned;
    const range = count.ahead;
    if (range === null || owned.isOver()) return;
    const beganAtMs = clock.nowMs();
    try {
      await readStep(scan, owned, range, signal);
      failures.delete(count);
    } catch (error) {
      signal.throwIfAborted();
      failures.set(count, { error: asError(error).message, atMs: clock.nowMs() });
    }
    // The duration is limited, because the clock may have been set meanwhile, or the machine may have been
    // suspended.
    const tookMs = Math.min(clock.nowMs() - beganAtMs, STEP_LIMIT_MS);
    await clock.sleep(Math.max(REST_MIN_MS, tookMs), signal);
    scan.look();
  };
  const ended = live().catch((thrown: unknown) => {
    if (!signal.aborted) throw thrown;
  });
  return {
    healthProblems: () =>
      scan.partitions().flatMap(({ topic, partition, count }) => {
        const failure = failures.get(count);
        if (failure === undefined) return [];
        return [`the count of partition ${partition} of ${topic} is unknown: ${failure.error}`];
      }),
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await ended;
    },
  };
}

/** @throws Error if nothing could be read. */
async function readStep(
  { kafka, clock, read }: Scan,
  { delay, topic, partition, count, isGone }: OwnedCount,
  { from, to }: OffsetRange,
  stopping: AbortSignal,
): Promise<void> {
  const late = new AbortController();
  const done = new AbortController();
  clock.sleep(STEP_LIMIT_MS, AbortSignal.any([stopping, done.signal])).then(
    () => late.abort(),
    () => undefined,
  );
  const signal = AbortSignal.any([stopping, late.signal]);
  try {
    const place = { topic, partition, from, to };
    for await (const records of kafka.read({ ...place, maxBytes: STEP_BYTES, signal })) {
      const behind = (records.at(-1)?.offset ?? from - 1) + 1;
      count.read(
        records.map((record) => read(delay, record)).filter((waiting) => !isGone(waiting)),
        behind,
      );
      return;
    }
    stopping.throwIfAborted();
    if (late.signal.aborted) throw new Error(`no response within ${STEP_LIMIT_MS / 1_000} s`);
    count.read([], to);
  } finally {
    done.abort();
  }
}
