// `audience-syncs` is recreated, and its offsets start at 0 again: none of its records is skipped.

import { expect, test } from "vitest";

import {
  AudienceWorld,
  topics,
  type WorldOptions,
} from "../../../support/worlds/audience-world.ts";
import { MemoryStores } from "../../../support/worlds/memory-stores.ts";

/** Writes syncs that are longer than the content of the next topic, and recreates the topic. */
async function anew(options: WorldOptions = {}) {
  const world = new AudienceWorld(options);
  const stores = new MemoryStores();
  const process = await world.start(stores);
  world.sync("a1", "s1", ["u1", "u2", "u3", "u4", "u5", "u6", "u7"], "VIP");
  world.sync("a1", "s2", ["u1", "u2", "u3"], "VIP");
  await world.settle();
  expect(world.reported()).toHaveLength(7 + 4);
  await process.close();
  expect(warnings(process)).toEqual([]);
  await world.makeSyncsAnew();
  return { world, stores };
}

type Process = Awaited<ReturnType<AudienceWorld["start"]>>;

function warnings({ lines }: Process) {
  return lines.filter(({ msg }) => msg === "audience.topic.recreated");
}

function origins(world: AudienceWorld): readonly unknown[] {
  return world.cluster
    .records(topics.audienceMembers)
    .filter(({ key }) => `${key}` === "o")
    .map(({ value }) => JSON.parse(`${value}`));
}

test.each([
  ["kept", (stores: MemoryStores) => stores],
  ["lost", () => new MemoryStores()],
])("with a store that is %s, users who entered and left are reported", async (_, storesOf) => {
  const { world, stores } = await anew();
  const process = await world.start(storesOf(stores));
  world.sync("a1", "s3", ["u2", "u4"], "VIP");
  await world.settle();
  expect(world.reported(11)).toEqual(["u4 vip=true", "u1 vip=false", "u3 vip=false"]);
  expect(await world.committed()).toEqual([3]);
  expect(warnings(process)).toMatchObject([{ level: "warn", stage: "audience", partition: 0 }]);
  expect(process.failures).toEqual([]);
  await process.close();
});

test("a sync id that is over stays so", async () => {
  const { world, stores } = await anew();
  const process = await world.start(stores);
  world.sync("a1", "s1", ["u9"], "VIP");
  await world.settle();
  expect(world.reported(11)).toEqual([]);
  expect(await world.committed()).toEqual([3]);
  await process.close();
});

test("it is noticed once: later owners count from the same base, on this machine and another", async () => {
  const { world, stores } = await anew();
  const first = await world.start(stores);
  world.sync("a1", "s3", ["u2", "u4"], "VIP");
  await world.settle();
  first.kill();
  for (const next of [stores, new MemoryStores()]) {
    const process = await world.start(next);
    await world.clock.advance(11_000);
    world.sync("a1", "s3", ["u9"], "VIP");
    await world.settle();
    expect(warnings(process)).toEqual([]);
    await process.close();
  }
  expect(world.reported(14)).toEqual([]);
  expect(origins(world)).toEqual([
    { topicId: expect.any(String), base: 0 },
    { topicId: expect.any(String), base: 9 },
  ]);
});

test("recreated again and again, each topic has a base of its own", async () => {
  const { world, stores } = await anew();
  for (const sync of ["s3", "s4", "s5"]) {
    const process = await world.start(stores);
    world.sync("a1", sync, [sync], "VIP");
    await world.settle();
    await process.close();
    await world.makeSyncsAnew();
  }
  expect(world.reported(11).slice(-2)).toEqual(["s5 vip=true", "s4 vip=false"]);
  expect(origins(world)).toMatchObject([{ base: 0 }, { base: 9 }, { base: 13 }, { base: 17 }]);
});

test("a dead letter names the offset on the topic", async () => {
  const { world, stores } = await anew();
  const process = await world.start(stores);
  world.sync("a1", "s3", ["u1"], "VIP");
  world.append({ type: "end", audienceId: "a1", syncId: "unknown", count: 1 });
  await world.settle();
  expect(world.deadLetters()).toEqual([expect.stringMatching(/^3 invalid-sync: /)]);
  await process.close();
});

test("an open sync holds the commit at its begin on the topic; one of the topic before does not", async () => {
  const { world, stores } = await anew();
  const before = await world.start(stores);
  const [begin, members] = [
    { type: "begin", audienceId: "a1", audienceName: "VIP", syncId: "s3" },
    { type: "members", audienceId: "a1", syncId: "s3", userIds: ["u1"] },
  ];
  world.append(begin);
  world.append(members);
  await world.settle();
  // The fact that it was processed is also committed.
  expect(await world.committed()).toEqual([0]);
  await before.close();
  await world.makeSyncsAnew();
  const process = await world.start(stores);
  world.sync("a2", "s1", ["x1"], "Other");
  await world.settle();
  expect(await world.committed()).toEqual([3]);
  world.append({ ...begin, audienceId: "a2", audienceName: "Other", syncId: "s2" });
  await world.settle();
  expect(await world.committed()).toEqual([3]);
  // This is the rest of a sync that started in the previous topic.
  world.append({ type: "end", audienceId: "a1", syncId: "s3", count: 1 });
  world.append({ type: "end", audienceId: "a2", syncId: "s2", count: 0 });
  await world.settle();
  expect(world.reported(11)).toEqual([
    "x1 other=true",
    "u2 vip=false",
    "u3 vip=false",
    "x1 other=false",
  ]);
  expect(await world.committed()).toEqual([6]);
  await process.close();
});

test("brokers that know ids from now on: one that is shorter than what was applied is another", async () => {
  let notes = false;
  const { world, stores } = await anew({ knowsIds: () => notes });
  expect(origins(world)).toEqual([]);
  notes = true;
  const process = await world.start(stores);
  world.sync("a1", "s3", ["u2", "u4"], "VIP");
  await world.settle();
  await process.close();
  expect(world.reported(11)).toEqual(["u4 vip=true", "u1 vip=false", "u3 vip=false"]);
  expect(warnings(process)).toHaveLength(1);
  expect(origins(world)).toEqual([{ topicId: expect.stringMatching(/./), base: 9 }]);
});

test("brokers that know no ids: offsets beyond the log show it; an id that is known later is noted", async () => {
  let knows = false;
  const { world, stores } = await anew({ knowsIds: () => knows });
  const without = await world.start(stores);
  world.sync("a1", "s3", ["u2", "u4"], "VIP");
  await world.settle();
  expect(world.reported(11)).toEqual(["u4 vip=true", "u1 vip=false", "u3 vip=false"]);
  expect(warnings(without)).toHaveLength(1);
  await without.close();
  knows = true;
  const process = await world.start(stores);
  world.sync("a1", "s4", ["u2"], "VIP");
  await world.settle();
  await process.close();
  expect(warnings(process)).toEqual([]);
  expect(world.reported(14)).toEqual(["u4 vip=false"]);
  expect(origins(world)).toEqual([
    { topicId: "", base: 9 },
    { topicId: expect.stringMatching(/./), base: 9 },
  ]);
});
