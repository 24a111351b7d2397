/**
 * The outcomes of deliveries that were read back. Their records were processed earlier, so no commit need follow, and they
 * get ledger records of their own.
 */

import type { BookedPartition } from "../../ledger/stage-ledger.ts";
import { type TalliedDelivery, Tallies } from "../../ledger/tallies.ts";
import type { Timer } from "../attempt.ts";
import { type Ended, tally } from "../in-flight.ts";

const WRITE_AFTER_MS = 1_000;

export class LateOutcomes {
  readonly #timer: Pick<Timer, "after">;
  readonly #report: BookedPartition["report"];
  /** Added by `add`; taken by `write`. */
  readonly #outcomes = new Tallies();
  #isWaiting = false;

  constructor(timer: Pick<Timer, "after">, { report }: Pick<BookedPartition, "report">) {
    this.#timer = timer;
    this.#report = report;
  }

  add(delivery: TalliedDelivery, endings: readonly Ended[]): void {
    if (this.#report === undefined) return;
    tally(this.#outcomes, delivery, "in:wait", endings);
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#timer.after(WRITE_AFTER_MS, () => void this.write());
  }

  async write(): Promise<void> {
    this.#isWaiting = false;
    if (!this.#outcomes.isEmpty) await this.#report?.(this.#outcomes);
  }
}
