/**
 * Answers to bodies that were read in vain: nothing of them was taken. They cost as much as good ones,
 * and without a wait a few callers who send them again and again would fill a core.
 *
 *   the body                                    its answer
 *   calls of it are handed over                 at once
 *   is not read, as with a wrong key in Basic   at once
 *   is read, and nothing of it is taken         after a quarter of a second, and longer while others
 *                                               of the same address wait, up to two
 *
 * A connection whose answer waits is closed when one more request comes on it: the next one is sent
 * after the answer, by all but those who do not care for answers.
 */

import { addressGroup } from "./connections.ts";
import type { Sleeper } from "./produce-and-wait.ts";

const WAIT_MS = 250;
/** For each that waits already: so an address gets at most a hundred a second, up to 175 of them. */
const MORE_MS = 10;
const WAIT_MAX_MS = 2_000;

export interface PenaltyDelay {
  isWaiting(connection: object): boolean;
  /** Resolves when the answer may be given. */
  wait(connection: object, remoteAddress: string): Promise<void>;
}

/** How long the answer waits when so many of its address do. */
export function waitBeside(others: number): number {
  return Math.min(WAIT_MAX_MS, WAIT_MS + MORE_MS * others);
}

export function createPenaltyDelay(clock: Pick<Sleeper, "sleep">): PenaltyDelay {
  const waiting = new Map<string, number>();
  // Several may come on one connection before the first is judged.
  const connections = new WeakMap<object, number>();
  const never = new AbortController().signal;
  return {
    isWaiting: (connection) => (connections.get(connection) ?? 0) > 0,
    wait: async (connection, remoteAddress) => {
      const address = addressGroup(remoteAddress);
      const others = waiting.get(address) ?? 0;
      waiting.set(address, others + 1);
      connections.set(connection, (connections.get(connection) ?? 0) + 1);
      await clock.sleep(waitBeside(others), never);
      connections.set(connection, (connections.get(connection) ?? 0) - 1);
      const left = (waiting.get(address) ?? 0) - 1;
      if (left > 0) waiting.set(address, left);
      else waiting.delete(address);
    },
  };
}
