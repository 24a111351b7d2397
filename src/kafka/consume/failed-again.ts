/**
 * How often the same has failed in a row, and whether it is tried once more.
 *
 *   the failure                                 is tried again    at most
 *   a broker says that a topic is unknown: one  a second later    4 times
 *   that restarts does not know its topics at
 *   once, and one after another learns of a
 *   new topic
 *   a join is cut off: its coordinator goes,    300 ms later      9 times
 *   and the next one is not known at once
 */

import { errorTypes } from "../cluster/kafka-error.ts";

export class RepeatedFailures {
  /** By who was asked. */
  readonly #times = new Map<string, number>();

  /** Counts the failure. Whether it has come so often that it stays. */
  recordFailure(error: unknown, target: string): boolean {
    const times = (this.#times.get(target) ?? 0) + 1;
    this.#times.set(target, times);
    return times > (isUnknownTopic(error) ? 4 : 9);
  }

  delayMs(error: unknown): number {
    return isUnknownTopic(error) ? 1_000 : 300;
  }

  /** Another answer came. */
  recordResponse(target: string): void {
    this.#times.delete(target);
  }
}

export function isUnknownTopic(error: unknown): boolean {
  return errorTypes(error).has("UNKNOWN_TOPIC_OR_PARTITION");
}
