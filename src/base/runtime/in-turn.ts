/** Runs work one piece at a time, in the order of the calls. A piece that fails does not affect the next one. */

export type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function inTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
}
