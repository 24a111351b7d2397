// Syncs in the stage on a Kafka in memory: rejected ones, those that await approval, several partitions, and a change
// of the owner.

import { expect, test } from "vitest";

import type { SourceId } from "../../../../src/domain/ids.ts";
import { AudienceWorld, topics } from "../../../support/worlds/audience-world.ts";
import { MemoryStores } from "../../../support/worlds/memory-stores.ts";

const DAY_MS = 86_400_000;
const users = (...numbers: number[]) => numbers.map((number) => `u${number}`);

test("what breaks the protocol is a dead letter that says why, and the rest continues", async () => {
  const world = new AudienceWorld();
  const process = await world.start();
  world.append("{");
  world.append({ type: "members", audienceId: "a", syncId: "s", userIds: ["u1"] });
  world.append({ type: "begin", audienceId: "a", audienceName: "A", syncId: "s" });
  world.append({ type: "members", audienceId: "a", syncId: "s", userIds: ["u1", null] });
  world.append({ type: "end", audienceId: "a", syncId: "other", count: 0 });
  world.append({ type: "members", audienceId: "a", syncId: "s", userIds: ["u2"] });
  await world.settle();
  expect(world.deadLetters()).toEqual([
    "0 undecodable: the value is not JSON, at character 1",
    '1 invalid-sync: the members record belongs to audience "a", which has no sync',
    "3 invalid-sync: userIds[1] is null, expected a string or a number",
    '4 invalid-sync: the end record belongs to sync "other", which has no begin record',
  ]);
  expect(world.reported()).toEqual(["u2 a=true"]);
  const text = await process.metrics.text();
  expect(text).toContain(
    'switchyard_dead_letters_total{stage="audience",reason="invalid-sync",destination=""} 3',
  );
  expect(text).toContain("switchyard_audience_members 1\n");
  expect(text).toContain("switchyard_audience_syncs_open 1\n");
  await process.close();
});

test("a key that another audience has is rejected, whoever owns its partition; a configured one is not", async () => {
  const world = new AudienceWorld({ partitions: 4 });
  const process = await world.start();
  world.append(
    { type: "snapshot", audienceId: "a", audienceName: "VIP", syncId: "s", userIds: ["u1"] },
    0,
  );
  await world.settle();
  world.append(
    { type: "snapshot", audienceId: "b", audienceName: "vip", syncId: "s", userIds: ["u2"] },
    1,
  );
  world.append(
    { type: "snapshot", audienceId: "a", audienceName: "VIP", syncId: "s", userIds: ["u3"] },
    2,
  );
  await world.settle();
  expect(world.reported()).toEqual(["u1 vip=true"]);
  const [key = "", partition = ""] = world.deadLetters();
  expect([key, partition].sort().join()).toMatch(/another audience has the key "vip"/);
  expect([key, partition].join()).toMatch(/also has records in partition 0/);
  world.append({ type: "delete", audienceId: "a" }, 0);
  await world.settle();
  world.append(
    { type: "snapshot", audienceId: "b", audienceName: "vip", syncId: "s2", userIds: ["u2"] },
    1,
  );
  await world.settle();
  expect(world.reported(1)).toEqual(["u1 vip=false", "u2 vip=true"]);
  await process.close();
});

test("without a source nothing is sent; settings decide source, key and integrations", async () => {
  const source = "crm" as SourceId;
  const integrations = { All: false, Webhooks: true };
  const special = { id: "a", key: "special", approvalShare: null, approvalMinimum: null };
  const world = new AudienceWorld({
    defaultSource: null,
    audiences: [{ ...special, source, integrations }],
  });
  const process = await world.start();
  world.sync("b", "s1", users(1));
  world.append({ type: "trait", userId: "u1", traitName: "Plan", value: 1 });
  world.sync("a", "s1", users(1));
  await world.settle();
  expect(world.reported()).toEqual(["u1 special=true"]);
  expect(world.calls()[0]).toMatchObject({ integrations: { All: false, Webhooks: true } });
  const [call] = world.cluster.records(topics.calls);
  expect(call?.headers).toEqual([["source-id", Buffer.from("crm")]]);
  expect(world.deadLetters()).toHaveLength(4);
  expect(world.deadLetters()[0]).toContain("the calls would have no source");
  await process.close();
});

