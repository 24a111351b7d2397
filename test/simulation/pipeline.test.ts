/**
 * Simulates the whole pipeline with all kinds of failures, many times.
 *
 *   SWITCHYARD_SIMULATION_SEEDS=1000   the number of worlds for each weather
 *   SWITCHYARD_SIMULATION_SEED=17      only this world, to examine a failure
 */

import { expect, test } from "vitest";

import { World } from "./world.ts";

const SEEDS = Number(process.env.SWITCHYARD_SIMULATION_SEEDS ?? 15);
const ONLY = process.env.SWITCHYARD_SIMULATION_SEED;
const seeds = ONLY === undefined ? [...Array(SEEDS).keys()] : [Number(ONLY)];

test.each(["calm", "rough"] as const)(
  "in a %s world no call is lost, early, late or repeated without cause",
  async (weather) => {
    for (const seed of seeds) {
      const found = await new World(seed).live(weather);
      expect(found, `seed ${seed}`).toEqual([]);
    }
  },
);
