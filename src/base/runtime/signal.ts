import { type InFlightItem, InFlightSet } from "./in-flight-set.ts";

interface Waiting extends InFlightItem {
  readonly wake: () => void;
}

/**
 * Wakes up callers of `wait`, each of which waits for a limited time. Keeps no reference to a caller that no longer
 * waits.
 */
export class Signal {
  readonly #waiting = new InFlightSet<Waiting>();

  fire(): void {
    for (const { wake } of this.#waiting.all()) wake();
  }

  /** Resolves at the next `fire()`, or after `limitMs` at the latest. */
  wait(limitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(limit);
        this.#waiting.delete(waiting);
        resolve();
      };
      const limit = setTimeout(wake, limitMs);
      const waiting: Waiting = { place: -1, wake };
      this.#waiting.add(waiting);
    });
  }
}

/** Resolves when `work` has settled, or after `limitMs` at the latest. */
export async function atMost(limitMs: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const limit = setTimeout(resolve, limitMs);
  work.then(resolve, resolve);
  await promise;
  clearTimeout(limit);
}
