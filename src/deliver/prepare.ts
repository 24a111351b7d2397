/**
 * Decides what to do with a record of a destination's topics when its turn has come, before any
 * request. The stage does what this says, `explain` shows it. The first row that fits decides.
 *
 *   state                                               prepared
 *   a header that a delivery needs is missing or wrong  unreadable, invalid-call
 *   its own endpoint is gone from the configuration     dead letter, unknown-destination
 *   it has a window, and that has ended                 dead letter, expired
 *   every endpoint has rejected it                      dead letter, rejected
 *   the destination is paused or disabled               wait
 *   its own not-before is in the future, and a tier     park for that long
 *   ends in the window
 *   no endpoint is away                                 attempt at all
 *   some are away                                       attempt at the others
 *   all are away:
 *     the breaker of some is open, and it is a retry    attempt at these, as their probe
 *     ... and it is the share of one endpoint           the same; while others are under way there: park
 *     it is a share, or from the line                   park, for at most 2 minutes
 *     they ask by `Retry-After` to be left alone        wait, at most until no tier ends in the window
 *                                                       any more; then attempt: it is the last one
 *
 *   an attempt, and the value                           prepared
 *   is no call and no delete notification               dead letter, with the value's reason
 *   is one                                              the attempt, with what is sent
 *
 * Endpoints are those that did not reject it; one that is gone from the configuration is forgotten.
 * An endpoint is away while it asks by `Retry-After` to be left alone, or while its breaker is open.
 * The line is held while all are (`endpoint-availability.ts`), so that its deliveries get here only where
 * they are shares, or were attempted before.
 *
 * A delivery has a window from its first attempt on. The share of an endpoint has the window of the
 * attempt that it is left of, so that shares of an endpoint that never comes back come to an end.
 */

import type { Sendable } from "../destinations/port.ts";
import type { RecordValue } from "../domain/decode.ts";
import { type Delivery, readDelivery } from "../domain/delivery.ts";
import type { AttemptedDestination, Endpoint } from "../domain/destination.ts";
import type { EndpointKey } from "../domain/ids.ts";
import type { RecordContent } from "../domain/record.ts";
import { delayOfShare, delayUntil, lastAfterMs, type RetryPolicy } from "./choose-retry-delay.ts";
import type { SlotFor } from "./circuit-breaker.ts";
import { parseContent } from "./content.ts";
import { allRejected, expired, type Output, scheduleRetry, type Waited } from "./output.ts";
import { sanitizeHeaders } from "./sanitize-headers.ts";

/** `delivery` has its first-attempt-at. */
interface Plan {
  readonly kind: "attempt";
  /** To request now; at least one. */
  readonly endpoints: readonly Endpoint[];
  /** To leave alone for now. */
  readonly held: readonly Endpoint[];
  readonly delivery: Delivery;
  /** If it has to wait for an answer, then at most until then. */
  readonly untilMs: number;
  /** Takes its place if it would have to wait for an answer; null: it waits. */
  readonly otherwise: Output | null;
}

/** A retry is kept in hand, until the endpoint may be asked. */
export interface Wait {
  readonly kind: "wait";
  readonly endpoint: EndpointKey;
  /** It is prepared again then, whatever the endpoint. */
  readonly untilMs: number;
}

/** A unit of work of its own, too. */
export interface PreparedAttempt extends Plan, Sendable {}

export type Prepared =
  | PreparedAttempt
  | Output
  | Wait
  /** The record is no delivery: it goes to the dead letters with its headers as they came. */
  | { readonly kind: "unreadable"; readonly error: string };

/** Until when an endpoint is to be left alone; 0 when it need not be. */
export type UnavailableUntil = (endpoint: EndpointKey) => number;

export interface Gates {
  /** Asked for by `Retry-After`. */
  readonly onHoldUntilMs: UnavailableUntil;
  /** While the breaker is open. */
  readonly openUntilMs: UnavailableUntil;
  /** The breaker is open, half-open or recovering. */
  readonly isFailing: (endpoint: EndpointKey) => boolean;
}

/** No endpoint is away. */
export const OPEN_GATES: Gates = {
  onHoldUntilMs: () => 0,
  openUntilMs: () => 0,
  isFailing: () => false,
};

const NONE: readonly Endpoint[] = [];

