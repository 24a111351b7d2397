/**
 * Decides what to do with a record from a destination's topics when its turn comes, before any request is sent.
 * The stage carries out the decision, and `explain` shows it. The first row that applies decides.
 *
 *   state                                                decision
 *   a required delivery header is missing or invalid     unreadable: dead letter, invalid-call
 *   its user is suppressed, unless it has to wait        suppressed: nothing is written, no request is sent
 *   its only endpoint was removed, or all that have not  dead letter, unknown-destination
 *   accepted it
 *   its retry window has ended                           dead letter, expired
 *   every endpoint has rejected it                       dead letter, rejected
 *   the destination is paused or disabled, a token for   wait
 *   its requests is missing, its proxy fails, or its
 *   endpoints are gone
 *   every endpoint has rejected it, or is gone           dead letter, rejected
 *   its not-before is in the future, and a retry delay   schedule a retry after that delay
 *   ends within the window
 *   all endpoints are available                          attempt at all of them
 *   some endpoints are unavailable or gone               attempt at the others
 *   all endpoints are unavailable:
 *     some circuits are open, and it is a retry          attempt at these endpoints, as their probe
 *     ... and it is for one endpoint only                the same; if a probe is in progress, schedule a retry
 *     it is for one endpoint only, or from the queue     schedule a retry after at most 2 minutes
 *     the endpoints sent Retry-After                     wait for the first one that is available, at most until no
 *                                                        retry delay would end within the window; then attempt,
 *                                                        because this is the last chance
 *
 *   an attempt, and the value                            decision
 *   is neither a call nor a delete notification          dead letter, with the reason from decoding
 *   is valid                                             attempt, with the requests to send
 *
 * A delivery that has to wait is prepared again before its attempt, so it is sent if its user is lifted until then. A
 * delete notification has no user in this sense: it is always sent.
 *
 * Only configured endpoints that have not rejected or accepted the delivery count. If the destination had `any` when an
 * endpoint rejected it, and has `every` and a loose order now, that endpoint counts too, because it must get the call or
 * a dead letter of its own. Which endpoint is the only one of a delivery, or has accepted it, is decided again each time
 * (`domain/endpoint-name.ts`), and the records that follow name it as it is configured then. A delivery that some
 * endpoints have accepted is treated like one for a single endpoint while the others are unavailable. An endpoint is unavailable while its Retry-After time lasts, its circuit
 * is open or the proxy in front of it fails, and gone after it responded 410. While all endpoints are unavailable, the
 * destination is on hold (`endpoint-availability.ts`), so only two kinds of deliveries are prepared: those for a single
 * endpoint, and those that were attempted before.
 *
 * The retry window starts with the first attempt. A delivery for one endpoint of `deliver: every` keeps the window of
 * the attempt that created it, so that it expires if the endpoint never recovers.
 */

import type { RecordValue } from "../../domain/decode.ts";
import { type Delivery, readDelivery } from "../../domain/delivery.ts";
import type { AttemptedDestination, Endpoint } from "../../domain/destination.ts";
import { endpointFor, OTHERS_REMOVED, refTo, removedText } from "../../domain/endpoint-name.ts";
import type { DestinationId, EndpointKey } from "../../domain/ids.ts";
import type { RecordContent } from "../../domain/record.ts";
import type { Sendable, SenderHold } from "../destinations/port.ts";
import { isSuppressed, parseContent } from "../stage/content.ts";
import type { KnownSuppressions } from "../suppression/known-suppressions.ts";
import { delayOfShare, delayUntil, lastAfterMs, type RetryPolicy } from "./choose-retry-delay.ts";
import type { Turn } from "./circuit-breaker.ts";
import {
  allRejected,
  deliverOf,
  type EndpointResult,
  expired,
  noneLeft,
  type Output,
  scheduleRetry,
  skipped,
  skippedAsGone,
  type Waited,
} from "./decide.ts";
import { holdCause } from "./hold-cause.ts";