test("a sync that awaits approval removes nobody until it is approved, and only those judged then", async () => {
  const world = new AudienceWorld({ defaults: { approvalShare: 0.5, approvalMinimum: 2 } });
  const process = await world.start();
  world.sync("a", "s1", users(1, 2, 3, 4));
  world.sync("a", "s2", users(5));
  await world.settle();
  expect(world.reported(4)).toEqual(["u5 a=true"]);
  expect(await world.committed()).toEqual([7]);
  const ended = process.lines.filter(({ msg }) => msg === "audience.sync.ended");
  expect(ended.map(({ outcome, level }) => [outcome, level])).toEqual([
    ["complete", "info"],
    ["awaiting-approval", "warn"],
  ]);
  expect(await process.metrics.text()).toContain("switchyard_audience_syncs_awaiting_approval 1\n");
  // The sync still awaits approval after another process has rebuilt the state.
  process.kill();
  const other = await world.start();
  world.append({ type: "begin", audienceId: "a", audienceName: "a", syncId: "s3" });
  world.append({ type: "members", audienceId: "a", syncId: "s3", userIds: ["u2"] });
  world.append({ type: "end", audienceId: "a", syncId: "s2", count: 1 });
  await world.settle();
  expect(world.reported(5)).toEqual([]);
  world.append({ type: "approve", audienceId: "a", syncId: "s2" });
  await world.settle();
  expect(world.reported(5)).toEqual(["u1 a=false", "u3 a=false", "u4 a=false"]);
  await other.close();
});

test("a sync without its end is abandoned after a day, also when no record comes", async () => {
  const world = new AudienceWorld();
  const process = await world.start();
  world.sync("a", "s1", users(1, 2));
  world.append({ type: "begin", audienceId: "a", audienceName: "a", syncId: "s2" });
  world.append({ type: "members", audienceId: "a", syncId: "s2", userIds: ["u3"] });
  await world.settle();
  expect(await world.committed()).toEqual([3]);
  await world.clock.advance(DAY_MS + 120_000);
  await world.until(() => process.lines.some(({ outcome }) => outcome === "abandoned"));
  await world.clock.advance(10_000);
  expect(await world.committed()).toEqual([5]);
  world.append({ type: "end", audienceId: "a", syncId: "s2", count: 1 });
  await world.settle();
  expect(world.reported(2)).toEqual(["u3 a=true"]);
  await process.close();
});

const TRAIT = { type: "trait", userId: "other", traitName: "Plan", value: 1 };

test.each([2, -2])("%d days between the clocks of two programs abandon no sync", async (days) => {
  const world = new AudienceWorld();
  await world.clock.advance(10 * DAY_MS);
  const process = await world.start();
  const nowMs = world.clock.nowMs();
  /** The times of the sync's own records, and of the other program's record. */
  const [ownMs, otherMs] =
    days > 0 ? [nowMs, nowMs + days * DAY_MS] : [nowMs + days * DAY_MS, nowMs];
  const append = (value: object, timestampMs: number) =>
    Object.defineProperty(world.append({ ...value }), "timestampMs", { value: timestampMs });
  const sync = { audienceId: "a", syncId: "s1" };
  append({ type: "begin", audienceName: "a", ...sync }, ownMs);
  append({ type: "members", ...sync, userIds: ["u1"] }, ownMs);
  append(TRAIT, otherMs);
  append({ type: "members", ...sync, userIds: ["u2"] }, ownMs);
  append({ type: "end", ...sync, count: 2 }, ownMs);
  await world.settle();
  expect(world.reported()).toEqual(expect.arrayContaining(["u1 a=true", "u2 a=true"]));
  expect(process.lines.flatMap(({ outcome }) => outcome ?? [])).toEqual(["complete"]);
  await process.close();
});

test("a sync without its end is abandoned after a day, also while records of others come", async () => {
  const world = new AudienceWorld();
  const process = await world.start();
  world.append({ type: "begin", audienceId: "a", audienceName: "a", syncId: "s1" });
  await world.settle();
  await world.clock.advance(DAY_MS - 300_000);
  for (let record = 0; record < 3; record += 1) {
    world.append(TRAIT);
    await world.settle();
    expect(process.lines.some(({ outcome }) => outcome === "abandoned")).toBe(false);
    await world.clock.advance(240_000);
  }
  await world.until(() => process.lines.some(({ outcome }) => outcome === "abandoned"));
  await process.close();
});

test("two processes share the partitions, and one continues with what the other leaves", async () => {
  const world = new AudienceWorld({ partitions: 4 });
  const one = await world.start();
  const other = await world.start(new MemoryStores());
  const ids = ["a", "b", "c", "d", "e", "f"];
  for (const id of ids) world.sync(id, "s1", users(1, 2, 3));
  await world.settle();
  expect(world.reported()).toHaveLength(18);
  await one.close();
  for (const id of ids) world.sync(id, "s2", users(2, 3, 4));
  await world.settle();
  const all = world.reported();
  for (const id of ids) {
    expect(all).toContain(`u4 ${id}=true`);
    expect(all).toContain(`u1 ${id}=false`);
  }
  expect(all).toHaveLength(30);
  await other.close();
  expect([...one.failures, ...other.failures]).toEqual([]);
});

