/**
 * Tracks whether each endpoint of a destination is available. An endpoint is unavailable while its circuit is
 * open, and until its `Retry-After` time has passed.
 *
 *   the endpoints                                        the destination
 *   one is available                                     takes deliveries from its queue
 *   none is, but a request to one is in progress         waits for that request
 *   all are unavailable                                  is on hold until the first one is available
 *
 * A delivery whose endpoints are unavailable is kept here until one of them is available, or until the time
 * that was passed to `wait`.
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
import type { Outcome } from "../destinations/port.ts";
import { CircuitBreaker, type SlotFor, type Ticket } from "./circuit-breaker.ts";
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

interface Waiting<Item> {
  readonly item: Item;
  readonly untilMs: number;
}

export type News = Pick<EndpointNews, "news" | "forMs">;

/** After another process has reported failures, this process reports accepted requests for this long. */
const TROUBLED_FOR_MS = 60_000;
const TELL_EVERY_MS = 1_000;

interface Gate<Item> {
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
  waiting: Waiting<Item>[];
}

export interface GatePorts {
  /** Called when the circuit of an endpoint changes its state. */
  readonly onCircuit: (endpoint: EndpointKey, state: CircuitState) => void;
  /** Reports news about an endpoint to the other processes; absent if there is no way to reach them. */
  readonly tell?: (endpoint: EndpointKey, news: News) => void;
}

export class EndpointGates<Item> {
  #gates: readonly Gate<Item>[] = [];
  readonly #retryWindowMs: number;
  readonly #ports: GatePorts;
  #waiting = 0;
  readonly #due: Item[] = [];
  /** Higher than the marks of all earlier breakers. */
  #mark = 0;

  constructor(
    endpoints: readonly EndpointKey[],
    options: { readonly concurrency: number; readonly retryWindowMs: number },
    ports: GatePorts,
  ) {
    this.#retryWindowMs = options.retryWindowMs;
    this.#ports = ports;
    this.update(endpoints, options.concurrency);
  }