/** A plan for an attempt. `delivery` includes the time of its first attempt. */
interface Plan {
  readonly kind: "attempt";
  /** Endpoints to request now; at least one. */
  readonly endpoints: readonly Endpoint[];
  /** The results for endpoints that are skipped, because they are unavailable or gone. */
  readonly results: readonly EndpointResult[];
  readonly delivery: Delivery;
  /** The latest time until which the delivery waits for another request to complete. */
  readonly untilMs: number;
  /** The output to use instead of waiting for another request; null if the delivery has to wait. */
  readonly otherwise: Output | null;
}

/** The retry stays in memory until one of the endpoints is available. */
export interface Wait {
  readonly kind: "wait";
  readonly endpoints: readonly EndpointKey[];
  /** The time at which the delivery is prepared again, even if the endpoints are still unavailable. */
  readonly untilMs: number;
}

/** An attempt that can be sent; it may be for one endpoint only. */
export interface PreparedAttempt extends Plan, Sendable {}

export type Prepared =
  | PreparedAttempt
  | Output
  | Wait
  /** The delivery is processed without an attempt. */
  | { readonly kind: "suppressed"; readonly delivery: Delivery }
  /** The record is not a valid delivery: it becomes a dead letter with its headers unchanged. */
  | { readonly kind: "unreadable"; readonly error: string };

/** The availability of endpoints. An endpoint is available if both times are in the past. */
export interface Gates {
  /** The time until which the endpoint is unavailable because it sent `Retry-After`. */
  onHoldUntilMs(endpoint: EndpointKey, nowMs: number): number;
  /** The time until which the endpoint is unavailable because its circuit is open. */
  openUntilMs(endpoint: EndpointKey, nowMs: number): number;
  /** True if the circuit is open, half-open or recovering. */
  isFailing(endpoint: EndpointKey): boolean;
  /** Why no request to the endpoint may start, even if it would be a retry; null if one may start. */
  stopOf(endpoint: EndpointKey, nowMs: number): Stop["reason"] | null;
  /** Why no request to any endpoint may start; null if one may start. */
  stopped(nowMs: number): Stop | null;
}

/**
 * The reason for which no request may start: a token is missing, the proxy fails, or the endpoint is gone.
 */
export interface Stop {
  readonly reason: SenderHold["reason"] | "proxy" | "gone";
  /** When a request may start if nothing else happens; infinite if something has to happen first. */
  readonly untilMs: number;
}

/** The gates when all endpoints are available. */
export const OPEN_GATES: Gates = {
  onHoldUntilMs: () => 0,
  openUntilMs: () => 0,
  isFailing: () => false,
  stopOf: () => null,
  stopped: () => null,
};

const NO_RESULTS: readonly EndpointResult[] = [];

/** @param suppressions null if nobody is suppressed. */
export function prepare(
  record: RecordContent & RecordValue,
  destination: AttemptedDestination,
  policy: RetryPolicy,
  nowMs: number,
  gates: Gates,
  turn: Turn,
  suppressions: KnownSuppressions | null = null,
): Prepared {
  const parsed = readDelivery(record);
  if (parsed.kind === "invalid") return { kind: "unreadable", error: parsed.error };
  const delivery = sanitizeHeaders(parsed.delivery, destination.id, policy.retryWindowMs, nowMs);
  const planned = plan(delivery, destination, policy, nowMs, gates, turn);
  if (planned.kind === "wait") return planned;
  const hasSuppressed = suppressions !== null && suppressions.size > 0;
  if (planned.kind !== "attempt" && !hasSuppressed) return planned;
  const value = parseContent(record);
  if (hasSuppressed && isSuppressed(delivery, value, suppressions)) {
    return { kind: "suppressed", delivery };
  }
  if (planned.kind !== "attempt") return planned;
  if (value.kind === "refused") {
    const { reason, error } = value;
    return { kind: "dead-letter", reason, error, delivery: planned.delivery };
  }
  return { ...planned, content: value.content, text: value.text };
}

