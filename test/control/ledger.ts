/** Publishes calls, either once or continuously, and records each of them. */

import { setTimeout as timer } from "node:timers/promises";

import type { Producer } from "../../src/kafka/port.ts";

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

export const EVENTS = ["Order Completed", "Page Shown"] as const;
const USERS = 23;
const OLD_MS = 3 * 86_400_000;
const LOAD_CALLS = 5;
const LOAD_EVERY_MS = 25;

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

  /** Publishes about 200 calls per second until disposed. */
  load(): AsyncDisposable {
    let isOver = false;
    const live = async () => {
      while (!isOver) {
        await this.publish(LOAD_CALLS);
        await timer(LOAD_EVERY_MS);
      }
    };
    const running = live();
    return {
      [Symbol.asyncDispose]: async () => {
        isOver = true;
        await running;
      },
    };
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
