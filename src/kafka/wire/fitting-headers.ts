/**
 * The headers of a record that fit into what is left beside its key and value, in their order. They
 * come one after the other, and no more of them is held than may be kept.
 *
 *   a header                                     then
 *   fits beside those so far                     it is kept
 *   does not, and is larger than each of them    it is left out
 *   does not, and one of them is larger          the largest is left out in its place
 */

import type { CutHeaders } from "../../domain/record.ts";

interface Kept {
  /** As the record format has it. */
  readonly encoded: Buffer;
  readonly name: Buffer;
}

/** Smaller ones are never left out for another: to look for the largest of them would take long. */
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

  /** Null: none was left out. */
  get cut(): CutHeaders | null {
    if (this.#count === 0) return null;
    return { count: this.#count, bytes: this.#bytes, largest: this.#largest };
  }

  /** Whether a header of so many bytes is to be read; room is made for it. */
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

  /** Whether no small header can find room any more: there may be millions. */
  get isFull(): boolean {
    return this.#large.size === 0 && this.#left < LARGE_BYTES;
  }

  /** So many headers, of so many bytes together, whose names nobody has read. */
  leaveOutAll(count: number, bytes: number): void {
    this.#count += count;
    this.#bytes += bytes;
  }

  /** @param name its beginning. */
  leaveOut(name: Buffer, bytes: number): void {
    this.#count += 1;
    this.#bytes += bytes;
    if (bytes <= this.#largestBytes) return;
    this.#largestBytes = bytes;
    this.#largest = name.toString("utf8", 0, NAME_BYTES);
  }
}

/** Of the name of a header that is left out. */
export const NAME_BYTES = 64;
