/** What was said, beside the truth. */

export interface Comparison {
  /** Where it is said, and of what: the same in every look. */
  readonly signal: string;
  readonly said: string;
  readonly truth: string;
  readonly ok: boolean;
}

/** A number that is true at some moment of a time has to lie between these. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export const ABSENT = "absent";

/** @param truth null: nobody can know, so that nothing may be said. */
export function counted(signal: string, said: number | null, truth: Range | null): Comparison {
  const isSame =
    truth === null ? said === null : said !== null && said >= truth.from && said <= truth.to;
  return {
    signal,
    said: said === null ? ABSENT : `${said}`,
    truth: truth === null ? ABSENT : rangeText(truth),
    ok: isSame,
  };
}

/** @param truths any of these words is true. */
export function worded(signal: string, said: string, truths: readonly string[]): Comparison {
  return { signal, said, truth: truths.join(" or "), ok: truths.includes(said) };
}

/** An instant that lies between two. Null: there was none, so that none may be told. */
export function dated(signal: string, saidMs: number | null, truth: Range | null): Comparison {
  const clock = (atMs: number) => new Date(atMs).toISOString().slice(11, 19);
  const isSame =
    truth === null
      ? saidMs === null
      : saidMs !== null && saidMs >= truth.from && saidMs <= truth.to;
  return {
    signal,
    said: saidMs === null ? ABSENT : clock(saidMs),
    truth: truth === null ? ABSENT : `${clock(truth.from)} to ${clock(truth.to)}`,
    ok: isSame,
  };
}

function rangeText({ from, to }: Range): string {
  return from === to ? `${from}` : `${from} to ${to}`;
}
