/**
 * The partitions that may have records of a key since an instant. Partitions of a topic can have become
 * more since then: a record lies where its key belonged among as many as there were.
 *
 *   partition n has                          then there were since that instant
 *   a record of an earlier time, or had one  at least n + 1
 *   none                                     perhaps fewer: it may be new, or quiet
 *
 * So a topic that is written all the time costs nothing more. A topic that was made anew has records of
 * its present count alone. Where records are removed by size, one of a new partition that is removed
 * looks as an earlier one does.
 */

export interface PartitionStart {
  readonly partition: number;
  /** Of the first record of that instant or later; above 0: there was an earlier one. */
  readonly offset: number;
}

/** @param partitionOf a key, among so many partitions. */
export function partitionsOfKeys(
  keys: readonly string[],
  starts: readonly PartitionStart[],
  partitionOf: (key: Uint8Array, partitions: number) => number,
): ReadonlySet<number> {
  const had = starts.filter(({ offset }) => offset > 0).map(({ partition }) => partition + 1);
  const least = Math.max(1, ...had);
  const found = new Set<number>();
  for (const key of keys) {
    const bytes = Buffer.from(key);
    for (let count = least; count <= starts.length; count += 1) {
      found.add(partitionOf(bytes, count));
    }
  }
  return found;
}
