/**
 * Tracks whether each endpoint of a destination is available. An endpoint is unavailable while its circuit is
 * open, and until its `Retry-After` time has passed.
 *
 *   the endpoints                                        the destination
 *   one is available                                     takes deliveries from its queue
 *   none is, but a request to one is in progress         waits for that request
 *   all are unavailable                                  is on hold until the first one is available
 *
 * A retry whose endpoints are unavailable is held in `queue.ts`.
 *
 *   an endpoint                                          other processes
 *   has its circuit opened, even by a failed probe       are informed; those whose requests are accepted reply
 *   accepts or rejects while its circuit is open         are informed
 *   accepts or rejects, and others have reported         are informed, once a second
 *   failures in the last minute
 *   sends Retry-After                                    are informed, once a second
 *
 *   another process reports that an endpoint             result
 *   accepts                                              an open circuit recovers, 2 requests at a time
 *   sent Retry-After                                     the endpoint is unavailable, as if this process had received it
 *   fails                                                none, because the cause may be in that process
 */

import type { Endpoint } from "../../domain/destination.ts";
import type { CircuitState, HoldReason } from "../../domain/destination-status.ts";
import type { EndpointKey } from "../../domain/ids.ts";
import type { EndpointNews } from "../control/operator-actions.ts";
import type { Outcome, Readiness } from "../destinations/port.ts";
import { CircuitBreaker, type Ticket, type Turn } from "./circuit-breaker.ts";
import type { HoldCause } from "./hold-cause.ts";
import type { Gates } from "./prepare.ts";

export type QueueState =
  | { readonly kind: "goes" }
  | { readonly kind: "waits" }
  | { readonly kind: "on-hold"; readonly untilMs: number };

const GOES: QueueState = { kind: "goes" };
const WAITS: QueueState = { kind: "waits" };

/** A hold of the destination. A probe in progress does not end it. */
export interface DestinationHold extends Omit<HoldCause, "reason"> {
  readonly reason: HoldReason;
  /** If the reason is a missing token, why there is no token. */
  readonly error?: string | null;
}

export interface GateState {
  readonly key: EndpointKey;
  readonly breaker: CircuitState;
  /** When the endpoint is available again; null if it is available now. */
  readonly unavailableUntilMs: number | null;
}

interface Unavailability extends DestinationHold {
  readonly untilMs: number;
}

export type News = Pick<EndpointNews, "news" | "forMs">;

/** After another process has reported failures, this process reports accepted requests for this long. */
const TROUBLED_FOR_MS = 60_000;
const TELL_EVERY_MS = 1_000;

interface Gate {
  readonly key: EndpointKey;
  /** When another process last reported that the endpoint was failing. */
  failsElsewhereAtMs: number;
  /** When this process last reported about the endpoint. */
  reportedAtMs: number;
  readonly breaker: CircuitBreaker;
  onHoldUntilMs: number;
  /**
   * The start of the current series of `Retry-After` responses. A response continues the series if the wait
   * that the previous response requested has not ended.
   */
  onHoldSinceMs: number;
}

export interface EndpointObserver {
  circuitChanged(endpoint: EndpointKey, state: CircuitState): void;
  /** Reports news about an endpoint to the other processes. */
  tell(endpoint: EndpointKey, news: News): void;
}

export class EndpointGates implements Gates {
  /** One per configured endpoint. Changed by `update`; the gates by `admit`, `settle` and `heard`. */
  #gates: readonly Gate[] = [];
  readonly #retryWindowMs: number;
  readonly #observer: EndpointObserver;
  readonly #readiness: Readiness | undefined;
  /** Higher than the marks of all earlier breakers. Raised by `update` when an endpoint is removed. */
  #mark = 0;

  constructor(
    endpoints: readonly EndpointKey[],
    options: { readonly concurrency: number; readonly retryWindowMs: number },
    observer: EndpointObserver,
    readiness?: Readiness,
  ) {
    this.#retryWindowMs = options.retryWindowMs;
    this.#observer = observer;
    this.#readiness = readiness;
    this.update(endpoints, options.concurrency);
  }

