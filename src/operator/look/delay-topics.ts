/**
 * Counts the deliveries awaiting retry in Kafka, by destination and by delay. If there are too many to read while an
 * operator waits, they are not counted here; then only the processes that run the delay stage have a count.
 */

import { asError } from "../../base/runtime/as-error.ts";
import { hearingLimit } from "../../base/runtime/hearing-limit.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import { isOver } from "../../router/control/operator-action-state.ts";
import type { Pause } from "../../router/control/operator-actions.ts";
import {
  type AskedWaiting,
  type DelayRead,
  eachWaiting,
  isFirstOf,
  isWhole,
} from "../../router/delay/scan-awaiting-retry.ts";
import {
  addTo,
  Labels,
  NEVER,
  REST,
  type Tallies,
  type Tally,
  timesOf,
} from "../../router/delay/tally.ts";
import { readKnownOperatorActions } from "../connect/known-operations.ts";

export interface AwaitingRetry {
  readonly byDelay: Readonly<Record<string, number>>;
  readonly nextDueAtMs: number | null;
}

const RECORDS_MAX = 20_000;
const LIMIT_MS = 1_500;

export interface Counted extends Pick<AskedWaiting, "delays" | "groups"> {
  readonly kafka: Kafka;
  readonly topics: TopicNames;
  readonly destinations: readonly string[];
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

export interface CountedDelays {
  /**
   * The counts by destination. A destination without an entry has no deliveries awaiting retry. Null if not all
   * deliveries could be read.
   */
  readonly byDestination: ReadonlyMap<string, AwaitingRetry> | null;
  /**
   * For each delay, the count of all deliveries in its topic. A topic that could not be read completely has no
   * entry.
   */
  readonly byDelay: ReadonlyMap<string, Tally>;
  /** The pauses that are in force. */
  readonly pauses: readonly Pause[];
  /** The deliveries that were found, for `countMoved`. */
  readonly seen: Set<string>;
  /** The reasons why deliveries could not be read. Empty if the only reason is that there were too many. */
  readonly errors: readonly string[];
}

export async function countAwaitingRetry(asked: Counted): Promise<CountedDelays> {
  const { kafka, topics, destinations, nowMs } = asked;
  using late = hearingLimit(LIMIT_MS, asked.signal);
  const { signal } = late;
  const labels = new Labels(destinations);
  const seen = new Set<string>();
  const tallies = new Map<string, Tallies>(asked.delays.map((delay) => [delay, new Map()]));
  try {
    // The actions are needed because records that a retry or a cancel has released early are still in the topic.
    const operatorActions = await readKnownOperatorActions(kafka, topics.operatorActions, signal);
    const limits = { operatorActions, recordsMax: RECORDS_MAX, signal };
    const deps = { kafka, clock: { nowMs: () => nowMs } };
    const read = await eachWaiting(deps, { ...asked, ...limits }, (waiting, delay) => {
      if (!isFirstOf(waiting.record, seen)) return;
      const label = waiting.kind === "invalid" ? REST : labels.of(waiting.destination);
      addTo(tallies.get(delay) ?? new Map(), label, timesOf(waiting));
    });
    const pauses = operatorActions.pauses().filter((pause) => !isOver(pause, nowMs));
    return { ...countedDelays(read, tallies, signal.aborted), pauses, seen };
  } catch (error) {
    const errors = [asError(error).message];
    return { byDestination: null, byDelay: new Map(), pauses: [], seen, errors };
  }
}

function countedDelays(
  read: readonly DelayRead[],
  tallies: ReadonlyMap<string, Tallies>,
  isCut: boolean,
): Omit<CountedDelays, "pauses" | "seen"> {
  const whole = read.filter((each) => isWhole([each]));
  const errors = [...new Set(read.flatMap((each) => each.errors))];
  const byDelay = new Map(
    whole.map(({ delay }) => [delay, sumOf(tallies.get(delay) ?? new Map())]),
  );
  const byDestination = !isCut && isWhole(read) ? byDestinationOf(tallies) : null;
  return { byDestination, byDelay, errors };
}

function byDestinationOf(
  tallies: ReadonlyMap<string, Tallies>,
): ReadonlyMap<string, AwaitingRetry> {
  const all = new Map<string, { byDelay: Record<string, number>; nextDueAtMs: number | null }>();
  for (const [delay, destinations] of tallies) {
    for (const [id, { count, dueAtMs }] of destinations) {
      const of = all.get(id) ?? { byDelay: {}, nextDueAtMs: null };
      of.byDelay[delay] = count;
      const nextMs = Math.min(of.nextDueAtMs ?? NEVER, dueAtMs);
      of.nextDueAtMs = Number.isFinite(nextMs) ? nextMs : null;
      all.set(id, of);
    }
  }
  return all;
}

function sumOf(destinations: Tallies): Tally {
  const sum: Tallies = new Map();
  for (const tally of destinations.values()) addTo(sum, REST, tally, tally.count);
  const none = { count: 0, scheduledAtMs: NEVER, dueAtMs: NEVER, firstAttemptAtMs: NEVER };
  return sum.get(REST) ?? none;
}
