/**
 * The gates between a destination's deliveries and each of its endpoints: the breaker, and the time
 * that the endpoint has asked for by `Retry-After`.
 *
 *   the endpoints                                       the line
 *   one may be asked                                    goes
 *   none may, and an answer of one is waited for        waits for it
 *   all are away                                        is held until the first of them is not
 *
 * A delivery whose endpoints may not be asked is kept here until one may, or until its time.
 *
 *   an endpoint                                         the other processes
 *   has its breaker opened, also by a probe             are told: who is accepted says so from then on
 *   accepts or rejects, when it was open here           are told
 *   the same, and others said within a minute that it   are told, once a second
 *   fails
 *   sends Retry-After                                   are told, once a second
 *
 *   another process says that it                        then
 *   accepts                                             a breaker that is open lets two go at a time
 *   asks to wait                                        it is left alone as if it had asked here
 *   fails                                               nothing is held: the trouble may be that process's
 */

import type { EndpointNews } from "../control/operator-actions.ts";
import type { Outcome } from "../destinations/port.ts";
import type { CircuitState, HoldReason } from "../domain/destination-status.ts";
import type { EndpointKey } from "../domain/ids.ts";
import { CircuitBreaker, type SlotFor, type Ticket } from "./circuit-breaker.ts";
import type { Gates } from "./prepare.ts";

export type QueueState =
  | { readonly kind: "goes" }
  | { readonly kind: "waits" }
  | { readonly kind: "on-hold"; readonly untilMs: number };

const GOES: QueueState = { kind: "goes" };
const WAITS: QueueState = { kind: "waits" };

/** A line that is held. A probe that is under way does not end it. */
export interface DestinationHold {
  readonly reason: HoldReason;
  readonly sinceMs: number;
  /** When an endpoint may be asked again; null: somebody has to end it. */
  readonly untilMs: number | null;
  /** Such as `command`, of a pause. Else absent. */
  readonly by?: string;
}

export interface GateState {
  readonly key: EndpointKey;
  readonly breaker: CircuitState;
  /** When the endpoint may be asked again; null: now. */
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

/** Since others last said that the endpoint fails. */
const TROUBLED_FOR_MS = 60_000;
const TELL_EVERY_MS = 1_000;

interface Gate<Item> {
  readonly key: EndpointKey;
  /** When another process said that it fails. */
  failsElsewhereAtMs: number;
  /** When this one last told of it. */
  reportedAtMs: number;
  readonly breaker: CircuitBreaker;
  onHoldUntilMs: number;
  /** When the endpoint first asked to be left alone, if it has asked again since before that ended. */
  onHoldSinceMs: number;
  waiting: Waiting<Item>[];
}

export class EndpointGates<Item> {
  #gates: readonly Gate<Item>[] = [];
  readonly #retryWindowMs: number;
  readonly #onState: (endpoint: EndpointKey, state: CircuitState) => void;
  readonly #tell: (endpoint: EndpointKey, news: News) => void;
  #waiting = 0;
  readonly #due: Item[] = [];
  /** Above the marks of all breakers that are gone. */
  #mark = 0;

  /**
   * @param onState called when an endpoint's breaker changes its state.
   * @param tell tells the other processes.
   */
  constructor(
    endpoints: readonly EndpointKey[],
    options: { readonly concurrency: number; readonly retryWindowMs: number },
    onState: (endpoint: EndpointKey, state: CircuitState) => void,
    tell: (endpoint: EndpointKey, news: News) => void = () => undefined,
  ) {
    this.#retryWindowMs = options.retryWindowMs;
    this.#tell = tell;
    this.#onState = onState;
    this.update(endpoints, options.concurrency);
  }

