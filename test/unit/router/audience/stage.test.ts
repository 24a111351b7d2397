// The audience stage on a Kafka in memory: the calls for users, and the stored state.

import { expect, test } from "vitest";

import type { SourceId } from "../../../../src/domain/ids.ts";
import { listsOf } from "../../../support/build/lists.ts";
import { AudienceWorld, topics } from "../../../support/worlds/audience-world.ts";

test("a first sync reports all members, a repeated one none, a changed one those who changed", async () => {
  const world = new AudienceWorld();
  const process = await world.start();
  world.sync("a1", "s1", ["u1", "u2", "u3", "u4"], "VIP Customers");
  await world.settle();
  expect(world.reported()).toEqual([1, 2, 3, 4].map((user) => `u${user} vip_customers=true`));
  world.sync("a1", "s2", ["u4", "u3", "u2", "u1"], "VIP Customers");
  await world.settle();
  expect(world.reported()).toHaveLength(4);
  world.sync("a1", "s3", ["u2", "u3", "u5"], "Renamed");
  await world.settle();
  expect(world.reported(4)).toEqual([
    "u5 vip_customers=true",
    "u1 vip_customers=false",
    "u4 vip_customers=false",
  ]);
  expect(await world.committed()).toEqual([11]);
  await process.close();
  expect(process.failures).toEqual([]);
  expect(world.deadLetters()).toEqual([]);
});

test("users whose ids differ beyond 2^53 are users of their own, in every kind of record", async () => {
  const world = new AudienceWorld();
  const process = await world.start();
  const ids = [157963456373623801n, 157963456373623802n, -9223372036854775808n];
  const of = `"audienceId":9007199254740993,"syncId":9007199254740995`;
  world.append(`{"type":"begin",${of},"audienceName":"VIP"}`);
  world.append(`{"type":"members",${of},"userIds":[${ids}]}`);
  world.append(`{"type":"end",${of},"count":3}`);
  await world.settle();
  expect(world.reported().toSorted()).toEqual(ids.map((id) => `${id} vip=true`).toSorted());
  const next = of.replace("995", "997");
  world.append(`{"type":"snapshot",${next},"audienceName":"VIP","userIds":[${ids.slice(1)}]}`);
  world.append(`{"type":"trait","traitName":"Score","userId":${ids[1]},"value":7}`);
  await world.settle();
  expect(world.reported(3)).toEqual([`${ids[0]} vip=false`, `${ids[1]} score=7`]);
  expect(world.deadLetters()).toEqual([]);
  await process.close();
});

test("other settings of audiences count from the next record; a claimed key stays", async () => {
  const world = new AudienceWorld({ defaultSource: null });
  const process = await world.start();
  world.sync("a1", "s1", ["u1"], "VIP");
  await world.settle();
  expect(world.reported()).toEqual([]);
  expect(world.deadLetters()).toHaveLength(2 + 1);
  process.stage.update?.(listsOf({ defaultSource: "web" as SourceId }));
  world.sync("a1", "s2", ["u1"], "VIP");
  await world.settle();
  expect(world.reported()).toEqual(["u1 vip=true"]);
  const own = {
    id: "a1",
    key: "other",
    source: "web" as SourceId,
    approvalShare: 0.1,
    approvalMinimum: 0,
  };
  const audiences = [{ ...own, integrations: { All: false } }];
  process.stage.update?.(listsOf({ audiences }));
  world.sync("a1", "s3", ["u1", "u2"], "VIP");
  await world.settle();
  expect(world.reported(1)).toEqual(["u2 vip=true"]);
  // With the new settings, it awaits approval.
  world.sync("a1", "s4", ["u1"], "VIP");
  await world.settle();
  expect(world.reported(2)).toEqual([]);
  await process.close();
  expect(process.failures).toEqual([]);
});

test("killed in the middle of records that are worked on together, the rest arrives", async () => {
  const world = new AudienceWorld();
  const first = await world.start();
  const users = Array.from({ length: 6_000 }, (_, index) => `u${index}`);
  world.append({ type: "begin", audienceId: "a1", audienceName: "VIP", syncId: "s1" });
  for (let from = 0; from < users.length; from += 1_500) {
    const userIds = users.slice(from, from + 1_500);
    world.append({ type: "members", audienceId: "a1", syncId: "s1", userIds });
  }
  // Some of the steps are written, but not all.
  await world.until(() => world.cluster.records(topics.calls).length >= 3_000);
  expect(world.calls().length).toBeLessThan(users.length);
  first.kill();
  const next = await world.start(first.stores);
  world.append({ type: "end", audienceId: "a1", syncId: "s1", count: users.length });
  const again = { type: "snapshot", audienceId: "a1", audienceName: "VIP", syncId: "s2" };
  world.append({ ...again, userIds: users.slice(1) });
  await world.settle();
  await next.close();
  const ended = next.lines.filter(({ msg }) => msg === "audience.sync.ended");
  expect(ended.map(({ outcome, received }) => [outcome, received])).toEqual([
    ["complete", 6_000],
    ["complete", 5_999],
  ]);
  expect(world.reported().at(-1)).toBe("u0 vip=false");
  expect(new Set(world.calls().map(({ messageId }) => messageId)).size).toBe(6_001);
  expect(next.failures).toEqual([]);
});
