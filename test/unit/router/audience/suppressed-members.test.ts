// Suppressed users in the audience stage, on a Kafka in memory: no calls, no memberships, and new members when lifted.

import { setImmediate as otherWork } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { lift, suppress, suppressing } from "../../../support/build/suppressions.ts";
import { AudienceWorld } from "../../../support/worlds/audience-world.ts";
import { MemoryStore } from "../../../support/worlds/memory-stores.ts";

async function started(...suppressed: readonly string[]) {
  const suppressions = suppressing(...suppressed);
  const world = new AudienceWorld({ suppressions });
  const process = await world.start();
  const next = async (act: () => void) => {
    const before = world.calls().length;
    act();
    await world.settle();
    return world.reported(before);
  };
  return { suppressions, world, process, next };
}

test("a suppressed user does not enter, and the count of the sync still matches", async () => {
  const { world, process, next } = await started("u2");
  expect(await next(() => world.sync("a", "s1", ["u1", "u2", "u2", "u3"]))).toEqual([
    ...["u1 a=true", "u3 a=true"],
  ]);
  expect(await next(() => world.sync("a", "s2", ["u1", "u2"]))).toEqual(["u3 a=false"]);
  expect(world.deadLetters()).toEqual([]);
  const text = await process.metrics.text();
  expect(text).toContain('switchyard_audience_syncs_total{outcome="complete"} 2');
  expect(text).toContain("switchyard_audience_members 1\n");
  expect(text).toMatch(/switchyard_suppressed_total\{stage="audience",destination=""\} [1-9]/);
  await process.close();
});

test("a member who is suppressed is forgotten without a call, and is new when lifted", async () => {
  const { suppressions, world, process, next } = await started();
  await next(() => world.sync("a", "s1", ["u1", "u2"]));
  expect(await next(() => suppress(suppressions, "u1"))).toEqual([]);
  expect(await next(() => world.sync("a", "s2", ["u1", "u2"]))).toEqual([]);
  lift(suppressions, "u1");
  await world.clock.advance(1_000);
  expect(await next(() => world.sync("a", "s3", ["u1", "u2"]))).toEqual(["u1 a=true"]);
  expect(await next(() => world.sync("a", "s4", ["u2"]))).toEqual(["u1 a=false"]);
  await process.close();
});

test("a user who was suppressed while no process ran is forgotten by the next sync, or when lifted", async () => {
  const { suppressions, world, process, next } = await started();
  await next(() => world.sync("a", "s1", ["u1", "u2", "u3"]));
  await process.close();
  for (const userId of ["u1", "u2"]) suppress(suppressions, userId);
  const again = await world.start(process.stores);
  await world.settle();
  lift(suppressions, "u1");
  await world.clock.advance(5_000);
  expect(await next(() => world.sync("a", "s2", ["u1", "u2", "u3"]))).toEqual(["u1 a=true"]);
  expect(await next(() => world.sync("a", "s3", ["u3"]))).toEqual(["u1 a=false"]);
  await again.close();
});

test("a user who was lifted is not forgotten again by the next owner", async () => {
  const { suppressions, world, process, next } = await started("u1");
  await world.settle();
  lift(suppressions, "u1");
  await world.clock.advance(10_000);
  expect(await next(() => world.sync("a", "s1", ["u1"]))).toEqual(["u1 a=true"]);
  const other = await world.start();
  await world.clock.advance(20_000);
  await process.close();
  expect(await next(() => world.sync("a", "s2", ["u1"]))).toEqual([]);
  expect(await next(() => world.sync("a", "s3", []))).toEqual(["u1 a=false"]);
  await other.close();
});

test("a user who arrives between the lift and being forgotten enters once", async () => {
  const { suppressions, world, process, next } = await started("u1");
  await world.settle();
  // Many more than are forgotten in one step, so that the sync is applied in between.
  const others = Array.from({ length: 3_000 }, (_, at) => `other-${at}`);
  for (const userId of [...others, "u1"]) lift(suppressions, userId);
  await next(() => world.sync("a", "s1", ["u1"]));
  for (let turns = 0; turns < 5 * others.length; turns += 1) await otherWork();
  await next(() => world.sync("a", "s2", ["u1"]));
  expect(world.reported()).toEqual(["u1 a=true"]);
  await process.close();
});

test("many users are forgotten in a few writes", async () => {
  const { suppressions, world, process, next } = await started();
  const users = Array.from({ length: 300 }, (_, at) => `u${at}`);
  await next(() => world.sync("a", "s1", users));
  const writes = vi.spyOn(MemoryStore.prototype, "write");
  for (const userId of users) suppress(suppressions, userId);
  for (let seconds = 0; seconds < 20; seconds += 1) {
    for (let turns = 0; turns < users.length; turns += 1) await otherWork();
    await world.clock.advance(1_000);
  }
  const erased = writes.mock.calls.flatMap(([changes]) =>
    changes.filter(([, value]) => value === null),
  );
  expect(erased).toHaveLength(users.length);
  expect(writes.mock.calls.length).toBeLessThan(10);
  writes.mockRestore();
  await process.close();
});

test("a user who is forgotten during a sync counts once in it", async () => {
  const { suppressions, world, process, next } = await started();
  const sync = { audienceId: "a", syncId: "s1" };
  const members = () => world.append({ type: "members", ...sync, userIds: ["u1"] });
  world.append({ type: "begin", audienceName: "a", ...sync });
  expect(await next(members)).toEqual(["u1 a=true"]);
  suppress(suppressions, "u1");
  lift(suppressions, "u1");
  await world.clock.advance(1_000);
  expect(await next(members)).toEqual(["u1 a=true"]);
  await next(() => world.append({ type: "end", ...sync, count: 1 }));
  expect(await process.metrics.text()).toContain(
    'switchyard_audience_syncs_total{outcome="complete"} 1',
  );
  await process.close();
});

test("a suppressed user who leaves, and an audience that is deleted, cause no call for the user", async () => {
  const { suppressions, world, process, next } = await started();
  await next(() => world.sync("a", "s1", ["u1", "u2", "u3"]));
  await process.close();
  for (const userId of ["u1", "u2"]) suppress(suppressions, userId);
  const again = await world.start(process.stores);
  expect(await next(() => world.sync("a", "s2", ["u2", "u3"]))).toEqual([]);
  expect(await next(() => world.append({ type: "delete", audienceId: "a" }))).toEqual([
    "u3 a=false",
  ]);
  await again.close();
});

test("the trait of a suppressed user is not sent, and the next value after the lift is", async () => {
  const { suppressions, world, process, next } = await started();
  const trait = (value: unknown) =>
    world.append({ type: "trait", userId: "u1", traitName: "plan", value });
  expect(await next(() => trait("a"))).toEqual(['u1 plan="a"']);
  suppress(suppressions, "u1");
  await world.clock.advance(1_000);
  expect(await next(() => trait("b"))).toEqual([]);
  lift(suppressions, "u1");
  await world.clock.advance(1_000);
  expect(await next(() => trait("a"))).toEqual(['u1 plan="a"']);
  await process.close();
});
