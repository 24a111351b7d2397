/**
 * The first offset above a damaged batch that can be read, where the batch does not tell its end. A
 * broker finds batches by their lengths and by its index. So it may find none up to the next entry
 * of the index.
 *
 * @param damaged an offset that cannot be read
 * @param end the partition's end; the answer where nothing can be read up to there
 * @param isDamaged asked for few of the offsets, in steps that double, and then in between
 */
export async function firstReadable(
  damaged: number,
  end: number,
  isDamaged: (offset: number) => Promise<boolean>,
): Promise<number> {
  let below = damaged;
  let above = Math.min(end, damaged + 1);
  while (above < end && (await isDamaged(above))) {
    const step = 2 * (above - damaged);
    below = above;
    above = Math.min(end, damaged + step);
  }
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2);
    if (await isDamaged(middle)) below = middle;
    else above = middle;
  }
  return Math.max(above, damaged + 1);
}
