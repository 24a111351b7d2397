/** What is not promised, as counterexamples that remain. */

import { expect, test } from "vitest";
import { Facts } from "../../../src/router/order/facts.ts";
import { begun, restored } from "../../../src/router/order/key-order.ts";
import { factOf } from "./setup.ts";
import { World } from "./world.ts";

test("a request of a frozen process for what became a dead letter meanwhile may be accepted after later ones", async () => {
  const world = new World(217, "overlap");
  expect(await world.live()).toEqual([]);
  expect(world.seen.ghosts).toBeGreaterThan(0);
});

test("a fact of a frozen process that arrives while the partition moves lets one delivery be repeated alone", () => {
  const facts = new Facts();
  // The former owner accepted 5 and 6 and removed their facts. Then the fact of the owner before it arrives.
  facts.apply(factOf("wait/5/k"), true);
  const actions = begun(restored(facts.known("k")));
  expect(actions).toMatchObject([{ kind: "attempt", offset: 5 }]);
});