  /**
   * Replaces the endpoints. Endpoints that are in both lists keep their circuit breaker and their `Retry-After` time, and
   * new ones are available.
   */
  update(endpoints: readonly EndpointKey[], concurrency: number): void {
    for (const { key, breaker } of this.#gates) {
      if (!endpoints.includes(key)) this.#mark = Math.max(this.#mark, breaker.mark + 1);
    }
    this.#gates = endpoints.map((key) => {
      const gate = this.#find(key) ?? {
        key,
        breaker: new CircuitBreaker(concurrency, this.#mark),
        onHoldUntilMs: 0,
        onHoldSinceMs: 0,
        failsElsewhereAtMs: Number.NEGATIVE_INFINITY,
        reportedAtMs: Number.NEGATIVE_INFINITY,
      };
      gate.breaker.allow(concurrency);
      return gate;
    });
  }

  has(endpoint: EndpointKey): boolean {
    return this.#find(endpoint) !== undefined;
  }

  /** If something is missing, the sender is thereby asked to get it. */
  get missing(): Gates["missing"] {
    return this.#readiness === undefined || this.#readiness.isReady() ? null : "token";
  }

  onHoldUntilMs(endpoint: EndpointKey, nowMs: number): number {
    return this.#onHoldUntilMs(this.#find(endpoint), nowMs);
  }

  openUntilMs(endpoint: EndpointKey, nowMs: number): number {
    return this.#find(endpoint)?.breaker.unavailableUntilMs(nowMs) ?? 0;
  }

  isFailing(endpoint: EndpointKey): boolean {
    return (this.#find(endpoint)?.breaker.state ?? "closed") !== "closed";
  }

  /**
   * A number that changes when one of these endpoints becomes available or unavailable, or is unavailable for
   * a different reason.
   */
  availability(endpoints: readonly Endpoint[], nowMs: number): number {
    let bits = 0;
    for (const { key } of endpoints) {
      const gate = this.#find(key);
      const isOnHold = this.#onHoldUntilMs(gate, nowMs) > nowMs;
      const isOpen = (gate?.breaker.unavailableUntilMs(nowMs) ?? 0) > nowMs;
      bits = bits * 4 + (isOnHold ? 2 : 0) + (isOpen ? 1 : 0);
    }
    return bits;
  }

  queue(nowMs: number): QueueState {
    let held: QueueState | null = null;
    let untilMs = Number.POSITIVE_INFINITY;
    let mustWait = false;
    for (const gate of this.#gates) {
      const askedMs = this.#onHoldUntilMs(gate, nowMs);
      const openMs = gate.breaker.unavailableUntilMs(nowMs);
      const unavailableMs = Math.max(askedMs, openMs);
      if (unavailableMs <= nowMs) {
        if (!gate.breaker.mustWait()) return GOES;
        mustWait = true;
      } else if (unavailableMs < untilMs) {
        untilMs = unavailableMs;
        held = { kind: "on-hold", untilMs };
      }
    }
    return mustWait || held === null ? WAITS : held;
  }

  /** True if a circuit's open time has passed, so that the next request is the probe. */
  isProbeDue(nowMs: number): boolean {
    return this.#gates.some(
      ({ breaker }) => breaker.state === "open" && breaker.unavailableUntilMs(nowMs) === 0,
    );
  }

  /** True if a delivery has to wait for a request in progress. */
  mustWait(endpoint: EndpointKey): boolean {
    return this.#find(endpoint)?.breaker.mustWait() ?? false;
  }

  /** True if a delivery has to wait for requests in progress to all of these endpoints. */
  mustAllWait(endpoints: readonly Endpoint[]): boolean {
    return endpoints.every(({ key }) => this.mustWait(key));
  }

  /** True if a retry may be sent to the endpoint now, even as a probe of an open circuit. */
  mayRetry(endpoint: EndpointKey, nowMs: number): boolean {
    return !this.mustWait(endpoint) && this.onHoldUntilMs(endpoint, nowMs) <= nowMs;
  }

  /** Returns null if the endpoint is unavailable now. */
  admit(endpoint: EndpointKey, nowMs: number, turn: Turn): Ticket | null {
    const gate = this.#find(endpoint);
    if (gate === undefined) return null;
    const before = gate.breaker.state;
    const admission = gate.breaker.admit(nowMs, turn);
    const after = gate.breaker.state;
    if (after !== before) this.#observer.circuitChanged(endpoint, after);
    return admission.kind === "go" ? admission.ticket : null;
  }

  /** Call with the outcome of each admitted request. */
  settle(endpoint: EndpointKey, ticket: Ticket, outcome: Outcome, nowMs: number): void {
    const gate = this.#find(endpoint);
    if (gate === undefined) return;
    const isSuccess = outcome.kind !== "retry";
    const before = gate.breaker.state;
    const state = gate.breaker.settle(ticket, isSuccess, nowMs);
    if (state !== null) this.#observer.circuitChanged(endpoint, state);
    const forMs = isSuccess ? 0 : (outcome.retryAfterMs ?? 0);
    if (state === "open") this.#observer.tell(endpoint, { news: "fails", forMs: 0 });
    if (forMs > 0) {
      this.#hold(gate, forMs, nowMs);
      this.#tellNowAndThen(gate, { news: "asks", forMs }, nowMs);
    } else if (isSuccess) {
      const isBack = before === "open" || before === "half-open";
      if (isBack) gate.reportedAtMs = Number.NEGATIVE_INFINITY;
      if (isBack || isWithin(gate.failsElsewhereAtMs, TROUBLED_FOR_MS, nowMs))
        this.#tellNowAndThen(gate, { news: "accepts", forMs: 0 }, nowMs);
    }
  }

  /** Applies a report about an endpoint from another process. */
  heard(endpoint: EndpointKey, { news, forMs }: News, nowMs: number): void {
    const gate = this.#find(endpoint);
    if (gate === undefined) return;
    if (news === "fails") gate.failsElsewhereAtMs = nowMs;
    else if (news === "asks") this.#hold(gate, forMs, nowMs);
    else {
      const state = gate.breaker.heardAccepted(nowMs);
      if (state !== null) this.#observer.circuitChanged(endpoint, state);
    }
  }

  #hold(gate: Gate, forMs: number, nowMs: number): void {
    if (this.#onHoldUntilMs(gate, nowMs) <= nowMs) gate.onHoldSinceMs = nowMs;
    gate.onHoldUntilMs = Math.max(gate.onHoldUntilMs, nowMs + Math.min(forMs, this.#retryWindowMs));
  }

  #tellNowAndThen(gate: Gate, news: News, nowMs: number): void {
    if (isWithin(gate.reportedAtMs, TELL_EVERY_MS, nowMs)) return;
    gate.reportedAtMs = nowMs;
    this.#observer.tell(gate.key, news);
  }

  /**
   * The hold while all endpoints are unavailable. Its reason is the reason of the endpoint that will be available
   * first.
   */
  hold(nowMs: number): DestinationHold | null {
    let first: Unavailability | null = null;
    let sinceMs = Number.NEGATIVE_INFINITY;
    for (const gate of this.#gates) {
      const unavailable = this.#unavailability(gate, nowMs);
      if (unavailable === null) return null;
      // The hold started when the last endpoint became unavailable.
      sinceMs = Math.max(sinceMs, unavailable.sinceMs);
      if (first === null || unavailable.untilMs < first.untilMs) first = unavailable;
    }
    return first === null ? null : { ...first, sinceMs };
  }

  states(nowMs: number): readonly GateState[] {
    return this.#gates.map((gate) => ({
      key: gate.key,
      breaker: gate.breaker.state,
      unavailableUntilMs: this.#unavailability(gate, nowMs)?.untilMs ?? null,
    }));
  }

  #unavailability(gate: Gate, nowMs: number): Unavailability | null {
    const askedMs = this.#onHoldUntilMs(gate, nowMs);
    const openSinceMs = gate.breaker.openSinceMs(nowMs);
    const openMs = gate.breaker.unavailableUntilMs(nowMs) || nowMs;
    const asked: Unavailability = {
      reason: "retry-after",
      sinceMs: gate.onHoldSinceMs,
      untilMs: askedMs,
    };
    if (openSinceMs === null) return askedMs > nowMs ? asked : null;
    if (askedMs > openMs) return { ...asked, sinceMs: Math.min(openSinceMs, asked.sinceMs) };
    const sinceMs = askedMs > nowMs ? Math.min(openSinceMs, asked.sinceMs) : openSinceMs;
    return { reason: "circuit-open", sinceMs, untilMs: openMs };
  }

  #onHoldUntilMs(gate: Gate | undefined, nowMs: number): number {
    const untilMs = gate?.onHoldUntilMs ?? 0;
    // No hold lasts longer than this, so the clock must have been set back.
    return untilMs - nowMs > this.#retryWindowMs ? 0 : untilMs;
  }

  /** A linear search, because there are at most five endpoints. */
  #find(endpoint: EndpointKey): Gate | undefined {
    for (const gate of this.#gates) if (gate.key === endpoint) return gate;
    return undefined;
  }
}

/** Returns false if the clock was set back. */
function isWithin(sinceMs: number, forMs: number, nowMs: number): boolean {
  return nowMs >= sinceMs && nowMs - sinceMs < forMs;
}
