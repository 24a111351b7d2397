/**
 * Decides for which destinations to write the event that deliveries are about to expire.
 *
 *   a delivery has used three quarters of its     an expiring event is    an incident of the         result
 *   retry window and was first attempted          on the topic            destination is open
 *   at any time                                   no                      any                        event
 *   before that event                             yes                     any                        nothing: covered
 *   after that event                              yes                     started before it          nothing: the same problem
 *                                                                                                    continues
 *   after that event                              yes                     no, or started after it    event
 *
 * The decision depends only on what is on the topic, so there is no event for the end, and any process can write the
 * event. If deliveries expire although their destination is neither failing nor paused, there is at most one event
 * per three quarters of a retry window.
 */

import { type OperatorEvent, operatorEvent } from "./event.ts";
import { keyOf, type LASTING, type ReportedEvents, type Writing } from "./incidents.ts";

/**
 * The share of the retry window that is left when the event is written. With the default schedule, it is enough for the
 * longest delay and the last attempt.
 */
const NEAR_SHARE = 0.25;

/** Returns how long before the end of a retry window the event is written. */
export function nearMs(retryWindowMs: number): number {
  return Math.round(retryWindowMs * NEAR_SHARE);
}

export interface Nearing {
  readonly destination: string;
  /** The time of the first attempt at the delivery that will expire first. */
  readonly firstAttemptAtMs: number;
}

/** @param firstAttempts for each destination, the earliest first attempt among the deliveries awaiting retry. */
export function newlyExpiring(
  firstAttempts: ReadonlyMap<string, number>,
  retryWindowMs: number,
  reported: ReportedEvents,
  nowMs: number,
): readonly Nearing[] {
  return [...firstAttempts].flatMap(([destination, firstAttemptAtMs]) => {
    const isNear = firstAttemptAtMs + retryWindowMs - nowMs <= nearMs(retryWindowMs);
    const isNew = isNear && !wasReported(destination, firstAttemptAtMs, reported);
    return destination !== "" && isNew ? [{ destination, firstAttemptAtMs }] : [];
  });
}

function wasReported(
  destination: string,
  firstAttemptAtMs: number,
  reported: ReportedEvents,
): boolean {
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
  "destination.token_missing",
  "destination.proxy_failed",
  "destination.endpoints_gone",
] as const satisfies readonly (keyof typeof LASTING)[];

/** The deliveries of a destination that are in the last quarter of their retry window. */
export interface ExpiringDeliveries {
  readonly deliveries: number;
  /** True if the count is only a lower bound, because not all waiting deliveries were read. */
  readonly isLowerBound: boolean;
}

export function expiringWriting(
  { destination, firstAttemptAtMs }: Nearing,
  { deliveries, isLowerBound }: ExpiringDeliveries,
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
