/**
 * Simulates strict order: only the deliveries of a failing key wait, and no delivery is first attempted before an earlier
 * one of its key is settled (`endpoint.ts` lists the laws, `world.ts` the failures).
 *
 *   SWITCHYARD_SIMULATION_SEEDS=1000   the number of worlds for each weather
 *   SWITCHYARD_SIMULATION_SEED=17      only this world, to examine a failure
 */

import { expect, test } from "vitest";
import { type Seen, World } from "./world.ts";

const SEEDS = Number(process.env.SWITCHYARD_SIMULATION_SEEDS ?? 20);
const ONLY = process.env.SWITCHYARD_SIMULATION_SEED;
const seeds = ONLY === undefined ? [...Array(SEEDS).keys()] : [Number(ONLY)];

test.each(["calm", "killed", "overlap"] as const)(
  "in a %s world the deliveries of each key are first accepted in order, and everything ends",
  async (weather) => {
    const all: Seen[] = [];
    for (const seed of seeds) {
      const world = new World(seed, weather);
      expect(await world.live(), `seed ${seed}`).toEqual([]);
      all.push(world.seen);
    }
    const sum = (count: (seen: Seen) => number) =>
      all.reduce((total, seen) => total + count(seen), 0);
    // Worlds in which nothing waits or fails would prove nothing.
    if (seeds.length >= 20) {
      expect(sum(({ waits }) => waits)).toBeGreaterThan(seeds.length);
      expect(sum(({ deadLetters }) => deadLetters)).toBeGreaterThan(seeds.length);
      if (weather !== "calm") expect(sum(({ kills }) => kills)).toBeGreaterThan(seeds.length);
      if (weather === "overlap")
        expect(sum(({ freezes }) => freezes)).toBeGreaterThan(seeds.length);
    }
    if (weather !== "overlap") expect(sum(({ ghosts }) => ghosts)).toBe(0);
  },
);

/** In these two worlds deliveries wait, are retried, canceled and dead-lettered; dead letters hold their keys in one. */
test.each([
  [4, "kill"],
  [4, "freeze"],
  [6, "kill"],
  [6, "freeze"],
] as const)("in world %i the process may be hit at each step: %s", async (seed, kind) => {
  const undisturbed = new World(seed, "calm");
  await undisturbed.live();
  const { steps } = undisturbed;
  expect(steps).toBeGreaterThan(50);
  const apart = Math.max(1, Math.floor((steps * 3) / SEEDS));
  for (let step = 1; step <= steps; step += apart) {
    const world = new World(seed, "calm", { crash: { step, kind } });
    expect(await world.live(), `step ${step}`).toEqual([]);
    expect(world.seen.kills + world.seen.freezes, `step ${step}`).toBe(1);
  }
});