function plan(
  read: Delivery,
  destination: AttemptedDestination,
  policy: RetryPolicy,
  nowMs: number,
  gates: Gates,
  turn: Turn,
): Plan | Output | Wait {
  const only = read.endpoint === null ? null : endpointFor(read.endpoint, destination.endpoints);
  if (only === undefined) {
    const error = removedText(read.endpoint, destination.id);
    return { kind: "dead-letter", reason: "unknown-destination", error, delivery: read };
  }
  const stored = currently(read, only, destination);
  const configured = only === null ? destination.endpoints : [only];
  const { rejected, accepted } = stored;
  const isOpen = (each: Endpoint) =>
    !rejected.includes(each.key) && !accepted.includes(refTo(each, destination.endpoints));
  const isNew = rejected.length + accepted.length === 0;
  const open = isNew ? configured : configured.filter(isOpen);
  const hasWindow = stored.attempt > 0 || stored.endpoint !== null;
  const beganAtMs = hasWindow ? stored.firstAttemptAtMs : null;
  const endAtMs = beganAtMs === null ? Number.POSITIVE_INFINITY : beganAtMs + policy.retryWindowMs;
  if (nowMs > endAtMs) return expired(stored, policy, waitedFor(open, destination, gates, nowMs));
  const [first] = open;
  if (first === undefined && rejected.length === 0) return othersRemoved(stored);
  if (first === undefined) return allRejected(stored);
  if (holdCause(destination) !== null || gates.stopped(nowMs) !== null) {
    return waitFor(open, endAtMs);
  }
  if (open.every(({ key }) => gates.stopOf(key, nowMs) === "gone")) return noneLeft(stored);
  const isLast = nowMs > lastAfterMs(policy, endAtMs);
  const { notBeforeMs } = stored;
  if (notBeforeMs !== null && notBeforeMs > nowMs && !isLast) {
    const delayMs = delayUntil(policy, notBeforeMs - nowMs, nowMs, endAtMs);
    if (delayMs !== null) return scheduleRetry(stored, delayMs, notBeforeMs, nowMs);
  }
  const delivery = beganAtMs === null ? { ...stored, firstAttemptAtMs: nowMs } : stored;
  const whole: Plan = {
    kind: "attempt",
    delivery,
    endpoints: open,
    results: NO_RESULTS,
    untilMs: endAtMs,
    otherwise: null,
  };
  for (const endpoint of open) {
    if (isUnavailable(endpoint, gates, nowMs))
      return planWithout(stored, whole, policy, nowMs, gates, turn);
  }
  return whole;
}

function isUnavailable({ key }: Endpoint, gates: Gates, nowMs: number): boolean {
  if (gates.stopOf(key, nowMs) !== null) return true;
  return gates.onHoldUntilMs(key, nowMs) > nowMs || gates.openUntilMs(key, nowMs) > nowMs;
}

/** The plan if some of the endpoints are unavailable or gone. @param whole the attempt at all of them. */
function planWithout(
  stored: Delivery,
  whole: Plan,
  policy: RetryPolicy,
  nowMs: number,
  gates: Gates,
  turn: Turn,
): Plan | Output | Wait {
  const { untilMs: endAtMs } = whole;
  const isGone = ({ key }: Endpoint) => gates.stopOf(key, nowMs) === "gone";
  const open = whole.endpoints.filter((each) => !isGone(each));
  const attempt = (endpoints: readonly Endpoint[], otherwise: Output | null = null): Plan => {
    const others = whole.endpoints.filter((each) => !endpoints.includes(each));
    const results = others.map((each) => (isGone(each) ? skippedAsGone(each) : skipped(each)));
    return { ...whole, endpoints, results, otherwise };
  };
  const there = open.filter((each) => !isUnavailable(each, gates, nowMs));
  if (there.length > 0) return attempt(there);
  const lastMs = lastAfterMs(policy, endAtMs);
  const isShare = stored.endpoint !== null || stored.accepted.length > 0;
  const mayTry = turn === "retry" && (stored.attempt > 0 || !isShare);
  const isTried = ({ key }: Endpoint) =>
    gates.stopOf(key, nowMs) === null &&
    (nowMs > lastMs || gates.onHoldUntilMs(key, nowMs) <= nowMs);
  const tried = mayTry ? open.filter(isTried) : [];
  const share = delayOfShare(policy, stored.retryCount, nowMs, endAtMs);
  const postponed = scheduleRetry(stored, share, null, nowMs);
  if (tried.length > 0) return attempt(tried, isShare ? postponed : null);
  if (isShare || turn === "queue") return postponed;
  const isReached = open.some(({ key }) => gates.stopOf(key, nowMs) === null);
  return waitFor(open, isReached ? lastMs : endAtMs);
}

