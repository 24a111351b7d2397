/** Starts many items, a limited number at a time, because each item takes some time to join. */

import type { Clock } from "./clock.ts";

interface StartLimits {
  readonly atOnce: number;
  /** The time after which the next item is started even if an earlier one has not joined yet. */
  readonly joinLimitMs: number;
}

/**
 * Resolves when all items have joined. If `stopped` aborts, resolves earlier and does not start the rest.
 *
 * @param start starts one item, and resolves when that item has joined.
 */
export async function startLimited<Item>(
  items: readonly Item[],
  { atOnce, joinLimitMs }: StartLimits,
  stopped: AbortSignal,
  clock: Clock,
  start: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const joins: Promise<void>[] = [];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (stopped.aborted) return;
      const join = start(next);
      joins.push(join);
      const over = new AbortController();
      const limit = clock.sleep(joinLimitMs, AbortSignal.any([stopped, over.signal]));
      await Promise.race([join, limit.catch(() => undefined)]);
      over.abort();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  await Promise.all(joins);
}
