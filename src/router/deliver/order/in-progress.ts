/** Counts work in progress, so that a drain can wait for it. */

export class InProgress {
  #count = 0;
  readonly #onIdle: (() => void)[] = [];

  /** @param work must not reject. */
  run(work: () => Promise<unknown>): void {
    this.#count += 1;
    void work().then(() => {
      this.#count -= 1;
      if (this.#count > 0) return;
      for (const then of this.#onIdle.splice(0)) then();
    });
  }

  /** Resolves when nothing is in progress. */
  async ended(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((then) => this.#onIdle.push(then));
  }
}
