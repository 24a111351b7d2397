/**
 * Tracks whether each endpoint of a destination is available (`endpoint-gate.ts`), and what processes report about it.
 *
 *   the endpoints                                        the destination
 *   one is available                                     takes deliveries from its queue
 *   none is, but a request to one is in progress         waits for that request
 *   all are unavailable                                  is on hold until the first one is available
 *   the proxy in front of all of them fails              is on hold until a probe gets through (`proxy-gate.ts`)
 *   all are gone                                         is on hold until it is resumed, or gets another endpoint
 *
 * A retry whose endpoints are unavailable is held in `queue.ts`.
 *
 *   an endpoint                                          other processes
 *   has its circuit opened, even by a failed probe       are informed; those whose requests are accepted reply
 *   accepts or rejects while its circuit is open         are informed
 *   accepts or rejects, and others have reported         are informed, once a second
 *   failures in the last minute
 *   sends Retry-After                                    are informed, once a second
 *   has a proxy that fails, or works again               are informed
 *   responds 410                                         are informed by a record that stays in the topic
 *
 *   another process reports that an endpoint             result
 *   accepts                                              an open circuit recovers, 2 requests at a time
 *   sent Retry-After                                     the endpoint is unavailable, as if this process had received it
 *   fails                                                none, because the cause may be in that process
 *   has a proxy that fails, or works again               `proxy-gate.ts`
 *   is gone                                              it gets no requests, also after a restart
 */

import type { Endpoint } from "../../domain/destination.ts";
import type { CircuitState } from "../../domain/destination-status.ts";
import type { EndpointKey } from "../../domain/ids.ts";
import type { EndpointNews } from "../control/operator-actions.ts";
import type { NotSent, Outcome, Readiness } from "../destinations/port.ts";
import { CircuitBreaker, type Ticket, type Turn } from "./circuit-breaker.ts";
import { type DestinationHold, EndpointGate, isWithin } from "./endpoint-gate.ts";
import type { Gates, Stop } from "./prepare.ts";

export type QueueState =
  | { readonly kind: "goes" }
  | { readonly kind: "waits" }
  | { readonly kind: "on-hold"; readonly untilMs: number };

const GOES: QueueState = { kind: "goes" };
const WAITS: QueueState = { kind: "waits" };

export interface GateState {
  readonly key: EndpointKey;
  readonly breaker: CircuitState;
  /** Null if the endpoint is available. */
  readonly unavailable: DestinationHold | null;
}

export type News = Pick<EndpointNews, "news" | "forMs">;

/** After another process has reported failures, this process reports accepted requests for this long. */
const TROUBLED_FOR_MS = 60_000;
const TELL_EVERY_MS = 1_000;
const NOTHING_GONE: ReadonlyMap<EndpointKey, number> = new Map();

export interface EndpointObserver {
  circuitChanged(endpoint: EndpointKey, state: CircuitState): void;
  /** Reports news about an endpoint to the other processes. */
  tell(endpoint: EndpointKey, news: News): void;
  /** The endpoint responded 410. */
  gone(endpoint: EndpointKey, nowMs: number): void;
  /** @param error why the proxy in front of the endpoint fails; null if it works again. */
  proxyChanged(endpoint: EndpointKey, error: string | null): void;
}

export class EndpointGates implements Gates {
  /** One per configured endpoint. Changed by `update`; the gates by `admit`, `settle` and `heard`. */
  #gates: readonly EndpointGate[] = [];
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
   *
   * @param gone the endpoints that are gone according to the topic of operator actions, with the time since when.
   */
  update(endpoints: readonly EndpointKey[], concurrency: number, gone = NOTHING_GONE): void {
    for (const { key, breaker } of this.#gates) {
      if (!endpoints.includes(key)) this.#mark = Math.max(this.#mark, breaker.mark + 1);
    }
    this.#gates = endpoints.map((key) => {
      const gate =
        this.#find(key) ??
        new EndpointGate(key, new CircuitBreaker(concurrency, this.#mark), this.#retryWindowMs);
      gate.breaker.allow(concurrency);
      gate.setGone(gone.get(key) ?? null);
      return gate;
    });
  }

  /** Proxies that fail are probed now. */
  probeProxies(nowMs: number): void {
    for (const { proxy } of this.#gates) proxy.probeNow(nowMs);
  }

  has(endpoint: EndpointKey): boolean {
    return this.#find(endpoint) !== undefined;
  }

  /** If something is missing, the sender is thereby asked to get it. */
  stopped(nowMs: number): Stop | null {
    let reason: Stop["reason"] = "gone";
    let untilMs = Number.POSITIVE_INFINITY;
    for (const gate of this.#gates) {
      const stop = gate.stopped(nowMs);
      if (stop === null) {
        const isReady = this.#readiness?.isReady() ?? true;
        return isReady ? null : { reason: "token", untilMs: Number.POSITIVE_INFINITY };
      }
      if (stop.reason === "proxy") reason = "proxy";
      untilMs = Math.min(untilMs, stop.untilMs);
    }
    return { reason, untilMs };
  }

  stopOf(endpoint: EndpointKey, nowMs: number): Stop["reason"] | null {
    return this.#find(endpoint)?.stopped(nowMs)?.reason ?? null;
  }

  onHoldUntilMs(endpoint: EndpointKey, nowMs: number): number {
    return this.#find(endpoint)?.askedUntilMs(nowMs) ?? 0;
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
      const isOnHold = this.onHoldUntilMs(key, nowMs) > nowMs;
      const isOpen = this.openUntilMs(key, nowMs) > nowMs;
      const stop = this.stopOf(key, nowMs);
      const stopBits = stop === null ? 0 : stop === "gone" ? 4 : 8;
      bits = bits * 16 + stopBits + (isOnHold ? 2 : 0) + (isOpen ? 1 : 0);
    }
    return bits;
  }

