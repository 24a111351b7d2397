/**
 * Delays the response to a body that was read, but from which no call was accepted. Such bodies cost as much as
 * valid ones. Without a delay, a few clients that repeatedly send such bodies would use a whole core. The console delays
 * the response to a wrong token in the same way, so that tokens cannot be guessed quickly.
 *
 *   the body                                     the response is sent
 *   has calls that were passed to Kafka, or that  immediately
 *     are not written because of a suppression
 *   is not read, as with a wrong Basic key       immediately
 *   is read, and none of its calls is accepted   after a quarter of a second, and after up to 2 s while
 *                                                other responses to the same address are delayed
 *
 * A connection whose response is delayed is closed if another request arrives on it. A well-behaved client sends
 * its next request only after the response.
 */

import type { Clock } from "./clock.ts";
import { addressGroup } from "./connections.ts";

const WAIT_MS = 250;
/**
 * How much each delayed response to the same address adds to the delay. As a result, up to 200 concurrent requests from
 * an address get at most a hundred responses per second. More requests wait 2 s each.
 */
const MORE_MS = 10;
const WAIT_MAX_MS = 2_000;

export interface PenaltyDelay {
  isWaiting(connection: object): boolean;
  /** Resolves when the response may be sent. */
  wait(connection: object, remoteAddress: string): Promise<void>;
}

/** How long a response is delayed, given the number of other responses to its address that are being delayed. */
export function waitBeside(others: number): number {
  return Math.min(WAIT_MAX_MS, WAIT_MS + MORE_MS * others);
}

export function createPenaltyDelay(clock: Pick<Clock, "sleep">): PenaltyDelay {
  const waiting = new Map<string, number>();
  // Several requests may arrive on one connection before the result of the first one is known.
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
