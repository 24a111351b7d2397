/**
 * Gathers the records that take others' places, so that records of one moment share requests to
 * Kafka: parked ones wait for seconds anyway, and a broken endpoint has up to 1,000 a second
 * parked.
 *
 *   a write comes           then
 *   none is waiting         it waits for the next tick (`timer-tick.ts`), which all destinations share
 *   others are waiting      it goes with them
 *
 * Records stay unfinished until theirs is written: a crash meanwhile repeats them.
 */

import { untilTickMs } from "../domain/timer-tick.ts";

/** Called when all is written, or can't be any more. */
export type Ended = (isWritten: boolean) => void;

/**
 * @param clock its sleep: the gathered records go when it ends, well or not.
 * @param write rejects when nothing more can be written.
 */
export function gatherWrites<Item>(
  clock: { nowMs(): number; sleep(ms: number): Promise<void> },
  write: (items: readonly Item[]) => Promise<void>,
): (items: readonly Item[], ended: Ended) => void {
  let gathered: Item[] = [];
  // A promise for each would wait along with it, and be copied by collections of garbage.
  let waiting: Ended[] = [];

  const go = () => {
    const items = gathered;
    const sharing = waiting;
    gathered = [];
    waiting = [];
    const tell = (isWritten: boolean) => {
      for (const ended of sharing) ended(isWritten);
    };
    void write(items).then(
      () => tell(true),
      () => tell(false),
    );
  };
  return (items, ended) => {
    gathered.push(...items);
    waiting.push(ended);
    if (waiting.length === 1) clock.sleep(untilTickMs(clock.nowMs(), 1)).then(go, go);
  };
}