  /**
   * Takes other endpoints. One that stays keeps its breaker and its time, and one that is new may be
   * asked. All that is kept here is looked at again.
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

  /** For `prepare`, at this moment. */
  at(nowMs: number): Gates {
    return {
      onHoldUntilMs: (endpoint) => this.#onHoldUntilMs(this.#find(endpoint), nowMs),
      openUntilMs: (endpoint) => this.#find(endpoint)?.breaker.unavailableUntilMs(nowMs) ?? 0,
      isFailing: (endpoint) => (this.#find(endpoint)?.breaker.state ?? "closed") !== "closed",
    };
  }

  line(nowMs: number): QueueState {
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

  /** Whether a breaker's time is over, and what goes next is the probe. */
  isProbeDue(nowMs: number): boolean {
    return this.#gates.some(
      ({ breaker }) => breaker.state === "open" && breaker.unavailableUntilMs(nowMs) === 0,
    );
  }

  /** When the endpoint may be asked again, as far as is known now; 0: at once. */
  unavailableUntilMs(endpoint: EndpointKey, nowMs: number): number {
    const gate = this.#find(endpoint);
    return Math.max(this.#onHoldUntilMs(gate, nowMs), gate?.breaker.unavailableUntilMs(nowMs) ?? 0);
  }

  /** Whether a delivery has to wait for an answer that is under way. */
  mustWait(endpoint: EndpointKey): boolean {
    return this.#find(endpoint)?.breaker.mustWait() ?? false;
  }

  /** Keeps an item until the endpoint may be asked, or `release` is called after `untilMs`. */
  wait(endpoint: EndpointKey, item: Item, untilMs: number): void {
    this.#find(endpoint)?.waiting.push({ item, untilMs });
    this.#waiting += 1;
  }

  /** Lets those go that have waited until their time. Returns whether any are kept. */
  release(nowMs: number): boolean {
    for (const gate of this.#gates) {
      const isDue = ({ untilMs }: Waiting<Item>) => nowMs > untilMs;
      if (!gate.waiting.some(isDue)) continue;
      for (const { item } of gate.waiting.filter(isDue)) this.#due.push(item);
      gate.waiting = gate.waiting.filter((each) => !isDue(each));
    }
    return this.#waiting > this.#due.length;
  }

  /** One that has waited until its time. */
  due(): Item | undefined {
    const due = this.#due.shift();
    if (due !== undefined) this.#waiting -= 1;
    return due;
  }

  /** One whose endpoint may be asked now. */
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

  /** Takes out those that hold. */
  extract(holds: (item: Item) => boolean): readonly Item[] {
    const all = [
      ...this.#due,
      ...this.#gates.flatMap(({ waiting }) => waiting.map((one) => one.item)),
    ];
    const found = new Set(all.filter(holds));
    if (found.size > 0) this.keep((item) => !found.has(item));
    return [...found];
  }

  /** Keeps only some of those that wait. */
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

  /** Null: the endpoint is to be left alone now. */
  admit(endpoint: EndpointKey, nowMs: number, turn: SlotFor): Ticket | null {
    const gate = this.#find(endpoint);
    if (gate === undefined) return null;
    const before = gate.breaker.state;
    const admission = gate.breaker.admit(nowMs, turn);
    const after = gate.breaker.state;
    if (after !== before) this.#onState(endpoint, after);
    return admission.kind === "go" ? admission.ticket : null;
  }

  /** The outcome of an admitted request. */
  settle(endpoint: EndpointKey, ticket: Ticket, outcome: Outcome, nowMs: number): void {
    const gate = this.#find(endpoint);
    if (gate === undefined) return;
    const isSuccess = outcome.kind !== "retry";
    const before = gate.breaker.state;
    const state = gate.breaker.settle(ticket, isSuccess, nowMs);
    if (state !== null) this.#onState(endpoint, state);
    const forMs = isSuccess ? 0 : (outcome.retryAfterMs ?? 0);
    if (state === "open") this.#tell(endpoint, { news: "fails", forMs: 0 });
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

  /** News of an endpoint from another process. */
  heard(endpoint: EndpointKey, { news, forMs }: News, nowMs: number): void {
    const gate = this.#find(endpoint);
    if (gate === undefined) return;
    if (news === "fails") gate.failsElsewhereAtMs = nowMs;
    else if (news === "asks") this.#hold(gate, forMs, nowMs);
    else {
      const state = gate.breaker.heardAccepted(nowMs);
      if (state !== null) this.#onState(endpoint, state);
    }
  }

  #hold(gate: Gate<Item>, forMs: number, nowMs: number): void {
    if (this.#onHoldUntilMs(gate, nowMs) <= nowMs) gate.onHoldSinceMs = nowMs;
    gate.onHoldUntilMs = Math.max(gate.onHoldUntilMs, nowMs + Math.min(forMs, this.#retryWindowMs));
  }

  #tellNowAndThen(gate: Gate<Item>, news: News, nowMs: number): void {
    if (isWithin(gate.reportedAtMs, TELL_EVERY_MS, nowMs)) return;
    gate.reportedAtMs = nowMs;
    this.#tell(gate.key, news);
  }

  /** Whether all endpoints are left alone. Of several reasons the one that ends first. */
  hold(nowMs: number): DestinationHold | null {
    let first: Unavailability | null = null;
    let sinceMs = Number.NEGATIVE_INFINITY;
    for (const gate of this.#gates) {
      const unavailable = this.#unavailability(gate, nowMs);
      if (unavailable === null) return null;
      // The line is held from the moment when the last of them was left alone.
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
    // Nobody is held for longer: the clock was set back.
    return untilMs - nowMs > this.#retryWindowMs ? 0 : untilMs;
  }

  /** Of five at most. */
  #find(endpoint: EndpointKey): Gate<Item> | undefined {
    for (const gate of this.#gates) if (gate.key === endpoint) return gate;
    return undefined;
  }
}

/** A clock that was set back begins anew. */
function isWithin(sinceMs: number, forMs: number, nowMs: number): boolean {
  return nowMs >= sinceMs && nowMs - sinceMs < forMs;
}
