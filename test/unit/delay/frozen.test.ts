// A process that was frozen for longer than its session must not return records that others own by now.

import { expect, test } from "vitest";

import { delaying, TIER_MS } from "../../support/worlds/delay-world.ts";

test("while the partition is certainly ours, what is due is returned", async () => {
  const { clock, park, returned } = await delaying();
  park("m1");
  await clock.advance(TIER_MS - 1);
  expect(returned()).toHaveLength(0);
  await clock.advance(200);
  expect(returned()).toHaveLength(1);
});

test("when it may be another's, nothing is", async () => {
  const { clock, lease, park, returned, failures } = await delaying();
  park("m1");
  await clock.advance(TIER_MS / 2);
  lease.isOurs = false;
  await clock.advance(10 * TIER_MS);
  expect(returned()).toHaveLength(0);
  expect(failures).toEqual([]);
});