  /**
   * Replaces the endpoints. Endpoints that are in both lists keep their circuit breaker and their `Retry-After` time, and new ones are
   * available. Deliveries that are kept here are evaluated again.
   */
  update(endpoints: readonly EndpointKey[], concurrency: number): void {
    for (const { key, breaker, waiting } of this.#gates) {
      this.#due.push(...waiting.map(({ item }) => item));
      if (!endpoints.includes(key)) this.#mark = Math.max(this.#mark, breaker.mark + 1);
    }
    this.#gates = endpoints.map((key) => {
      const { waiting: _, ...gate } = this.#find(key) ?? {
        key,
        breaker: new CircuitBreaker(concurrency, this.#mark),
        onHoldUntilMs: 0,
        onHoldSinceMs: 0,
        failsElsewhereAtMs: Number.NEGATIVE_INFINITY,
        reportedAtMs: Number.NEGATIVE_INFINITY,
        waiting: [],
      };
      gate.breaker.allow(concurrency);
      return { ...gate, waiting: [] };
    });
  }

  /**
   * The current availability, for `prepare`. @param missing what requests need but the sender does not have,
   * such as a token.
   */
  at(nowMs: number, missing: Gates["missing"] = null): Gates {
    return {
      missing,
      onHoldUntilMs: (endpoint) => this.#onHoldUntilMs(this.#find(endpoint), nowMs),
      openUntilMs: (endpoint) => this.#find(endpoint)?.breaker.unavailableUntilMs(nowMs) ?? 0,
      isFailing: (endpoint) => (this.#find(endpoint)?.breaker.state ?? "closed") !== "closed",
    };
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

  /** The time until which the endpoint is currently unavailable; 0 if it is available. */
  unavailableUntilMs(endpoint: EndpointKey, nowMs: number): number {
    const gate = this.#find(endpoint);
    return Math.max(this.#onHoldUntilMs(gate, nowMs), gate?.breaker.unavailableUntilMs(nowMs) ?? 0);
  }

  /** True if a delivery has to wait for a request in progress. */
  mustWait(endpoint: EndpointKey): boolean {
    return this.#find(endpoint)?.breaker.mustWait() ?? false;
  }

  /** Keeps an item until the endpoint is available, or until `release` is called after `untilMs`. */
  wait(endpoint: EndpointKey, item: Item, untilMs: number): void {
    this.#find(endpoint)?.waiting.push({ item, untilMs });
    this.#waiting += 1;
  }

  /** Releases the items whose time has passed. Returns true if other items are still kept. */
  release(nowMs: number): boolean {
    for (const gate of this.#gates) {
      const isDue = ({ untilMs }: Waiting<Item>) => nowMs > untilMs;
      if (!gate.waiting.some(isDue)) continue;
      for (const { item } of gate.waiting.filter(isDue)) this.#due.push(item);
      gate.waiting = gate.waiting.filter((each) => !isDue(each));
    }
    return this.#waiting > this.#due.length;
  }

  /** Removes and returns an item that has to be evaluated again. */
  due(): Item | undefined {
    const due = this.#due.shift();
    if (due !== undefined) this.#waiting -= 1;
    return due;
  }

  released(nowMs: number): Item | undefined {
    if (this.#waiting === 0) return undefined;
    for (const gate of this.#gates) {
      if (gate.waiting.length === 0 || gate.breaker.mustWait()) continue;
      if (this.#onHoldUntilMs(gate, nowMs) > nowMs) continue;
      this.#waiting -= 1;
      return gate.waiting.shift()?.item;
    }
    return undefined;
  }

  /** Removes and returns the items for which the condition is true. */
  extract(holds: (item: Item) => boolean): readonly Item[] {
    const all = [
      ...this.#due,
      ...this.#gates.flatMap(({ waiting }) => waiting.map((one) => one.item)),
    ];
    const found = new Set(all.filter(holds));
    if (found.size > 0) this.keep((item) => !found.has(item));
    return [...found];
  }

  /** Keeps only the items for which the condition is true. */
  keep(isKept: (item: Item) => boolean): void {
    this.#waiting = 0;
    const due = this.#due.splice(0).filter(isKept);
    this.#due.push(...due);
    for (const gate of this.#gates) {
      gate.waiting = gate.waiting.filter(({ item }) => isKept(item));
      this.#waiting += gate.waiting.length;
    }
    this.#waiting += due.length;
  }

  /** Returns null if the endpoint is unavailable now. */
  admit(endpoint: EndpointKey, nowMs: number, turn: SlotFor): Ticket | null {
    const gate = this.#find(endpoint);
    if (gate === undefined) return null;
    const before = gate.breaker.state;
    const admission = gate.breaker.admit(nowMs, turn);
    const after = gate.breaker.state;
    if (after !== before) this.#ports.onCircuit(endpoint, after);
    return admission.kind === "go" ? admission.ticket : null;
  }

  /** Call with the outcome of each admitted request. */
  settle(endpoint: EndpointKey, ticket: Ticket, outcome: Outcome, nowMs: number): void {
    const gate = this.#find(endpoint);
    if (gate === undefined) return;
    const isSuccess = outcome.kind !== "retry";
    const before = gate.breaker.state;
    const state = gate.breaker.settle(ticket, isSuccess, nowMs);
    if (state !== null) this.#ports.onCircuit(endpoint, state);
    const forMs = isSuccess ? 0 : (outcome.retryAfterMs ?? 0);
    if (state === "open") this.#ports.tell?.(endpoint, { news: "fails", forMs: 0 });
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
      if (state !== null) this.#ports.onCircuit(endpoint, state);
    }
  }

  #hold(gate: Gate<Item>, forMs: number, nowMs: number): void {
    if (this.#onHoldUntilMs(gate, nowMs) <= nowMs) gate.onHoldSinceMs = nowMs;
    gate.onHoldUntilMs = Math.max(gate.onHoldUntilMs, nowMs + Math.min(forMs, this.#retryWindowMs));
  }

  #tellNowAndThen(gate: Gate<Item>, news: News, nowMs: number): void {
    if (isWithin(gate.reportedAtMs, TELL_EVERY_MS, nowMs)) return;
    gate.reportedAtMs = nowMs;
    this.#ports.tell?.(gate.key, news);
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

  #unavailability(gate: Gate<Item>, nowMs: number): Unavailability | null {
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

  #onHoldUntilMs(gate: Gate<Item> | undefined, nowMs: number): number {
    const untilMs = gate?.onHoldUntilMs ?? 0;
    // No hold lasts longer than this, so the clock must have been set back.
    return untilMs - nowMs > this.#retryWindowMs ? 0 : untilMs;
  }

  /** A linear search, because there are at most five endpoints. */
  #find(endpoint: EndpointKey): Gate<Item> | undefined {
    for (const gate of this.#gates) if (gate.key === endpoint) return gate;
    return undefined;
  }
}

/** Returns false if the clock was set back. */
function isWithin(sinceMs: number, forMs: number, nowMs: number): boolean {
  return nowMs >= sinceMs && nowMs - sinceMs < forMs;
}
