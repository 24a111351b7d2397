/** Compares what the program reports with the truth. */

export interface Comparison {
  /** The name of the signal; the same in every check. */
  readonly signal: string;
  readonly said: string;
  readonly truth: string;
  readonly ok: boolean;
}

/** The range in which a number must be if it was correct at any moment of a period. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export const ABSENT = "absent";

/** @param truth null if the number cannot be known, so that none may be reported. */
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

/** @param truths the words, each of which is correct. */
export function worded(signal: string, said: string, truths: readonly string[]): Comparison {
  return { signal, said, truth: truths.join(" or "), ok: truths.includes(said) };
}

/** Compares an instant with a range. Null if there was no such instant, so that none may be reported. */
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
