/**
 * What stands between a destination's deliveries and each of its endpoints: the breaker, and what
 * the endpoint has asked for by `Retry-After`. Keeps the deliveries that met a probe under way or a
 * ramp without room, until there is an answer, or until it is time for their last attempt.
 */

import type { EndpointKey } from "../domain/ids.ts";
import type { HttpResult } from "./attempt.ts";
import { Breaker, type BreakerState, type Ticket, type Urgency } from "./breaker.ts";
import { judge } from "./outcome.ts";
import type { Gates } from "./plan.ts";

interface Waiting<Item> {
  readonly item: Item;
  readonly untilMs: number;
}

interface Gate<Item> {
  readonly breaker: Breaker;
  heldUntilMs: number;
  waiting: Waiting<Item>[];
}

export class EndpointGates<Item> {
  readonly #gates = new Map<EndpointKey, Gate<Item>>();
  readonly #windowMs: number;
  readonly #onState: (endpoint: EndpointKey, state: BreakerState) => void;
  #waiting = 0;
  readonly #due: Item[] = [];

  /** @param onState called when an endpoint's breaker changes its state. */
  constructor(
    endpoints: readonly EndpointKey[],
    options: { readonly concurrency: number; readonly windowMs: number },
    onState: (endpoint: EndpointKey, state: BreakerState) => void,
  ) {
    this.#windowMs = options.windowMs;
    this.#onState = onState;
    for (const endpoint of endpoints) {
      const breaker = new Breaker(options.concurrency);
      this.#gates.set(endpoint, { breaker, heldUntilMs: 0, waiting: [] });
    }
  }

  /** For `plan`, at this moment. */
  at(nowMs: number): Gates {
    return {
      heldUntilMs: (endpoint) => {
        const untilMs = this.#gates.get(endpoint)?.heldUntilMs ?? 0;
        // Nobody is held for longer: the clock was set back.
        return untilMs - nowMs > this.#windowMs ? 0 : untilMs;
      },
      openUntilMs: (endpoint) => this.#gates.get(endpoint)?.breaker.awayUntilMs(nowMs) ?? 0,
    };
  }

  /** When the endpoint may be asked again, as far as is known now; 0: at once. */
  awayUntilMs(endpoint: EndpointKey, nowMs: number): number {
    const { heldUntilMs, openUntilMs } = this.at(nowMs);
    return Math.max(heldUntilMs(endpoint), openUntilMs(endpoint));
  }

  /** Whether a delivery has to wait for an answer that is under way. */
  mustWait(endpoint: EndpointKey): boolean {
    return this.#gates.get(endpoint)?.breaker.mustWait() ?? false;
  }

  /** Keeps an item until the endpoint's answer is there, or `release` is called after `untilMs`. */
  wait(endpoint: EndpointKey, item: Item, untilMs: number): void {
    this.#gates.get(endpoint)?.waiting.push({ item, untilMs });
    this.#waiting += 1;
  }

  /** Lets those go that have waited until their time. Returns whether any are kept. */
  release(nowMs: number): boolean {
    for (const gate of this.#gates.values()) {
      const isDue = ({ untilMs }: Waiting<Item>) => nowMs > untilMs;
      if (!gate.waiting.some(isDue)) continue;
      for (const { item } of gate.waiting.filter(isDue)) this.#due.push(item);
      gate.waiting = gate.waiting.filter((each) => !isDue(each));
    }
    return this.#waiting > this.#due.length;
  }

  /** An item that need not wait any more. */
  released(): Item | undefined {
    if (this.#waiting === 0) return undefined;
    const due = this.#due.shift();
    if (due !== undefined) {
      this.#waiting -= 1;
      return due;
    }
    for (const { breaker, waiting } of this.#gates.values()) {
      if (waiting.length === 0 || breaker.mustWait()) continue;
      this.#waiting -= 1;
      return waiting.shift()?.item;
    }
    return undefined;
  }

  /** Null: the endpoint is to be left alone now. */
  admit(endpoint: EndpointKey, nowMs: number, urgency: Urgency): Ticket | null {
    const gate = this.#gates.get(endpoint);
    if (gate === undefined) return null;
    const before = gate.breaker.state;
    const admission = gate.breaker.admit(nowMs, urgency);
    const after = gate.breaker.state;
    if (after !== before) this.#onState(endpoint, after);
    return admission.kind === "go" ? admission.ticket : null;
  }

  /** What an admitted request has come to. */
  settle(endpoint: EndpointKey, ticket: Ticket, result: HttpResult, nowMs: number): void {
    const gate = this.#gates.get(endpoint);
    if (gate === undefined) return;
    const outcome = judge(result, nowMs);
    const state = gate.breaker.settle(ticket, outcome.kind !== "retry", nowMs);
    if (state !== null) this.#onState(endpoint, state);
    const askedMs = outcome.kind === "retry" ? (outcome.retryAfterMs ?? 0) : 0;
    if (askedMs === 0) return;
    gate.heldUntilMs = Math.max(gate.heldUntilMs, nowMs + Math.min(askedMs, this.#windowMs));
  }

  /** Endpoints that are left alone by their breakers now. */
  openEndpoints(): readonly EndpointKey[] {
    return [...this.#gates]
      .filter(([, { breaker }]) => breaker.state === "open")
      .map(([key]) => key);
  }
}