function waitFor(endpoints: readonly Endpoint[], untilMs: number): Wait {
  return { kind: "wait", endpoints: endpoints.map(({ key }) => key), untilMs };
}

function othersRemoved(delivery: Delivery): Output {
  return {
    kind: "dead-letter",
    reason: "unknown-destination",
    error: OTHERS_REMOVED,
    delivery,
  };
}

function waitedFor(
  endpoints: readonly Endpoint[],
  destination: AttemptedDestination,
  gates: Gates,
  nowMs: number,
): Waited {
  const still = holdCause(destination) ?? gates.stopped(nowMs)?.reason ?? null;
  if (still !== null) return still;
  if (endpoints.some(({ key }) => gates.onHoldUntilMs(key, nowMs) > nowMs)) return "retry-after";
  if (endpoints.some(({ key }) => gates.isFailing(key))) return "circuit-open";
  return endpoints.some(({ key }) => gates.stopOf(key, nowMs) === "proxy") ? "proxy" : "late";
}

/** The delivery in terms of the current configuration. @param only the only endpoint to request; null if there is none. */
function currently(
  delivery: Delivery,
  only: Endpoint | null,
  destination: AttemptedDestination,
): Delivery {
  if (only !== null) {
    const endpoint = refTo(only, destination.endpoints);
    return endpoint === delivery.endpoint ? delivery : { ...delivery, endpoint };
  }
  const forgets = deliverOf(destination) === "every" && delivery.rejected.length > 0;
  if (!forgets && delivery.accepted.length === 0) return delivery;
  const { endpoints } = destination;
  const known = delivery.accepted.flatMap((each) => endpointFor(each, endpoints) ?? []);
  const accepted = known.map((each) => refTo(each, endpoints));
  return { ...delivery, accepted, rejected: forgets ? [] : delivery.rejected };
}

/**
 * Replaces implausible header values of a delivery. Anyone who can write to a destination's topics can put
 * any value in the headers, and such values must not affect other destinations.
 *
 *   header                                        counts as
 *   a destination other than the topic's          the topic's
 *   a first attempt in the future                 now
 *   a not-before later than the retry window      the end of a window that starts now
 *
 * Other fields are bounded where they are parsed (`domain/delivery.ts`). Stages write the sanitized values to the
 * records that follow, so no later stage sees the original values.
 *
 * @param topicOf the destination whose topic contains the record.
 */
export function sanitizeHeaders(
  delivery: Delivery,
  topicOf: DestinationId,
  retryWindowMs: number,
  nowMs: number,
): Delivery {
  const firstAttemptAtMs = atMost(delivery.firstAttemptAtMs, nowMs);
  const notBeforeMs = atMost(delivery.notBeforeMs, nowMs + retryWindowMs);
  const isBelieved =
    delivery.destination === topicOf &&
    firstAttemptAtMs === delivery.firstAttemptAtMs &&
    notBeforeMs === delivery.notBeforeMs;
  if (isBelieved) return delivery;
  return { ...delivery, destination: topicOf, firstAttemptAtMs, notBeforeMs };
}

function atMost(instantMs: number | null, limitMs: number): number | null {
  return instantMs === null ? null : Math.min(instantMs, limitMs);
}
