/**
 * Computes which records of an owned partition were processed since the last report (`ConsumeOptions.beforeCommit`).
 *
 * A report covers what is processed, whether or not it can be committed afterwards. It is compared with the report
 * before it, and not with the commit before it: if a commit fails, the next report does not repeat its records. Records
 * that were not read, because they had been deleted or are corrupt, are committed, but not reported.
 */

import type { PartitionPlace } from "../../domain/record.ts";
import type { OffsetRange, Processed } from "../port.ts";
import type { Completion } from "./completion.ts";
import { type Commit, finishedIn, topicIdIn } from "./finished-ranges.ts";

export class ProcessedSince {
  readonly #place: PartitionPlace & { readonly topicId: string };
  readonly #completion: Completion;
  /** The state at the last report. Replaced by `take`. */
  #reported: Commit;
  /** Ranges that were not read: added by `wasNotRead`, removed when a report does not contain them. */
  #unread: OffsetRange[] = [];
  /** Null from the first report on. */
  #start: NonNullable<Processed["start"]> | null;

  /** @param committed the group's commit; null if there is none. */
  constructor(
    place: PartitionPlace & { readonly topicId: string },
    completion: Completion,
    committed: Commit | null,
  ) {
    this.#place = place;
    this.#completion = completion;
    this.#reported = stateOf(completion);
    const isOurs =
      committed === null ||
      place.topicId === "" ||
      topicIdIn(committed.metadata, committed.offset) !== null;
    this.#start = { offset: completion.position, isOurs };
  }

  /** Call when the records from `offset` on, and below `end`, are passed over. Ascending. */
  wasNotRead(offset: number, end: number): void {
    this.#unread.push([offset, end]);
  }

  /** Null if nothing was processed since the last report. @param isLast if true, the report may be empty. */
  take(isLast: boolean): Processed | null {
    const { topicId } = this.#place;
    const now = stateOf(this.#completion);
    const processed = processedBetween(this.#reported, now, topicId);
    const ranges = without(processed, this.#unread);
    if (ranges.length === 0 && !isLast) return null;
    this.#unread = this.#unread.filter(([, end]) => end > now.offset);
    const start = this.#start;
    this.#reported = now;
    this.#start = null;
    return { ...this.#place, ranges, ...(start === null ? {} : { start }) };
  }
}

function stateOf(completion: Completion): Commit {
  return { offset: completion.position, metadata: completion.metadata() };
}

/** What is processed in a later state and was not in an earlier one. */
function processedBetween(earlier: Commit, later: Commit, topicId: string): readonly OffsetRange[] {
  const before = finishedIn(earlier, topicId);
  const now: OffsetRange[] = [[earlier.offset, later.offset], ...finishedIn(later, topicId)];
  return without(now, before);
}

/** Both lists are ascending. */
function without(
  ranges: readonly OffsetRange[],
  removed: readonly OffsetRange[],
): readonly OffsetRange[] {
  if (removed.length === 0) return ranges.filter(([from, to]) => from < to);
  let at = 0;
  return ranges.flatMap(([from, to]) => {
    const rest: OffsetRange[] = [];
    let start = from;
    for (; (removed[at]?.[0] ?? to) < to; at += 1) {
      const [begin, end] = removed[at] ?? [to, to];
      if (begin > start) rest.push([start, begin]);
      start = Math.max(start, end);
      if (end > to) break;
    }
    if (start < to) rest.push([start, to]);
    return rest;
  });
}
