/**
 * Runs steps one at a time while there is anything to do. In a partition handler, `take` stores records for `next` and
 * calls `wake`, and `drain` waits for `ended`.
 *
 *   state     wake()          next() gives a step   next() gives null   a step fails
 *   idle      calls next()    running               idle                -
 *   running   nothing         the next step         idle                failed
 *   failed    nothing         -                     -                   -
 *
 * The runner becomes idle synchronously after the last `next()`, so that no `wake` is missed. After a failure, no more
 * steps are started, so the records stay unprocessed for another owner.
 */

export interface SerialRunner {
  readonly wake: () => void;
  /** Resolves when no step is running. Only `failed` reports failures. */
  readonly ended: () => Promise<void>;
}

/**
 * @param next starts the next step, or returns null if nothing waits.
 * @param failed called with the error of a step, or of `next`.
 */
export function serialRunner(
  next: () => Promise<void> | null,
  failed: (thrown: unknown) => void,
): SerialRunner {
  let isIdle = true;
  let running = Promise.resolve();
  const run = async () => {
    for (let step = next(); step !== null; step = next()) await step;
    isIdle = true;
  };
  return {
    wake: () => {
      if (!isIdle) return;
      isIdle = false;
      running = run().catch(failed);
    },
    ended: () => running,
  };
}
