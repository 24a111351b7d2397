/**
 * Carries out `pause`, `retry`, `cancel` and `wait`, and approves syncs. The commands and the console use these functions, and show the
 * results in different ways.
 *
 *   step of retry and cancel                       if the process crashes after it
 *   0  the waiting deliveries are counted          nothing has changed
 *   1  the early release is written to             the stages carry out the release anyway
 *      operator-actions
 *   2  records that are no longer needed are       the next retry or cancel removes them
 *      removed
 */

import { randomUUID } from "node:crypto";
import { systemClock } from "../../base/runtime/clock.ts";
import { counted } from "../../base/words/count.ts";
import { unknownDestination, WrongUsage } from "../../base/words/wrong-usage.ts";
import type { Config } from "../../config/config.ts";
import { type AttemptedDestination, isAttempted } from "../../domain/destination.ts";
import { endpointNames } from "../../domain/endpoint-name.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Producer } from "../../kafka/port.ts";
import type { Claimed } from "../../router/audience/claims.ts";
import { isReleasedBy, type Releasable } from "../../router/control/early-release.ts";
import type { EarlyRelease } from "../../router/control/operator-actions.ts";
import {
  forgetOperatorActions,
  type Operating,
  pauseDestination,
  releaseEarly,
  resumeDestination,
} from "../../router/control/write-operator-action.ts";
import { assertTopics } from "../connect/assert-topics.ts";
import { configuredTopics } from "../connect/connection.ts";
import { instantText } from "../connect/instant.ts";
import type { ProgressOutput } from "../connect/progress.ts";
import { type AskedPause, type Paused, pausedBy } from "./pausing.ts";
import { Backlog, type Looking, readOperatorActions } from "./remaining.ts";
import { beginning, type Remaining, remainingOf, remainingText, stillText, sumOf } from "./wait.ts";

const LOOK_EVERY_MS = 2_000;

export interface ControlContext {
  readonly looking: Looking;
  readonly progressOutput: ProgressOutput;
  /** The author of the records. */
  readonly by: string;
}

/**
 * Pauses the destination. If it is already paused, the pause keeps its end unless another end is requested.
 *
 * @throws Error if no end is requested and the current pause cannot be read.
 */
export async function pauseNow(
  { looking, by }: Omit<ControlContext, "progressOutput">,
  operating: Operating,
  asked: AskedPause,
): Promise<Paused> {
  const { destination, signal } = looking;
  const sinceMs = systemClock.nowMs();
  const untilMs = asked.forMs === null ? null : sinceMs + asked.forMs;
  const known = await readOperatorActions(looking, signal).catch((error: unknown) => {
    if (asked.forMs === null && !asked.untilResumed) throw error;
    return null;
  });
  const before = known?.pauseOf(destination, sinceMs) ?? null;
  const paused = pausedBy(before, asked, { destination, sinceMs, by, untilMs });
  if (paused.pause !== before) await pauseDestination(operating, paused.pause);
  return paused;
}

export interface Resumed {
  /** False if there was nothing to resume. */
  readonly isResumed: boolean;
  /** The names of the configured endpoints that get requests again. */
  readonly wereGone: readonly string[];
}

/**
 * Ends the pause by an operator, and lets endpoints that responded 410 get requests again. Nothing is written if there
 * is neither. If the operator actions cannot be read, both are written anyway.
 *
 * @throws WrongUsage if the destination is neither paused nor configured.
 */
export async function resumeNow(
  { kafka, config, signal }: Omit<Looking, "destination">,
  operating: Operating,
  destination: Looking["destination"],
): Promise<Resumed> {
  const known = await readOperatorActions({ kafka, config }, signal).catch(() => null);
  const configured = config.destinations.filter(isAttempted).find(({ id }) => id === destination);
  const names = endpointNames(configured ?? { id: destination, endpoints: [] });
  const gone = [...(known?.goneOf(destination) ?? names).keys()];
  const isPaused = known?.pauses().some((pause) => pause.destination === destination) ?? true;
  const ids = config.destinations.map(({ id }) => id);
  if (isPaused || gone.length > 0) await resumeDestination(operating, destination, gone);
  else if (!ids.includes(destination)) throw unknownDestination(destination, ids);
  const wereGone = known === null ? [] : gone.flatMap((key) => names.get(key)?.name ?? []);
  return { isResumed: isPaused || gone.length > 0, wereGone };
}

/** One line for operators. */
export function resumedSentence(destination: string, { isResumed, wereGone }: Resumed): string {
  const again = `These endpoints had responded 410, and get requests again: ${wereGone.join(", ")}.`;
  if (isResumed) return `Resumed: ${destination}.${wereGone.length === 0 ? "" : ` ${again}`}`;
  return `Not paused: ${destination}. An operator has not paused it, and no endpoint is gone, so there is nothing to resume.`;
}

/**
 * Requests that the deliveries awaiting retry are attempted now. Resolves with their number, before they are attempted.
 *
 * @throws Error if the destination is paused or disabled.
 */
export async function retryNow(acting: ControlContext, operating: Operating): Promise<number> {
  const why = await stillText(acting.looking, systemClock.nowMs());
  if (why !== null)
    throw new Error(`Cannot retry deliveries for ${acting.looking.destination}: ${why}`);
  const earlyRelease = earlyReleaseOf(acting, "retry", null);
  const waiting = await count(acting, earlyRelease, true);
  await operate(acting, operating, earlyRelease);
  return waiting;
}

