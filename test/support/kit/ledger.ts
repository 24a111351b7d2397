/** Publishes calls, either once or continuously, and records each of them. */

import { setTimeout as timer } from "node:timers/promises";

import type { Producer } from "../../../src/kafka/port.ts";

export interface Published {
  readonly id: string;
  readonly user: string;
  readonly event: string;
  /** True if the call has an earlier time of receipt. */
  readonly isOld: boolean;
  /** When the call was acknowledged. */
  readonly atMs: number;
}

export interface Publishing {
  readonly event?: string;
  /** If true, the calls have a time of receipt three days ago. */
  readonly isOld?: boolean;
}

export interface Load {
  /** The calls of one publication; by default, 5. */
  readonly calls?: number;
  /** The time between two publications; by default, 25 ms, so that there are about 200 calls per second. */
  readonly everyMs?: number;
}

export const EVENTS = ["Order Completed", "Page Shown"] as const;
const USERS = 23;
const OLD_MS = 3 * 86_400_000;
/** How long the end of a load waits for the publication in progress. */
const LOAD_END_MS = 10_000;

export class Ledger {
  /** All calls in the order in which they were written. */
  readonly all: Published[] = [];
  readonly #producer: Pick<Producer, "send">;
  readonly #topic: string;
  #count = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(producer: Pick<Producer, "send">, topic: string) {
    this.#producer = producer;
    this.#topic = topic;
  }

  /** Publishes calls, and resolves with them when they are acknowledged. Publications run one at a time. */
  publish(count: number, publishing: Publishing = {}): Promise<readonly Published[]> {
    const published = this.#turn.then(() => this.#publish(count, publishing));
    this.#turn = published.catch(() => undefined);
    return published;
  }

  /** Publishes continuously until disposed. During an outage, calls wait. */
  load({ calls = 5, everyMs = 25 }: Load = {}): AsyncDisposable {
    let isOver = false;
    const live = async () => {
      while (!isOver) {
        // Calls that are missing from the ledger, but not from Kafka, differ from what is expected.
        await this.publish(calls).catch(() => undefined);
        await timer(everyMs);
      }
    };
    const running = live();
    return {
      [Symbol.asyncDispose]: async () => {
        isOver = true;
        await Promise.race([running, timer(LOAD_END_MS, null, { ref: false })]);
      },
    };
  }

  /** The calls that were acknowledged in this period. */
  between(fromMs: number, toMs: number): readonly Published[] {
    return this.all.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  }

  async #publish(
    count: number,
    { event, isOld = false }: Publishing,
  ): Promise<readonly Published[]> {
    const calls = Array.from({ length: count }, () => {
      const number = this.#count++;
      const name = event ?? EVENTS[number % EVENTS.length] ?? "";
      return { id: `m${number}`, user: `u${number % USERS}`, event: name, isOld };
    });
    const refused = await this.#producer.send(calls.map((call) => this.#record(call)));
    if (refused.length > 0) throw new Error(`calls were refused: ${refused[0]?.error}`);
    const atMs = Date.now();
    const published = calls.map((call) => ({ ...call, atMs }));
    this.all.push(...published);
    return published;
  }

  #record({ id, user, event, isOld }: Omit<Published, "atMs">) {
    const receivedAt = isOld ? { receivedAt: new Date(Date.now() - OLD_MS).toISOString() } : {};
    const call = { type: "track", userId: user, event, messageId: id, ...receivedAt };
    const value = Buffer.from(JSON.stringify(call));
    return { topic: this.#topic, key: Buffer.from(user), value, headers: [] };
  }
}

export function idsOf(calls: Iterable<{ readonly id: string }>): readonly string[] {
  return [...calls].map(({ id }) => id);
}
