/**
 * Handles large bodies one at a time: in parallel, each would delay all the others, and memory would be
 * needed for all of them.
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
