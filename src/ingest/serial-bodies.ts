/**
 * Work on large bodies, one after the other: side by side, each would make all the others wait, and
 * memory would be needed for all of them.
 */

export type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Takes them in the order in which they came. */
export function inTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
