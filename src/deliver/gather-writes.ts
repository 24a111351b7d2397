/**
 * Gathers what takes records' places, so that what comes within a moment shares requests to Kafka:
 * whatever is parked waits for seconds anyway, and a broken endpoint has up to 1,000 a second parked.
 *
 *   a write comes           then
 *   none is waiting         it waits for the next tick (`tick.ts`), which all destinations share
 *   others are waiting      it goes with them
 *
 * Records stay unfinished until theirs is written: a crash meanwhile repeats them.
 */

import { untilTickMs } from "../domain/tick.ts";

/**
 * @param clock its sleep: when it ends, well or not, what is gathered goes.
 * @param write what it rejects with, all who share it are told.
 */
export function gatherWrites<Item>(
  clock: { nowMs(): number; sleep(ms: number): Promise<void> },
  write: (items: readonly Item[]) => Promise<void>,
): (items: readonly Item[]) => Promise<void> {
  let gathered: Item[] = [];
  let written: Promise<void> | null = null;

  const go = () => {
    const items = gathered;
    gathered = [];
    written = null;
    return write(items);
  };
  return (items) => {
    gathered.push(...items);
    written ??= clock.sleep(untilTickMs(clock.nowMs(), 1)).then(go, go);
    return written;
  };
}
