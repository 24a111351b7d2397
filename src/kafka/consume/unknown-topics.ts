/**
 * Brokers that say that a topic is unknown. One that restarts does not know its topics at once, and one
 * after another learns of a new topic. Four seconds are enough for that.
 */

import { errorTypes } from "../cluster/kafka-error.ts";

const TIMES_MAX = 5;
export const UNKNOWN_TOPIC_DELAY_MS = 1_000;

export class UnknownTopics {
  /** How many answers in a row said so, by who was asked. */
  readonly #times = new Map<string, number>();

  /** Counts the error. Whether it has been said so often that it stays. */
  isFinal(asked: string): boolean {
    const times = (this.#times.get(asked) ?? 0) + 1;
    this.#times.set(asked, times);
    return times >= TIMES_MAX;
  }

  /** Another answer came. */
  answered(asked: string): void {
    this.#times.delete(asked);
  }
}

export function isUnknownTopic(error: unknown): boolean {
  return errorTypes(error).has("UNKNOWN_TOPIC_OR_PARTITION");
}
