/**
 * Waits until every delivery that was in a destination's queue, in its retry topic or in a delay topic at the start has
 * been processed.
 *
 *   a delivery moves from         is not missed, because
 *   queue to delay topic          delay topics are read after the queue
 *   delay topic to retry topic    the end of the retry topic is read again after the delay topics
 *   retry topic to delay topic    the retry topic is read before the delay topics
 *
 * A delivery that is in two of these topics, because the offset of the first record is not committed yet, is counted once.
 * The command does not wait for deliveries that are received later. A record counts as processed when its offset has
 * been committed, which takes a few seconds.
 */

import { partBelow, partFrom } from "../../kafka/uncommitted-ranges.ts";
import type { Releasable } from "../../router/control/early-release.ts";
import { isOver } from "../../router/control/operator-action-state.ts";
import { configuredTopics } from "../connect/connection.ts";
import { Backlog, type Looking, readOperatorActions } from "./remaining.ts";

export interface Remaining {
  readonly queued: number;
  readonly due: number;
  readonly awaitingRetry: number;
}

export interface Beginning {
  readonly atMs: number;
  /** The end of each partition of the queue. */
  readonly ends: ReadonlyMap<number, number>;
}

export async function beginning(
  { kafka, config, destination }: Looking,
  nowMs: number,
): Promise<Beginning> {
  const topic = configuredTopics(config).deliveries(destination);
  const offsets = (await kafka.admin.offsetsOf([topic])).get(topic) ?? [];
  return { atMs: nowMs, ends: new Map(offsets.map(({ partition, end }) => [partition, end])) };
}

export async function remainingOf(looking: Looking, { atMs, ends }: Beginning): Promise<Remaining> {
  const operations = await readOperatorActions(looking, looking.signal);
  const backlog = new Backlog(looking);
  const parts = (await backlog.queueParts()).map((part) =>
    partBelow(part, ends.get(part.partition) ?? 0),
  );
  let due = 0;
  let awaitingRetry = 0;
  const countDue = ({ receivedAtMs }: Releasable) => {
    if (receivedAtMs < atMs) due += 1;
  };
  const countAwaiting = ({ receivedAtMs }: Releasable) => {
    if (receivedAtMs < atMs) awaitingRetry += 1;
  };
  const before = await backlog.retryTopicParts();
  await backlog.eachDue(before, countDue);
  await backlog.eachAwaitingRetry(operations, countAwaiting);
  const readTo = new Map(before.map(({ partition, to }) => [partition, to]));
  const after = (await backlog.retryTopicParts()).map((part) =>
    partFrom(part, readTo.get(part.partition) ?? part.from),
  );
  await backlog.eachDue(
    after.filter(({ from, to }) => from < to),
    countDue,
  );
  const queued = await backlog.queuedIn(parts);
  return { queued, due, awaitingRetry };
}

export function sumOf({ queued, due, awaitingRetry }: Remaining): number {
  return queued + due + awaitingRetry;
}

export function remainingText(left: Remaining): string {
  const { queued, due, awaitingRetry } = left;
  return `${sumOf(left).toLocaleString("en")} left: ${queued} queued, ${due} due, ${awaitingRetry} awaiting retry`;
}

/** Returns the reason why no deliveries are being processed; null if deliveries are being processed. */
export async function stillText(looking: Looking, nowMs: number): Promise<string | null> {
  const { config, destination, signal } = looking;
  const configured = config.destinations.find(({ id }) => id === destination);
  if (configured?.enabled === false) return "the destination is disabled by the configuration.";
  if (configured?.isAttempted && configured.paused) {
    return "the destination is paused by the configuration.";
  }
  const operations = await readOperatorActions(looking, signal);
  const pause = operations.pauseOf(destination, nowMs);
  const resume = `Run \`switchyard resume ${destination}\` first.`;
  if (pause !== null && !isOver(pause, nowMs))
    return `the destination was paused by ${pause.by}. ${resume}`;
  const gone = operations.goneOf(destination);
  if (!configured?.isAttempted || !configured.endpoints.every(({ key }) => gone.has(key)))
    return null;
  return `all its endpoints have responded 410. ${resume}`;
}
