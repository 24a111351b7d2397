/** Several lists of records, each in the order of offsets, as one in the order of time. */

import type { IncomingRecord } from "../../domain/record.ts";

type Steps = AsyncGenerator<readonly IncomingRecord[], void, undefined>;

interface Head {
  readonly steps: Steps;
  readonly records: readonly IncomingRecord[];
  next: number;
}

/**
 * Holds one step of each list. Within a list the order stays as it is, also where times fall.
 * Ends the lists when its reader stops.
 */
export async function* mergeByTime(lists: readonly Steps[]): Steps {
  try {
    const started = await Promise.all(lists.map(begin));
    let heads = started.filter((head) => head !== null);
    while (heads.length > 0) {
      const [first, second] = [...heads].sort((one, other) => timeOf(one) - timeOf(other));
      if (first === undefined) return;
      const untilMs = second === undefined ? Number.POSITIVE_INFINITY : timeOf(second);
      yield takeUntil(first, untilMs);
      if (first.next < first.records.length) continue;
      const renewed = await begin(first.steps);
      heads = heads.flatMap((head) => (head === first ? (renewed ?? []) : head));
    }
  } finally {
    await Promise.all(lists.map((steps) => steps.return()));
  }
}

async function begin(steps: Steps): Promise<Head | null> {
  const { done, value } = await steps.next();
  return done === true ? null : { steps, records: value, next: 0 };
}

function timeOf({ records, next }: Head): number {
  return records[next]?.timestampMs ?? Number.POSITIVE_INFINITY;
}

/** At least one record, and those after it that are not later than `untilMs`. */
function takeUntil(head: Head, untilMs: number): readonly IncomingRecord[] {
  const start = head.next;
  do head.next += 1;
  while (head.next < head.records.length && timeOf(head) <= untilMs);
  return head.records.slice(start, head.next);
}
