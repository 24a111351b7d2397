/**
 * In parallel with the stage's work, counts the waiting records in the partitions that this process owns, and sets
 * gauges.
 */

import type { DestinationId } from "../domain/ids.ts";
import { delayMsOfTopic, type TopicNames } from "../domain/topics.ts";
import type { Consumer } from "../kafka/port.ts";
import type { StageDeps } from "../stage/stage-deps.ts";
import { readWaiting } from "./due.ts";
import type { Labels } from "./labels.ts";
import type { OwnedCounts } from "./owned-counts.ts";
import { look, reportWaiting } from "./report.ts";
import { startScan } from "./scan.ts";

export interface Counted {
  readonly topics: TopicNames;
  readonly delays: readonly string[];
  /** The destinations that always have a label of their own. */
  readonly destinations: readonly DestinationId[];
  /** Maximum number of destinations with a label of their own at a time. The others share one label. */
  readonly shownMax: number;
  /** Measured from a delivery's first attempt. */
  readonly retryWindowMs: number;
}

export interface Counting {
  readonly healthProblems: () => readonly string[];
  readonly stop: () => Promise<void>;
}

/** @param consumers the consumer of each delay. */
export function startCounting(
  { kafka, metrics, clock }: Pick<StageDeps, "kafka" | "metrics" | "clock">,
  { delays, topics, retryWindowMs, shownMax }: Counted,
  { labels, counts }: { readonly labels: Labels; readonly counts: OwnedCounts },
  consumers: readonly Pick<Consumer, "progress" | "vitals">[],
): Counting {
  const ofDelays = consumers.map((consumer, index) => ({ delay: delays[index] ?? "", consumer }));
  const watched = { labels, counts, delays: ofDelays, retryWindowMs, shownMax };
  const reporting = reportWaiting(metrics, clock, watched);
  const scan = startScan({
    kafka,
    clock,
    partitions: () => counts.all(),
    read: (delay, record) => readWaiting(record, topics, delayMsOfTopic(delay) ?? 0, clock.nowMs()),
    look: () => look(watched, clock.nowMs()),
  });
  return {
    healthProblems: scan.healthProblems,
    stop: async () => {
      await scan[Symbol.asyncDispose]();
      reporting[Symbol.dispose]();
    },
  };
}
