/**
 * Selects the headers of a record that fit into the limit together with key and value, and keeps them in their original
 * order. Headers arrive one at a time, and only headers that may be kept are in memory.
 *
 *   a header                                       then
 *   fits in addition to the kept ones              it is kept
 *   does not, and is larger than all kept headers  it is omitted
 *   does not, and a kept one is larger             the largest is omitted instead
 */

import type { CutHeaders } from "../../domain/record.ts";

interface Kept {
  /** The header in the record format. */
  readonly encoded: Buffer;
  readonly name: Buffer;
}

/**
 * A header smaller than this is never omitted to make room for another one, because searching for the largest of many
 * headers would take too long.
 */
const LARGE_BYTES = 1_024;

export class FittingHeaders {
  #left: number;
  readonly #kept = new Set<Kept>();
  readonly #large = new Set<Kept>();
  #count = 0;
  #bytes = 0;
  #largestBytes = -1;
  #largest = "";

  constructor(bytesMax: number) {
    this.#left = bytesMax;
  }

  get kept(): readonly Buffer[] {
    return [...this.#kept].map(({ encoded }) => encoded);
  }

  /** What was omitted; null if nothing was. */
  get cut(): CutHeaders | null {
    if (this.#count === 0) return null;
    return { count: this.#count, bytes: this.#bytes, largest: this.#largest };
  }

  /** Returns `true` if a header of this size should be read, and makes room for it in that case. */
  wants(bytes: number): boolean {
    while (bytes > this.#left) {
      let largest: Kept | undefined;
      for (const each of this.#large) {
        if (each.encoded.length > (largest?.encoded.length ?? bytes)) largest = each;
      }
      if (largest === undefined) return false;
      this.#large.delete(largest);
      this.#kept.delete(largest);
      this.#left += largest.encoded.length;
      this.leaveOut(largest.name, largest.encoded.length);
    }
    return true;
  }

  keep(encoded: Buffer, name: Buffer): void {
    const kept = { encoded, name };
    this.#left -= encoded.length;
    this.#kept.add(kept);
    if (encoded.length >= LARGE_BYTES) this.#large.add(kept);
  }

  /**
   * `true` if little room is left and no kept header may be omitted. All further headers, of which there may be
   * millions, are then skipped, even if a small one would fit.
   */
  get isFull(): boolean {
    return this.#large.size === 0 && this.#left < LARGE_BYTES;
  }

  /** Counts this many headers as omitted. Their names were not read; `bytes` is their total size. */
  leaveOutAll(count: number, bytes: number): void {
    this.#count += count;
    this.#bytes += bytes;
  }

  /** @param name the start of the header's name. */
  leaveOut(name: Buffer, bytes: number): void {
    this.#count += 1;
    this.#bytes += bytes;
    if (bytes <= this.#largestBytes) return;
    this.#largestBytes = bytes;
    this.#largest = name.toString("utf8", 0, NAME_BYTES);
  }
}

/** Maximum number of bytes of an omitted header's name that are kept. */
export const NAME_BYTES = 64;
