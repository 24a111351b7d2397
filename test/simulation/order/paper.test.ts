/**
 * Counterexamples to the design that was reasoned on paper: the owner of the queue writes later deliveries of a key behind
 * the failing one, the owner of the retry topic attempts them in order, and two records for each key say how far each of
 * them got. `steps.ts` avoids them: later deliveries stay in the queue, and each fact is about one delivery.
 */

import { expect, test } from "vitest";
import { Facts } from "../../../src/router/order/facts.ts";
import { factOf, OneFactEach } from "./setup.ts";

/** Puts the copies of one key in order, as the owner of the retry topic would from what it remembers. */
class Sequencer {
  readonly #done: number;
  /** A delivery that failed and waits in a longer delay topic. */
  #failed: number | null = null;

  constructor(done: number) {
    this.#done = done;
  }

  take(offset: number): "drop" | "attempt" | "behind" {
    if (offset <= this.#done) return "drop";
    return this.#failed !== null && offset > this.#failed ? "behind" : "attempt";
  }

  failed(offset: number): void {
    this.#failed = offset;
  }
}

test("a retry topic that moves: its next owner does not know that an earlier delivery waits elsewhere", () => {
  const first = new Sequencer(4);
  expect(first.take(5)).toBe("attempt");
  first.failed(5);
  // 5 is in the delay topic of 30 s, and its record is committed. 6 returns from the delay topic of 10 s.
  expect(first.take(6)).toBe("behind");
  const next = new Sequencer(4);
  expect(next.take(6)).toBe("attempt");
});

function known(facts: Facts, ...names: readonly string[]) {
  for (const name of names) facts.apply(factOf(`${name}/k`), true);
  return facts.known("k");
}

test("one record for each key: a late write of a former owner hides what its successor wrote", () => {
  const written = ["retry/6", "retry/5", "settled/5"];
  expect(known(new OneFactEach(), ...written).head).toBe(null);
  expect(known(new Facts(), ...written).head).toBe(6);
});

test("one record for each key: after a late write, the key waits for a delivery that is settled", () => {
  const written = ["retry/6", "settled/6", "settled/5"];
  expect(known(new OneFactEach(), ...written).head).toBe(6);
  expect(known(new Facts(), ...written).head).toBe(null);
});
