/**
 * The first offset above a corrupt batch that can be read, where the batch does not tell its end. A
 * broker finds batches by their lengths and by its index. So it may find none up to the next entry
 * of the index.
 *
 * @param corrupt an offset that cannot be read
 * @param end the partition's end; the answer where nothing can be read up to there
 * @param isCorrupt asked for few of the offsets, in steps that double, and then in between
 */
export async function firstReadable(
  corrupt: number,
  end: number,
  isCorrupt: (offset: number) => Promise<boolean>,
): Promise<number> {
  let below = corrupt;
  let above = Math.min(end, corrupt + 1);
  while (above < end && (await isCorrupt(above))) {
    const step = 2 * (above - corrupt);
    below = above;
    above = Math.min(end, corrupt + step);
  }
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2);
    if (await isCorrupt(middle)) below = middle;
    else above = middle;
  }
  return Math.max(above, corrupt + 1);
}
