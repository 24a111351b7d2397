// Suppressed users in the audience stage, on a Kafka in memory: no calls, no memberships, and new members when lifted.

import { expect, test } from "vitest";
import { lift, suppress, suppressing } from "../../../support/build/suppressions.ts";
import { AudienceWorld } from "../../../support/worlds/audience-world.ts";

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
  lift(suppressions, "u1");
  await world.clock.advance(5_000);
  expect(await next(() => world.sync("a", "s2", ["u1", "u2", "u3"]))).toEqual(["u1 a=true"]);
  expect(await next(() => world.sync("a", "s3", ["u3"]))).toEqual(["u1 a=false"]);
  await again.close();
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
