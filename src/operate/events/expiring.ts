/**
 * Decides of which destinations people are told that deliveries come near the end of their window.
 *
 *   three quarters of its window are over      an event of the     an incident of the destination
 *   for a delivery that was first attempted    topic says so       that is open                      then
 *   at any time                                no                  any                               told
 *   before that event                          yes                 any                               nothing: it is one of those
 *   after that event                           yes                 began before it                   nothing: the same trouble
 *                                                                                                    goes on
 *   after that event                           yes                 none that did                     told
 *
 * So the event needs no end, and any process may speak: none of this depends on what it remembers. A
 * destination that is neither failing nor paused, and whose deliveries expire, is told again after
 * three quarters of a window at the earliest.
 */

import { type OperatorEvent, operatorEvent } from "./event.ts";
import { keyOf, type LASTING, type Reported, type Writing } from "./incidents.ts";

/** Of the window; the last tier of the usual ones ends within it, with the last attempt. */
const NEAR_SHARE = 0.25;

/** So long before the end of a window people are told. */
export function nearMs(retryWindowMs: number): number {
  return Math.round(retryWindowMs * NEAR_SHARE);
}

export interface Nearing {
  readonly destination: string;
  /** Of the delivery that expires first. */
  readonly firstAttemptAtMs: number;
}

/** @param firstAttempts by destination, the earliest of those that wait. */
export function newlyExpiring(
  firstAttempts: ReadonlyMap<string, number>,
  retryWindowMs: number,
  reported: Reported,
  nowMs: number,
): readonly Nearing[] {
  return [...firstAttempts].flatMap(([destination, firstAttemptAtMs]) => {
    const isNear = firstAttemptAtMs + retryWindowMs - nowMs <= nearMs(retryWindowMs);
    const isNew = isNear && !wasReported(destination, firstAttemptAtMs, reported);
    return destination !== "" && isNew ? [{ destination, firstAttemptAtMs }] : [];
  });
}

function wasReported(destination: string, firstAttemptAtMs: number, reported: Reported): boolean {
  const last = reported.get(expiringKey(destination));
  if (last === undefined) return false;
  const reportedMs = Date.parse(last.time);
  if (firstAttemptAtMs <= reportedMs) return true;
  return OPENING.some((kind) => {
    const open = reported.get(keyOf({ kind, subject: destination }));
    return open?.kind === kind && Date.parse(open.time) <= reportedMs;
  });
}

const OPENING = [
  "destination.failing",
  "destination.paused",
] as const satisfies readonly (keyof typeof LASTING)[];

/** Those of a destination that expire soon. */
export interface Expiring {
  readonly deliveries: number;
  /** Not all that waits was read: it is at least so many. */
  readonly isLowerBound: boolean;
}

export function expiringWriting(
  { destination, firstAttemptAtMs }: Nearing,
  { deliveries, isLowerBound }: Expiring,
  retryWindowMs: number,
  source: string,
  nowMs: number,
): Writing {
  const data = {
    count: deliveries,
    ...(isLowerBound ? { isLowerBound } : {}),
    firstExpiresAt: new Date(firstAttemptAtMs + retryWindowMs).toISOString(),
    before: new Date(nowMs + nearMs(retryWindowMs)).toISOString(),
  };
  const event: OperatorEvent = operatorEvent(
    source,
    "deliveries.expiring",
    destination,
    nowMs,
    data,
  );
  return { key: expiringKey(destination), event };
}

function expiringKey(destination: string): string {
  return `deliveries.expiring/${destination}`;
}
