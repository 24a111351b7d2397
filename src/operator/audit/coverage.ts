/**
 * The offsets of one partition that are in the ledger. Most ranges are added in ascending order, and join the range
 * before them, so that a day needs no more memory than a minute.
 */

import type { OffsetRange } from "../../kafka/port.ts";

export class Coverage {
  /** Ascending, and not adjacent. */
  #ranges: OffsetRange[] = [];

  /** Adds a range, and returns the parts of it that were added before. */
  add(range: OffsetRange): readonly OffsetRange[] {
    const [from, to] = range;
    const first = this.#firstEndingAt(from);
    let last = first;
    let joined = range;
    const twice: OffsetRange[] = [];
    for (; last < this.#ranges.length; last += 1) {
      const known = this.#ranges[last];
      if (known === undefined || known[0] > to) break;
      const common: OffsetRange = [Math.max(from, known[0]), Math.min(to, known[1])];
      if (common[0] < common[1]) twice.push(common);
      joined = [Math.min(joined[0], known[0]), Math.max(joined[1], known[1])];
    }
    this.#ranges.splice(first, last - first, joined);
    return twice;
  }

  get ranges(): readonly OffsetRange[] {
    return this.#ranges;
  }

  /** The first offset that was added; null if there is none. */
  get first(): number | null {
    return this.#ranges[0]?.[0] ?? null;
  }

  /** The offset after the last one that was added; 0 if there is none. */
  get end(): number {
    return this.#ranges.at(-1)?.[1] ?? 0;
  }

  /** The parts of a range that were not added. */
  holes([from, to]: OffsetRange): readonly OffsetRange[] {
    const holes: OffsetRange[] = [];
    let at = from;
    for (let index = this.#firstEndingAt(from); at < to; index += 1) {
      const [begin, end] = this.#ranges[index] ?? [to, to];
      if (begin > at) holes.push([at, Math.min(begin, to)]);
      at = Math.max(at, end);
    }
    return holes;
  }

  /** The index of the first range that ends at the offset or above it. */
  #firstEndingAt(offset: number): number {
    let low = 0;
    let high = this.#ranges.length;
    if ((this.#ranges.at(-1)?.[1] ?? 0) < offset) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ranges[middle]?.[1] ?? 0) < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
