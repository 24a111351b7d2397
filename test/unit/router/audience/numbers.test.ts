// Numbers of members, which are the positions of the bits for arrivals: if an old number or an old bit counted, a user
// who left would stay a member.

import { expect, test } from "vitest";

import { AudienceWorld } from "../../../support/worlds/audience-world.ts";
import { MemoryStores } from "../../../support/worlds/memory-stores.ts";

const users = (...numbers: number[]) => numbers.map((number) => `u${number}`);

function values(stores: MemoryStores, user: string): readonly string[] {
  const entries = stores.store(0).entries();
  return entries.filter(([key]) => key.endsWith(`/${user}`)).map(([, value]) => value);
}

test("numbers begin again when most are of no use, and the earlier ones count no more", async () => {
  const world = new AudienceWorld();
  const process = await world.start();
  world.sync("a", "s1", users(1, 2, 3, 4, 5, 6));
  world.sync("a", "s2", users(1));
  await world.settle();
  expect(values(process.stores, "u1")).toEqual(["+0.0"]);
  // The sync was interrupted: u1 keeps its earlier number, and u7 gets the same number.
  const next = { audienceId: "a", syncId: "s3" };
  world.append({ type: "begin", audienceName: "a", ...next });
  world.append({ type: "members", ...next, userIds: users(7) });
  await world.settle();
  expect(values(process.stores, "u7")).toEqual([expect.stringMatching(/^\+\w+\.0$/)]);
  world.sync("a", "s4", users(7));
  await world.settle();
  expect(world.reported(11)).toEqual(["u7 a=true", "u1 a=false"]);
  await process.close();
});

test("a member who stays is not written", async () => {
  const world = new AudienceWorld();
  const process = await world.start();
  world.sync("a", "s1", users(1, 2, 3));
  await world.settle();
  const before = users(1, 2, 3).map((user) => values(process.stores, user));
  world.sync("a", "s2", users(1, 2, 3));
  await world.settle();
  expect(users(1, 2, 3).map((user) => values(process.stores, user))).toEqual(before);
  await process.close();
});

test("a user who was forgotten in the middle of a sync arrives again, also when it is read again", async () => {
  const world = new AudienceWorld();
  const here = new MemoryStores();
  const first = await world.start(here);
  const sync = { audienceId: "a", syncId: "s2" };
  world.sync("a", "s1", users(1, 2));
  world.append({ type: "begin", audienceName: "a", ...sync });
  world.append({ type: "members", ...sync, userIds: users(1, 2) });
  await world.settle();
  await first.close();
  const elsewhere = await world.start(new MemoryStores());
  world.append({ type: "forget", userId: "u1" });
  world.append({ type: "members", ...sync, userIds: users(1) });
  await world.settle();
  await elsewhere.close();
  // This store has the bit of u1, and the rest is read again.
  const again = await world.start(here);
  world.append({ type: "end", ...sync, count: 2 });
  await world.settle();
  const ended = again.lines.filter(({ msg }) => msg === "audience.sync.ended");
  expect(ended.map(({ outcome, received }) => [outcome, received])).toEqual([["complete", 2]]);
  expect(world.reported()).toEqual(["u1 a=true", "u2 a=true", "u1 a=true"]);
  await again.close();
});