  queue(nowMs: number): QueueState {
    let held: QueueState | null = null;
    let untilMs = Number.POSITIVE_INFINITY;
    let mustWait = false;
    for (const gate of this.#gates) {
      const unavailableMs = gate.unavailableUntilMs(nowMs);
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
    return this.#gates.some((gate) => {
      const isDue = gate.breaker.state === "open" && gate.breaker.unavailableUntilMs(nowMs) === 0;
      return isDue && gate.stopped(nowMs) === null;
    });
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
    if (this.mustWait(endpoint) || this.stopOf(endpoint, nowMs) === "proxy") return false;
    return this.onHoldUntilMs(endpoint, nowMs) <= nowMs;
  }

  /** Returns null if the endpoint is unavailable or gone now. Call `settle` or `notSent` with the result. */
  admit(endpoint: EndpointKey, nowMs: number, turn: Turn): Ticket | null {
    const gate = this.#find(endpoint);
    if (gate === undefined || gate.stopped(nowMs) !== null) return null;
    const before = gate.breaker.state;
    const admission = gate.breaker.admit(nowMs, turn);
    const after = gate.breaker.state;
    if (after !== before) this.#observer.circuitChanged(endpoint, after);
    if (admission.kind !== "go") return null;
    const forMs = gate.proxy.start(nowMs);
    if (forMs !== null) this.#observer.tell(endpoint, { news: "proxy-fails", forMs });
    return admission.ticket;
  }

  /** Call instead of `settle` for an admitted request that was not sent. */
  notSent(endpoint: EndpointKey, ticket: Ticket, { proxy, error }: NotSent, nowMs: number): void {
    const gate = this.#find(endpoint);
    if (gate === undefined) return;
    const state = gate.breaker.withdraw(ticket);
    if (state !== null) this.#observer.circuitChanged(endpoint, state);
    if (proxy === null) {
      gate.proxy.ended();
      return;
    }
    const before = gate.proxy.failure(nowMs);
    const forMs = gate.proxy.failed({ proxy, error }, nowMs);
    if (forMs === null) return;
    if (before?.error !== error) this.#observer.proxyChanged(endpoint, error);
    this.#observer.tell(endpoint, { news: "proxy-fails", forMs });
  }

  /** Call with the outcome of each admitted request that was sent. */
  settle(endpoint: EndpointKey, ticket: Ticket, outcome: Outcome, nowMs: number): void {
    const gate = this.#find(endpoint);
    if (gate === undefined) return;
    if (gate.proxy.passed()) {
      this.#observer.proxyChanged(endpoint, null);
      this.#observer.tell(endpoint, { news: "proxy-works", forMs: 0 });
      this.probeProxies(nowMs);
    }
    const isSuccess = outcome.kind !== "retry";
    if (outcome.kind === "rejected" && outcome.isGone === true && gate.respondedGone(nowMs))
      this.#observer.gone(endpoint, nowMs);
    const before = gate.breaker.state;
    const state = gate.breaker.settle(ticket, isSuccess, nowMs);
    if (state !== null) this.#observer.circuitChanged(endpoint, state);
    const forMs = isSuccess ? 0 : (outcome.retryAfterMs ?? 0);
    if (state === "open") this.#observer.tell(endpoint, { news: "fails", forMs: 0 });
    if (forMs > 0) {
      gate.ask(forMs, nowMs);
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
    else if (news === "asks") gate.ask(forMs, nowMs);
    else if (news === "proxy-fails") gate.proxy.heardFailure(forMs, nowMs);
    else if (news === "proxy-works") {
      if (gate.proxy.heardSuccess()) this.#observer.proxyChanged(endpoint, null);
    } else {
      const state = gate.breaker.heardAccepted(nowMs);
      if (state !== null) this.#observer.circuitChanged(endpoint, state);
    }
  }

  #tellNowAndThen(gate: EndpointGate, news: News, nowMs: number): void {
    if (isWithin(gate.reportedAtMs, TELL_EVERY_MS, nowMs)) return;
    gate.reportedAtMs = nowMs;
    this.#observer.tell(gate.key, news);
  }

  /**
   * The hold while all endpoints are unavailable or gone. Its reason is the reason of the endpoint that will be available
   * first.
   */
  hold(nowMs: number): DestinationHold | null {
    let first: DestinationHold | null = null;
    let sinceMs = Number.NEGATIVE_INFINITY;
    for (const gate of this.#gates) {
      const unavailable = gate.unavailability(nowMs);
      if (unavailable === null) return null;
      // The hold started when the last endpoint became unavailable.
      sinceMs = Math.max(sinceMs, unavailable.sinceMs);
      if (first === null || endOf(unavailable) < endOf(first)) first = unavailable;
    }
    return first === null ? null : { ...first, sinceMs };
  }

  states(nowMs: number): readonly GateState[] {
    return this.#gates.map((gate) => ({
      key: gate.key,
      breaker: gate.breaker.state,
      unavailable: gate.unavailability(nowMs),
    }));
  }

  /** A linear search, because there are at most five endpoints. */
  #find(endpoint: EndpointKey): EndpointGate | undefined {
    for (const gate of this.#gates) if (gate.key === endpoint) return gate;
    return undefined;
  }
}

function endOf({ untilMs }: DestinationHold): number {
  return untilMs ?? Number.POSITIVE_INFINITY;
}
