/**
 * Collects the records that replace deliveries, so that records written at about the same time share a request to Kafka:
 * retries wait for seconds anyway, and a broken endpoint causes up to 1,000 of them per second.
 *
 *   a write arrives          result
 *   no other one waits       it waits for the next tick (`timer-tick.ts`), which all destinations share
 *   others wait              it is sent with them
 *
 * A delivery is processed only after its record was written, so a crash before that repeats it.
 */

import { untilTickMs } from "../domain/timer-tick.ts";

/** Called when all are written, or cannot be written any more. */
export type Ended = (isWritten: boolean) => void;

/**
 * @param clock the collected records are sent when its sleep ends, even if it is aborted.
 * @param write rejects if nothing can be written any more.
 */
export function gatherWrites<Item>(
  clock: { nowMs(): number; sleep(ms: number): Promise<void> },
  write: (items: readonly Item[]) => Promise<void>,
): (items: readonly Item[], ended: Ended) => void {
  let gathered: Item[] = [];
  // A promise for each record would live as long, and be copied by the garbage collector.
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
