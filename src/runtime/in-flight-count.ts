/** Counts what is under way, for those who wait until nothing is. */
export class UnderWay {
  #count = 0;
  #onIdle: (() => void)[] = [];

  /** @param work must not reject. */
  add(work: Promise<void>): void {
    this.#count += 1;
    void work.then(() => {
      this.#count -= 1;
      if (this.#count === 0) for (const then of this.#onIdle.splice(0)) then();
    });
  }

  /** Resolves when nothing is under way. */
  ended(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }
}
