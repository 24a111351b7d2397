/**
 * Keeps the counts of the last hours or minutes, in slots of equal length. The oldest slot is reused.
 *
 *   a slot                      its rate
 *   was measured completely     its count, divided by its length
 *   was measured in part        its count, divided by that part; the slot is the current one, or measuring started in it
 *   was not measured            null
 */

export class Ring {
  readonly stepMs: number;
  readonly #width: number;
  readonly #slots: number;
  readonly #counts: Float32Array;
  readonly #coveredMs: Float64Array;
  /** The number of the latest slot, counted from the epoch; null if nothing has been added. */
  #latest: number | null = null;

  constructor(shape: { readonly stepMs: number; readonly slots: number; readonly width: number }) {
    this.stepMs = shape.stepMs;
    this.#width = shape.width;
    this.#slots = shape.slots;
    this.#counts = new Float32Array(shape.slots * shape.width);
    this.#coveredMs = new Float64Array(shape.slots);
  }

  /**
   * Adds what was counted in the `overMs` milliseconds before `atMs`. All of it is added to the slot that contains
   * `atMs`.
   */
  add(counted: ArrayLike<number>, overMs: number, atMs: number): void {
    const slot = this.#open(Math.floor(atMs / this.stepMs));
    if (slot === null) return;
    this.#coveredMs[slot] = (this.#coveredMs[slot] ?? 0) + overMs;
    const from = slot * this.#width;
    for (let place = 0; place < this.#width; place += 1) {
      this.#counts[from + place] = (this.#counts[from + place] ?? 0) + (counted[place] ?? 0);
    }
  }

  /**
   * Calls `read` for each slot up to the one that contains `atMs`, and returns the results; null for a slot that was
   * not measured.
   */
  read<Value>(
    atMs: number,
    read: (counts: Float32Array, coveredMs: number) => Value,
  ): { readonly fromMs: number; readonly values: readonly (Value | null)[] } {
    const end = Math.floor(atMs / this.stepMs);
    const first = end - this.#slots + 1;
    const values = Array.from({ length: this.#slots }, (_, index) => {
      const slot = this.#placeOf(first + index);
      const coveredMs = slot === null ? 0 : (this.#coveredMs[slot] ?? 0);
      if (slot === null || coveredMs <= 0) return null;
      const from = slot * this.#width;
      return read(this.#counts.subarray(from, from + this.#width), coveredMs);
    });
    return { fromMs: first * this.stepMs, values };
  }

  /** Returns null if the slot with this number is older than all stored slots. */
  #placeOf(number: number): number | null {
    const latest = this.#latest;
    if (latest === null || number > latest || number <= latest - this.#slots) return null;
    return number % this.#slots;
  }

  #open(number: number): number | null {
    const latest = this.#latest ?? number - this.#slots;
    // Clears all slots since the latest one. Each slot is cleared at most once.
    for (let next = Math.max(latest + 1, number - this.#slots + 1); next <= number; next += 1) {
      const slot = next % this.#slots;
      this.#counts.fill(0, slot * this.#width, (slot + 1) * this.#width);
      this.#coveredMs[slot] = 0;
    }
    this.#latest = Math.max(latest, number);
    return this.#placeOf(number);
  }
}
