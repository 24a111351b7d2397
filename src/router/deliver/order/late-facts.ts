/**
 * Facts that the owner of a partition did not know when they were read. They are looked at together, because there can be
 * very many of them.
 *
 *   the fact                           is
 *   is one of the owner's own          forgotten: the owner wrote it before it was read
 *   is about a delivery that is not    kept, until the delivery is processed
 *   processed
 *   is any other                       late: a former owner wrote it. Its delivery is settled, so it is removed
 */

import type { Fact } from "../../order/facts.ts";

export type Judged = "own" | "unprocessed" | "late";

export class LateFacts {
  readonly #judge: (fact: Fact) => Judged;
  readonly #remove: (fact: Fact) => void;
  readonly #soon: (then: () => void) => void;
  /** Added by `add`; removed by `look`. */
  #unsure: Fact[] = [];
  #isLookingSoon = false;

  /** @param soon calls back after what is being done. */
  constructor(
    judge: (fact: Fact) => Judged,
    remove: (fact: Fact) => void,
    soon: (then: () => void) => void,
  ) {
    this.#judge = judge;
    this.#remove = remove;
    this.#soon = soon;
  }

  /** Looks at the fact soon. */
  add(fact: Fact): void {
    this.#unsure.push(fact);
    if (this.#isLookingSoon) return;
    this.#isLookingSoon = true;
    this.#soon(() => {
      this.#isLookingSoon = false;
      this.look();
    });
  }

  /** Call when more deliveries are processed. */
  look(): void {
    if (this.#unsure.length === 0) return;
    const unsure = this.#unsure;
    this.#unsure = [];
    for (const fact of unsure) {
      const judged = this.#judge(fact);
      if (judged === "unprocessed") this.#unsure.push(fact);
      else if (judged === "late") this.#remove(fact);
    }
  }
}