test("a process that may have been taken for dead writes nothing any more", async () => {
  const world = new AudienceWorld();
  const process = await world.start();
  world.sync("a", "s1", users(1));
  await world.settle();
  const written = () =>
    [topics.calls, topics.audienceMembers, topics.audiences].map(
      (topic) => world.cluster.records(topic).length,
    );
  const before = written();
  world.takenForDead.add(process.kafka);
  world.sync("a", "s2", users(2));
  await world.clock.advance(10_000);
  expect(written()).toEqual(before);
  // The process stops gracefully, and the next one does the work.
  await process.close();
  expect(process.failures).toEqual([]);
  const next = await world.start();
  await world.settle();
  expect(world.reported()).toEqual(["u1 a=true", "u2 a=true", "u1 a=false"]);
  await next.close();
});

test("a store that another process has open is waited for", async () => {
  const world = new AudienceWorld();
  const stores = new MemoryStores();
  const awaitingApproval = await stores.open(0);
  const process = await world.start(stores);
  world.sync("a", "s1", users(1));
  await world.until(() => process.lines.some(({ msg }) => msg === "audience.store.in-use"));
  expect(world.reported()).toEqual([]);
  await awaitingApproval.close();
  await world.settle();
  expect(world.reported()).toEqual(["u1 a=true"]);
  await process.close();
});

test("the last 1,000 sync ids are remembered, and of older ones no more than that is kept", async () => {
  const world = new AudienceWorld();
  const process = await world.start();
  for (let number = 0; number < 1_001; number += 1) {
    const sync = { type: "snapshot", audienceId: "a", audienceName: "a", syncId: `s${number}` };
    world.append({ ...sync, userIds: ["u1"] });
  }
  await world.settle();
  const remembered = process.stores
    .store(0)
    .entries()
    .filter(([key]) => key.startsWith("s"));
  expect(remembered).toHaveLength(1_000);
  const again = { type: "snapshot", audienceId: "a", audienceName: "a", syncId: "s1" };
  world.append({ ...again, userIds: ["u2"] });
  await world.settle();
  expect(world.reported()).toEqual(["u1 a=true"]);
  await process.close();
});

test("after partitions were added, syncs go on to the partition that owns the audience, in order", async () => {
  const world = new AudienceWorld({ partitions: 3 });
  const first = await world.start();
  const ids = ["a1", "b2", "c3", "d4", "e5", "f6"];
  const snapshot = { type: "snapshot", syncId: "s1", userIds: ["u1", "u2"] };
  // With one partition, all records were in partition 0.
  for (const id of ids) world.append({ ...snapshot, audienceId: id, audienceName: id }, 0);
  await world.settle();
  const settled = async () => {
    await world.settle();
    // The forwarded records.
    await world.settle();
    return world.reported().toSorted();
  };
  const expected = ids.flatMap((id) => ["u1", "u2"].map((user) => `${user} ${id}=true`));
  expect(world.reported().toSorted()).toEqual(expected.toSorted());
  for (const id of ids) world.sync(id, "s2", ["u2", "u3", "u4", "u5"]);
  for (const id of ids) {
    expected.push(`u1 ${id}=false`, ...["u3", "u4", "u5"].map((user) => `${user} ${id}=true`));
  }
  expect(await settled()).toEqual(expected.toSorted());
  // Killed after forwarding, before the commit: what is forwarded twice changes nothing.
  const before = world.cluster.endOf(topics.audienceSyncs, 0);
  for (const id of ids) world.sync(id, "s3", ["u2"]);
  const direct = world.cluster.endOf(topics.audienceSyncs, 0);
  expect(direct - before).toBeLessThan(3 * ids.length);
  await world.until(() => world.cluster.endOf(topics.audienceSyncs, 0) > direct);
  first.kill();
  const next = await world.start(first.stores);
  for (const id of ids) expected.push(...["u3", "u4", "u5"].map((user) => `${user} ${id}=false`));
  expect(await settled()).toEqual(expected.toSorted());
  expect(world.cluster.endOf(topics.audienceSyncs, 0) - before).toBeGreaterThan(3 * ids.length);
  for (const id of ids) world.append({ type: "delete", audienceId: id });
  await settled();
  expect(world.deadLetters()).toEqual([]);
  expect(await next.metrics.text()).toContain("switchyard_audience_members 0\n");
  await next.close();
  expect([...first.failures, ...next.failures]).toEqual([]);
});
