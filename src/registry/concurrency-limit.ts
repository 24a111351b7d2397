/** So many things at once, the others in turn. */
export class Slots {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Null: the signal had aborted when its turn came. */
  async during<Result>(work: () => Promise<Result>, signal: AbortSignal): Promise<Result | null> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return signal.aborted ? null : await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}