export function prepare(
  record: RecordContent & RecordValue,
  destination: AttemptedDestination,
  policy: RetryPolicy,
  nowMs: number,
  gates: Gates,
  turn: SlotFor,
): Prepared {
  const parsed = readDelivery(record);
  if (parsed.kind === "invalid") return { kind: "unreadable", error: parsed.error };
  const delivery = sanitizeHeaders(parsed.delivery, destination.id, policy.retryWindowMs, nowMs);
  const planned = plan(delivery, destination, policy, nowMs, gates, turn);
  if (planned.kind !== "attempt") return planned;
  const value = parseContent(record);
  if (value.kind === "refused") {
    const { reason, error } = value;
    return { kind: "dead-letter", reason, error, delivery: planned.delivery };
  }
  return { ...planned, content: value.content, text: value.text };
}

function plan(
  stored: Delivery,
  destination: AttemptedDestination,
  policy: RetryPolicy,
  nowMs: number,
  gates: Gates,
  turn: SlotFor,
): Plan | Output | Wait {
  const configured = endpointsOf(stored, destination);
  if (stored.endpoint !== null && configured.length === 0) {
    const error = `the endpoint ${stored.endpoint} is not configured any more`;
    return { kind: "dead-letter", reason: "unknown-destination", error, delivery: stored };
  }
  const { rejected } = stored;
  const open =
    rejected.length === 0 ? configured : configured.filter(({ key }) => !rejected.includes(key));
  const hasWindow = stored.attempt > 0 || stored.endpoint !== null;
  const beganAtMs = hasWindow ? stored.firstAttemptAtMs : null;
  const endAtMs = beganAtMs === null ? Number.POSITIVE_INFINITY : beganAtMs + policy.retryWindowMs;
  if (nowMs > endAtMs) return expired(stored, policy, waitedFor(open, destination, gates, nowMs));
  const [first] = open;
  if (first === undefined) return allRejected(stored);
  if (holdCause(destination) !== null) {
    return { kind: "wait", endpoint: first.key, untilMs: endAtMs };
  }
  const isLast = nowMs > lastAfterMs(policy, endAtMs);
  const { notBeforeMs } = stored;
  if (notBeforeMs !== null && notBeforeMs > nowMs && !isLast) {
    const delayMs = delayUntil(policy, notBeforeMs - nowMs, nowMs, endAtMs);
    if (delayMs !== null) return scheduleRetry(stored, delayMs, notBeforeMs, nowMs);
  }
  const delivery = beganAtMs === null ? { ...stored, firstAttemptAtMs: nowMs } : stored;
  const attempt = (endpoints: readonly Endpoint[], otherwise: Output | null = null): Plan => {
    const held =
      endpoints.length === open.length ? NONE : open.filter((each) => !endpoints.includes(each));
    return { kind: "attempt", delivery, endpoints, held, untilMs: endAtMs, otherwise };
  };
  const isHeld = ({ key }: Endpoint) => gates.onHoldUntilMs(key) > nowMs;
  const isUnavailable = (each: Endpoint) => isHeld(each) || gates.openUntilMs(each.key) > nowMs;
  if (!open.some(isUnavailable)) return attempt(open);
  const there = open.filter((each) => !isUnavailable(each));
  if (there.length > 0) return attempt(there);
  const isShare = stored.endpoint !== null;
  const mayTry = turn === "retry" && (stored.attempt > 0 || !isShare);
  const tried = mayTry ? open.filter((each) => isLast || !isHeld(each)) : NONE;
  const share = delayOfShare(policy, stored.retryCount, nowMs, endAtMs);
  const postponed = scheduleRetry(stored, share, null, nowMs);
  if (tried.length > 0) return attempt(tried, isShare ? postponed : null);
  if (isShare || turn === "line") return postponed;
  const untilMs = lastAfterMs(policy, endAtMs);
  return { kind: "wait", endpoint: first.key, untilMs };
}

/** Why nothing of the destination is attempted, whatever its endpoints; null: it is. */
export function holdCause({ paused, enabled }: AttemptedDestination): "paused" | "disabled" | null {
  if (!enabled) return "disabled";
  return paused ? "paused" : null;
}

function waitedFor(
  endpoints: readonly Endpoint[],
  destination: AttemptedDestination,
  gates: Gates,
  nowMs: number,
): Waited {
  const still = holdCause(destination);
  if (still !== null) return still;
  if (endpoints.some(({ key }) => gates.onHoldUntilMs(key) > nowMs)) return "retry-after";
  return endpoints.some(({ key }) => gates.isFailing(key)) ? "circuit-open" : "late";
}

function endpointsOf(delivery: Delivery, destination: AttemptedDestination): readonly Endpoint[] {
  if (delivery.endpoint === null) return destination.endpoints;
  return destination.endpoints.filter(({ key }) => key === delivery.endpoint);
}