/**
 * Counts the waiting deliveries and dead-letters them. Resolves with their number.
 *
 * @param operating null if the deliveries are only counted.
 */
export async function cancelWaiting(
  acting: ControlContext,
  operating: Operating | null,
  receivedBeforeMs: number,
): Promise<number> {
  const earlyRelease = earlyReleaseOf(acting, "cancel", receivedBeforeMs);
  const waiting = await count(acting, earlyRelease, false);
  if (operating !== null) await operate(acting, operating, earlyRelease);
  return waiting;
}

/**
 * Waits until no delivery is left. If the timeout ends or the signal aborts first, resolves with the deliveries that
 * are left.
 */
export async function waitUntilNoneIsLeft(
  { looking, progressOutput }: Omit<ControlContext, "by">,
  timeoutMs: number | null,
): Promise<Remaining> {
  const { signal } = looking;
  const startedAtMs = systemClock.nowMs();
  const begun = await beginning(looking, startedAtMs);
  let left = await remainingOf(looking, begun);
  using progress = progressOutput.follow(() => remainingText(left));
  while (sumOf(left) > 0 && !signal.aborted) {
    const isLate = timeoutMs !== null && systemClock.nowMs() - startedAtMs > timeoutMs;
    if (isLate) break;
    await systemClock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
    if (!signal.aborted) left = await remainingOf(looking, begun);
  }
  progress.end();
  return left;
}

/** @throws Error if there is no topic for operator actions. */
export async function operatingOn(
  { kafka, config }: Pick<Looking, "kafka" | "config">,
  producer: Operating["producer"],
): Promise<Operating> {
  const topics = configuredTopics(config);
  await assertTopics(kafka.admin, [topics.operatorActions]);
  return { producer, topics };
}

/** @throws WrongUsage that lists the configured destinations, if there is no such destination. */
export function attemptedOf(id: string, { destinations }: Config): AttemptedDestination {
  const found = destinations.find((each) => each.id === id);
  if (found?.isAttempted) return found;
  if (found !== undefined) {
    throw new WrongUsage(
      `${id} is a ${found.kind} destination: its consumers are outside Switchyard, so it cannot be controlled.`,
    );
  }
  throw unknownDestination(
    id,
    destinations.filter(isAttempted).map((each) => each.id),
  );
}

/** Why a resumed destination is still on hold; null if it is not on hold. */
export function stillOnHold(id: string, { destinations }: Config): string | null {
  const still = destinations.find((each) => each.id === id);
  if (still === undefined) return `${id} is not configured.`;
  if (!still.enabled) return `${id} is still disabled by the configuration.`;
  if (!still.isAttempted || !still.paused) return null;
  return `${id} is still paused: the configuration has \`paused: true\`.`;
}

function earlyReleaseOf(
  { looking: { destination }, by }: ControlContext,
  kind: EarlyRelease["kind"],
  receivedBeforeMs: number | null,
): EarlyRelease {
  const atMs = systemClock.nowMs();
  return { kind, destination, id: randomUUID(), atMs, by, receivedBeforeMs };
}

async function count(
  { looking, progressOutput }: ControlContext,
  earlyRelease: EarlyRelease,
  isAwaitingRetryAlone: boolean,
): Promise<number> {
  let found = 0;
  using _progress = progressOutput.follow(
    () => `${counted(found, "delivery", "deliveries")} counted (${instantText(earlyRelease.atMs)})`,
  );
  const add = (delivery: Releasable) => {
    if (isReleasedBy(earlyRelease, delivery)) found += 1;
  };
  const operations = await readOperatorActions(looking, looking.signal);
  const backlog = new Backlog(looking);
  const queue = isAwaitingRetryAlone ? [] : await backlog.queueParts();
  await backlog.eachAwaitingRetry(operations, add);
  if (!isAwaitingRetryAlone) await backlog.eachDue(await backlog.retryTopicParts(), add);
  await backlog.eachQueued(queue, add);
  looking.signal.throwIfAborted();
  return found;
}

async function operate(
  { looking }: ControlContext,
  operating: Operating,
  earlyRelease: EarlyRelease,
): Promise<void> {
  await releaseEarly(operating, earlyRelease);
  const operations = await readOperatorActions(looking, looking.signal);
  await forgetOperatorActions(operating, operations.overKeys(earlyRelease.atMs));
}

/**
 * Approves a sync that awaits approval. Resolves when the record has been acknowledged. If the sync no longer awaits approval, the record has no effect.
 *
 * @throws Error if the topic rejects the record.
 */
export async function approveSync(
  producer: Pick<Producer, "send">,
  { audienceSyncs: topic }: TopicNames,
  { id, partition }: Claimed,
  syncId: string,
): Promise<void> {
  const value = Buffer.from(JSON.stringify({ type: "approve", audienceId: id, syncId }));
  // The record is written to the partition that owns the audience, even if the partitioner would now choose another
  // one.
  const [refused] = await producer.send([
    { topic, partition, key: Buffer.from(id), value, headers: [] },
  ]);
  if (refused !== undefined) throw new Error(`${topic}: ${refused.error}`);
}
