/** The network between processes and the brokers in memory: latency, outages, dead processes. */

import type { ManualClock } from "../clock/manual-clock.ts";
import type { Prng } from "../clock/prng.ts";

/** A process that can be killed. */
export interface Party {
  readonly alive: boolean;
}

export interface Latency {
  readonly minMs: number;
  readonly maxMs: number;
}

interface Waiting {
  readonly from: Party;
  readonly arrive: () => void;
}

export class MemoryNetwork {
  /** The latency, which may be changed at any time to simulate slow brokers. */
  latency: Latency;
  readonly #clock: ManualClock;
  readonly #random: Prng;
  #isUp = true;
  #waiting: Waiting[] = [];

  constructor(clock: ManualClock, random: Prng, latency: Latency) {
    this.#clock = clock;
    this.#random = random;
    this.latency = latency;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  latencyMs(): number {
    return this.#random.integer(this.latency.minMs, this.latency.maxMs);
  }

  /**
   * Sends a request. It arrives even if the sender ends after sending it. During an outage, the request is repeated,
   * and arrives if the sender still runs when the outage ends.
   */
  toBroker(from: Party, arrive: () => void): void {
    if (!from.alive) return;
    this.#clock.schedule(this.latencyMs(), () => {
      if (this.#isUp) arrive();
      else this.#waiting.push({ from, arrive });
    });
  }

  toClient(to: Party, arrive: () => void, extraMs = 0): void {
    this.#clock.schedule(this.latencyMs() + extraMs, () => {
      if (to.alive) arrive();
    });
  }

  goDown(): void {
    this.#isUp = false;
  }

  comeUp(): void {
    this.#isUp = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { from, arrive } of waiting) this.toBroker(from, arrive);
  }
}
