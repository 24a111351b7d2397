/**
 * Each rule of the design is needed: without it, a law is broken. So the laws can fire, and each of these worlds is a
 * counterexample to a simpler design. What it shows is its name.
 *
 *   SWITCHYARD_SIMULATION_SEEDS=1000   each row searches this many worlds if its own no longer shows it
 */

import { expect, test } from "vitest";
import type { Law } from "./endpoint.ts";
import type { Rule } from "./steps.ts";
import { type Weather, World } from "./world.ts";

const SEEDS = Number(process.env.SWITCHYARD_SIMULATION_SEEDS ?? 30);

test.each<[string, Rule, Weather, Law, number]>([
  ["later deliveries overtake, as in a loose destination", "wait-behind", "calm", "inversion", 0],
  [
    "a commit before the fact: the next owner does not know that a key waits",
    "fact-before-finish",
    "killed",
    "inversion",
    6,
  ],
  [
    "a fact before the copy: the key waits for a copy that was never written",
    "copy-before-fact",
    "killed",
    "stuck",
    24,
  ],
  [
    "a delivery is set aside before the fact about an earlier one: the next owner starts with it",
    "retry-before-wait",
    "killed",
    "inversion",
    11,
  ],
  [
    "a waiting delivery is forgotten before its retry is known: the next owner skips it",
    "forget-last",
    "killed",
    "inversion",
    24,
  ],
  [
    "an expired retry does not settle: its key waits forever",
    "dead-letters-settle",
    "calm",
    "stuck",
    1,
  ],
  [
    "a rejection does not settle: it is attempted again after a later one was accepted",
    "buried-settle",
    "killed",
    "left",
    200,
  ],
  ["a canceled retry does not settle: its key waits forever", "cancels-settle", "calm", "stuck", 3],
  [
    "a second copy is attempted after the first one expired",
    "drop-settled-copies",
    "overlap",
    "left",
    12,
  ],
  ["an owner starts before it has read all facts", "read-to-the-end", "killed", "inversion", 13],
  [
    "facts about settled deliveries are removed at once: a second copy is attempted",
    "keep-settled",
    "killed",
    "left",
    31,
  ],
  [
    "one fact for each key: a late write hides what another owner wrote",
    "one-fact-each",
    "overlap",
    "inversion",
    249,
  ],
  [
    "a delivery that is read again is attempted although a later one waits",
    "no-fact-is-settled",
    "overlap",
    "backwards",
    767,
  ],
  [
    "a process that was frozen attempts what was settled meanwhile",
    "ours-before-attempt",
    "overlap",
    "left",
    221,
  ],
  [
    "blocked keys wait for the bound that they have reached",
    "blocked-keys-continue",
    "calm",
    "stuck",
    0,
  ],
  ["copies return to a queue that waits for them", "copies-avoid-queue", "calm", "lost", 20],
])("%s", async (_, broken, weather, law, first) => {
  const seeds = [first, ...Array(SEEDS).keys()];
  const laws = new Set<Law>();
  for (const seed of seeds) {
    const found = await new World(seed, weather, { design: { broken } }).live();
    for (const each of found) laws.add(each.law);
    if (laws.has(law)) break;
  }
  expect([...laws]).toContain(law);
});
