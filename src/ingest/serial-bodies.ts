/**
 * Handles large bodies one at a time. If they were handled in parallel, each body would delay all others, and all of
 * them would need memory at the same time.
 */

export type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Handles bodies in the order in which they arrived. */
export function inTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
