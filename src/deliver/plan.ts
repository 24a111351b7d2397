/**
 * Decides what to do with a delivery when its turn has come, before any request (SPEC 8.5, 8.6).
 * The first row that fits decides.
 *
 *   state                                                   plan
 *   its own endpoint is gone from the configuration         dead letter, unknown-destination
 *   the window has ended                                    dead letter, expired
 *   the destination is disabled                             park by its tier, or one that ends in
 *                                                           the window, or the shortest
 *   every endpoint has rejected it                          dead letter, rejected
 *   no tier ends in the window any more                     attempt at all, the last one
 *   not-before is in the future, or every endpoint is away  park
 *   some endpoints are away                                 attempt at the others
 *   anything else                                           attempt at all
 *
 * Endpoints are those that did not reject it; one that is gone from the configuration is forgotten.
 * An endpoint is away while it asks by `Retry-After` to be left alone, or while its breaker is open,
 * unless the delivery was kept away by breakers often enough (`breaker.ts`). The last attempt that
 * fits the window is made nevertheless.
 */

import type { DeadLetterReason } from "../domain/dead-letter.ts";
import type { Delivery } from "../domain/delivery.ts";
import type { Endpoint, WebhookDestination } from "../domain/destination.ts";
import type { EndpointKey } from "../domain/ids.ts";
import { isKeptAwayLongEnough, type Urgency } from "./breaker.ts";
import {
  delayWithin,
  delayWithoutAttempt,
  lastAfterMs,
  type RetryPolicy,
  tierDelay,
} from "./park.ts";

/** A record to write in place of the one in hand. */
export type Output =
  | { readonly kind: "park"; readonly delayMs: number; readonly delivery: Delivery }
  | {
      readonly kind: "dead-letter";
      readonly reason: DeadLetterReason;
      /** One sentence. */
      readonly error: string;
      readonly delivery: Delivery;
    };

export type Plan =
  /** `delivery` has its first-attempt-at. */
  | {
      readonly kind: "attempt";
      /** To request now; at least one. */
      readonly endpoints: readonly Endpoint[];
      /** To leave alone for now. */
      readonly held: readonly Endpoint[];
      readonly urgency: Urgency;
      /** Its urgency is `last` from then on. */
      readonly lastAfterMs: number;
      readonly delivery: Delivery;
    }
  | Output;

/** Until when an endpoint is to be left alone; 0 when it need not be. */
export type AwayUntil = (endpoint: EndpointKey) => number;

export interface Gates {
  /** Asked for by `Retry-After`. */
  readonly heldUntilMs: AwayUntil;
  /** While the breaker is open. */
  readonly openUntilMs: AwayUntil;
}

export function plan(
  stored: Delivery,
  destination: WebhookDestination,
  policy: RetryPolicy,
  nowMs: number,
  gates: Gates,
): Plan {
  const delivery =
    stored.firstAttemptAtMs === null ? { ...stored, firstAttemptAtMs: nowMs } : stored;
  const endAtMs = (stored.firstAttemptAtMs ?? nowMs) + policy.windowMs;
  const configured = endpointsOf(delivery, destination);
  if (delivery.endpoint !== null && configured.length === 0) {
    const error = `the endpoint ${delivery.endpoint} is not configured any more`;
    return { kind: "dead-letter", reason: "unknown-destination", error, delivery };
  }
  if (nowMs > endAtMs) return expired(delivery, policy);
  if (!destination.enabled) {
    const delayMs = delayWithin(policy, tierDelay(policy, delivery.parked), nowMs, endAtMs);
    return parked(delivery, delayMs, delivery.notBeforeMs, nowMs);
  }
  const { rejected } = delivery;
  const open =
    rejected.length === 0 ? configured : configured.filter(({ key }) => !rejected.includes(key));
  if (open.length === 0) return allRejected(delivery);
  const lastMs = lastAfterMs(policy, endAtMs);
  const attempt = (endpoints: readonly Endpoint[], held: readonly Endpoint[], urgency: Urgency) =>
    ({ kind: "attempt", delivery, endpoints, held, urgency, lastAfterMs: lastMs }) as const;
  if (nowMs > lastMs) return attempt(open, [], "last");
  const ageShare = 1 - (endAtMs - nowMs) / policy.windowMs;
  const isPressing = isKeptAwayLongEnough(delivery.parked, delivery.attempt, ageShare);
  const urgency = isPressing ? "kept-away" : "no";
  const notBeforeMs = delivery.notBeforeMs ?? 0;
  const openUntilMs = ({ key }: Endpoint) => (isPressing ? 0 : gates.openUntilMs(key));
  const heldUntilMs = ({ key }: Endpoint) => Math.max(notBeforeMs, gates.heldUntilMs(key));
  const awayUntilMs = (endpoint: Endpoint) =>
    Math.max(heldUntilMs(endpoint), openUntilMs(endpoint));
  const isAway = (endpoint: Endpoint) => awayUntilMs(endpoint) > nowMs;
  if (!open.some(isAway)) return attempt(open, [], urgency);
  const endpoints = open.filter((endpoint) => !isAway(endpoint));
  if (endpoints.length > 0) return attempt(endpoints, open.filter(isAway), urgency);
  const askedMs = Math.min(...open.map(awayUntilMs)) - nowMs;
  // A breaker asks for no time in particular: the tiers space what it keeps away.
  const isBreaker = open.some((endpoint) => openUntilMs(endpoint) > nowMs);
  const waitMs = isBreaker ? Math.max(askedMs, tierDelay(policy, delivery.parked)) : askedMs;
  const delayMs = delayWithoutAttempt(policy, waitMs, nowMs, endAtMs);
  if (delayMs === null) return attempt(open, [], "last");
  return parked(delivery, delayMs, Math.min(...open.map(heldUntilMs)), nowMs);
}

function endpointsOf(delivery: Delivery, destination: WebhookDestination): readonly Endpoint[] {
  if (delivery.endpoint === null) return destination.endpoints;
  return destination.endpoints.filter(({ key }) => key === delivery.endpoint);
}

/** The output that parks a delivery as it is; `notBeforeMs` is kept only where it lies beyond. */
export function parked(
  delivery: Delivery,
  delayMs: number,
  notBeforeMs: number | null,
  nowMs: number,
): Output {
  const dueAtMs = nowMs + delayMs;
  const later = notBeforeMs !== null && notBeforeMs > dueAtMs ? notBeforeMs : null;
  return {
    kind: "park",
    delayMs,
    delivery: { ...delivery, parked: delivery.parked + 1, dueAtMs, notBeforeMs: later },
  };
}

export function expired(delivery: Delivery, { windowMs }: RetryPolicy): Output {
  const last = delivery.lastOutcome === null ? "" : `; the last attempt: ${delivery.lastOutcome}`;
  return {
    kind: "dead-letter",
    reason: "expired",
    error: `not accepted within ${windowMs / 1_000} s, attempts made: ${delivery.attempt}${last}`,
    delivery,
  };
}

export function allRejected(delivery: Delivery): Output {
  return {
    kind: "dead-letter",
    reason: "rejected",
    error: `every endpoint rejected it; the last attempt: ${delivery.lastOutcome ?? "none"}`,
    delivery,
  };
}
