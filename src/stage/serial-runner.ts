/**
 * Steps that follow one another as long as something waits. Handlers of partitions work so: `take`
 * puts records where `next` finds them and calls `wake`, `drain` waits for `ended`.
 *
 *   state     wake()          next() gives a step   next() gives null   a step fails
 *   idle      asks next()     running               idle                -
 *   running   nothing         the next step         idle                failed
 *   failed    nothing         -                     -                   -
 *
 * It becomes idle in the same turn as the last look, so that no `wake` falls between. After a
 * failure nothing more is begun: the records stay unfinished, for another owner.
 */

export interface SerialRunner {
  readonly wake: () => void;
  /** Resolves when no step is under way. Only `failed` is told of failures. */
  readonly ended: () => Promise<void>;
}

/**
 * @param next begins the next step, or says with null that nothing waits.
 * @param failed is told the error of a step, or of `next`.
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
