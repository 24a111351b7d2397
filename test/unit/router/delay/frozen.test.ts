// A process that was frozen for longer than its session must not return records that others own by now.

import { expect, test } from "vitest";

import { DELAY_MS, delaying } from "../../../support/worlds/delay-world.ts";

test("while the partition is certainly ours, what is due is returned", async () => {
  const { clock, scheduleRetry, returned } = await delaying();
  scheduleRetry("m1");
  await clock.advance(DELAY_MS - 1);
  expect(returned()).toHaveLength(0);
  await clock.advance(200);
  expect(returned()).toHaveLength(1);
});

test("when it may be another's, nothing is", async () => {
  const { clock, lease, scheduleRetry, returned, failures } = await delaying();
  scheduleRetry("m1");
  await clock.advance(DELAY_MS / 2);
  lease.isOurs = false;
  await clock.advance(10 * DELAY_MS);
  expect(returned()).toHaveLength(0);
  expect(failures).toEqual([]);
});
