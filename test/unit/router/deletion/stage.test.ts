// The stage on a Kafka in memory: the written records, the commits, and failures.

import { afterEach, expect, test, vi } from "vitest";

import type { Metrics } from "../../../../src/base/telemetry/instruments.ts";
import { aSource, headerTexts } from "../../../support/build/calls.ts";
import { listsOf } from "../../../support/build/lists.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DeletionWorld, SYNC_PARTITIONS } from "../../../support/worlds/deletion-world.ts";
import { topics } from "../../../support/worlds/stage-world.ts";

const users = (count: number) => Array.from({ length: count }, (_, number) => `u${number}`);
const inEachPartition = (forgotten: readonly string[]) =>
  Array.from({ length: SYNC_PARTITIONS }, () => forgotten);
const distinct = (texts: readonly string[]) => [...new Set(texts)].toSorted();
const countDistinct = (texts: readonly string[]) => new Set(texts).size;

let world = new DeletionWorld();
afterEach(() => world.kill());

const sample = async ({ metrics }: { readonly metrics: Metrics }, start: string) =>
  (await metrics.text()).split("\n").find((line) => line.startsWith(start));

test("requests become notifications and users to forget, bad ones dead letters", async () => {
  world = new DeletionWorld();
  const deletion = await world.start();
  world.append({ userId: "jane" });
  world.append("no request");
  world.append({ userId: "joe", sourceIds: ["ios", "tv"] });
  world.append({ userId: "jim", sourceIds: ["tv"] });
  world.append({ userId: "jill", sourceIds: [] });
  world.append({ userId: "june", sourceIds: ["quiet"] });
  world.append({ userId: "jack" });
  await world.during(deletion.stage.joined);
  await world.until(() => world.notified("second").includes("jack at ios"));
  await deletion.close();

  const hook = ["jane at web", "jane at ios", "joe at ios", "jack at web", "jack at ios"];
  expect(world.notified("hook").toSorted()).toEqual(hook.toSorted());
  expect(world.notified("second").toSorted()).toEqual(["jack at ios", "jane at ios", "joe at ios"]);
  expect([...world.notified("warehouse"), ...world.notified("off")]).toEqual([]);
  expect(world.forgotten()).toEqual(inEachPartition(["jane", "jack"]));
  expect(world.deadLetters().map((record) => headerTexts(record))).toMatchObject([
    { "switchyard-stage": "deletion", "switchyard-reason": "undecodable" },
    { "switchyard-reason": "unknown-source", "switchyard-offset": "3" },
    { "switchyard-reason": "invalid-deletion", "switchyard-topic": topics.deletionRequests },
  ]);
  expect(world.deadLetters()[0]?.value?.toString()).toBe("no request");
  expect(await world.committed()).toBe(7);

  expect(await sample(deletion, "switchyard_records_in_total")).toMatch(/ 7$/);
  expect(await sample(deletion, "switchyard_records_out_total")).toMatch(/ 17$/);
  const notified = 'switchyard_deletion_notifications_total{destination="hook"}';
  expect(await sample(deletion, notified)).toMatch(/ 5$/);
  expect(await sample(deletion, "switchyard_deletion_requests_without")).toMatch(/ 1$/);
  const deadLetters =
    'switchyard_dead_letters_total{stage="deletion",reason="unknown-source",destination=""}';
  expect(await sample(deletion, deadLetters)).toMatch(/ 1$/);
  const lines = deletion.lines.toSorted((one, other) => Number(one.offset) - Number(other.offset));
  expect(lines).toMatchObject([
    { level: "warn", msg: "record.dead-lettered", reason: "undecodable", offset: 1 },
    { level: "warn", msg: "deletion.unknown-sources", sources: ['"tv"'], count: 1, offset: 2 },
    { level: "warn", msg: "record.dead-lettered", reason: "unknown-source", offset: 3 },
    { level: "warn", msg: "record.dead-lettered", reason: "invalid-deletion", offset: 4 },
  ]);
  expect(JSON.stringify(deletion.lines)).not.toMatch(/jane|joe|jim|jill|june|jack/);
  expect(deletion.failures).toEqual([]);
});

test("requests of one user are carried out in their order, whenever they come", async () => {
  world = new DeletionWorld();
  const deletion = await world.start();
  const times = Array.from({ length: 500 }, (_, number) => 1_700_000_000_000 + number);
  for (const [index, timestamp] of times.entries()) {
    world.append({ userId: "u", timestamp, sourceIds: ["web"] });
    // Some arrive while others are in progress, and some while the stage is idle.
    if (index % 100 === 99) await world.clock.advance(5_000);
    else if (index % 10 === 9) await world.clock.advance(1);
  }
  await deletion.close();
  const records = world.cluster.records("sw.deliveries.hook");
  const notified = records.map((record) => Number(headerTexts(record)["switchyard-timestamp"]));
  expect(notified).toEqual(times);
});

test("a graceful stop in the middle repeats nothing and loses nothing", async () => {
  world = new DeletionWorld();
  world.appendRequests(3_000);
  const first = await world.start();
  await world.until(() => world.notified("hook").length > 0);
  await first.close();
  const before = world.notified("second").length;
  expect(before).toBeLessThan(3_000);
  expect(await world.committed()).toBe(before);

  const second = await world.start();
  await world.until(() => world.notified("second").length >= 3_000);
  await second.close();
  const everybody = users(3_000).toSorted();
  expect(world.forgotten().map((each) => each.toSorted())).toEqual(inEachPartition(everybody));
  expect(world.notified("second").toSorted()).toEqual(everybody.map((user) => `${user} at ios`));
  expect(world.notified("hook")).toHaveLength(6_000);
});

test("whenever a process dies, each committed request is reported and applied, and repeats have the same ids", async () => {
  world = new DeletionWorld();
  world.cluster.loseAcknowledgements(0.2);
  world.appendRequests(3_000);
  for (const dead of [500, 1_500]) {
    const mortal = await world.start();
    await world.until(() => countDistinct(world.notified("second")) > dead);
    mortal.kafka.kill();
    const committed = users(await world.committed());
    for (const forgotten of world.forgotten()) {
      const gone = new Set(forgotten);
      expect(committed.filter((user) => !gone.has(user))).toEqual([]);
    }
    const notified = new Set(world.notified("second"));
    expect(committed.filter((user) => !notified.has(`${user} at ios`))).toEqual([]);
  }
  const last = await world.start();
  await world.until(() => countDistinct(world.notified("second")) === 3_000);
  world.cluster.loseAcknowledgements(0);
  await last.close();
  expect(await world.committed()).toBe(3_000);
  expect(world.forgotten().map(distinct)).toEqual(inEachPartition(users(3_000).toSorted()));
  expect(world.notified("second").length).toBeGreaterThan(3_000);
  expect(distinct(world.messageIds("second"))).toHaveLength(3_000);
  expect(distinct(world.messageIds("hook"))).toHaveLength(6_000);
});

test("what the brokers reject is a dead letter of its request, and the others get theirs", async () => {
  const small = new Set(["sw.deliveries.second", topics.audienceSyncs]);
  world = new DeletionWorld(1, (topic) => (small.has(topic) ? 600 : 1_048_576));
  const deletion = await world.start();
  const long = "x".repeat(500);
  world.append({ userId: long });
  world.append({ userId: "short" });
  await world.until(
    () => world.notified("second").length === 1 && world.deadLetters().length === 1,
  );
  await deletion.close();
  expect(world.notified("hook").toSorted()).toEqual([
    "short at ios",
    "short at web",
    `${long} at ios`,
    `${long} at web`,
  ]);
  expect(world.forgotten()).toEqual(inEachPartition(["short"]));
  expect(headerTexts(world.deadLetters()[0] ?? { headers: [] })).toMatchObject({
    "switchyard-reason": "too-large",
    "switchyard-error": expect.stringMatching(
      /^too large for sw\.deliveries\.second, sw\.audience-syncs: /,
    ),
    "switchyard-offset": "0",
  });
  expect(await world.committed()).toBe(2);
  const notified = 'switchyard_deletion_notifications_total{destination="second"}';
  expect(await sample(deletion, notified)).toMatch(/ 1$/);
});

test("a dead letter the brokers reject is written without its value", async () => {
  world = new DeletionWorld(1, (topic) => (topic === topics.deadLetters ? 600 : 1_048_576));
  const deletion = await world.start();
  world.append("x".repeat(1_000));
  world.append({ userId: "u" });
  await world.until(
    () => world.notified("second").length === 1 && world.deadLetters().length === 1,
  );
  await deletion.close();
  expect(world.deadLetters()[0]).toMatchObject({ value: null });
  expect(await world.committed()).toBe(2);
});

test("a dead-letter topic that takes nothing at all ends the stage", async () => {
  world = new DeletionWorld(1, (topic) => (topic === topics.deadLetters ? 10 : 1_048_576));
  const deletion = await world.start();
  world.append("no request");
  await world.until(() => deletion.failures.length > 0);
  world.append({ userId: "u" });
  await deletion.close();
  expect(deletion.failures).toHaveLength(1);
  expect(deletion.failures[0]?.message).toContain("Raise the topic's max.message.bytes");
  expect(await world.committed()).toBe(0);
});

test("without the topic audience-syncs requests wait, and continue when it is there", async () => {
  world = new DeletionWorld();
  const deletion = await world.start();
  await world.during(deletion.stage.joined);
  const { admin } = world.cluster.connect();
  await world.during(admin.deleteTopics([topics.audienceSyncs]));
  world.append({ userId: "u" });
  world.append({ userId: "v", sourceIds: ["web"] });
  await world.until(() => deletion.lines.length > 0);
  await world.clock.advance(20_000);
  expect(deletion.lines).toMatchObject([
    { level: "error", msg: "deletion.blocked", topic: topics.audienceSyncs },
  ]);
  expect(deletion.stage.healthProblems()).toEqual([
    expect.stringMatching(
      /^deletion requests cannot be processed, because the .* of sw\.audience-syncs has been unknown for \d+ s$/,
    ),
  ]);
  expect(world.notified("hook")).toEqual([]);
  expect(await world.committed()).toBe(0);

  // The topic has more partitions than before, and a record is written to each.
  world.cluster.createTopic(topics.audienceSyncs, SYNC_PARTITIONS + 2);
  await world.until(() => world.notified("hook").length === 3);
  await deletion.close();
  expect(world.forgotten()).toEqual(Array.from({ length: SYNC_PARTITIONS + 2 }, () => ["u"]));
  expect(deletion.stage.healthProblems()).toEqual([]);
  expect(await world.committed()).toBe(2);
});

test("a stop while requests wait for a topic is graceful, and leaves them", async () => {
  world = new DeletionWorld();
  const first = await world.start();
  await world.during(first.stage.joined);
  const { admin } = world.cluster.connect();
  await world.during(admin.deleteTopics([topics.audienceSyncs]));
  world.append({ userId: "u" });
  const asks = vi.spyOn(first.kafka.admin, "describe");
  await world.until(() => asks.mock.calls.length > 0);
  await first.close();
  const asked = asks.mock.calls.length;
  await world.clock.advance(10_000);
  expect(asks).toHaveBeenCalledTimes(asked);
  expect(first.failures).toEqual([]);
  expect(await world.committed()).toBe(0);
  world.cluster.createTopic(topics.audienceSyncs, SYNC_PARTITIONS);
  const second = await world.start();
  await world.until(() => world.notified("second").length === 1);
  await second.close();
  expect(world.forgotten()).toEqual(inEachPartition(["u"]));
});

test("an outage of the brokers is reported as a problem, and passes", async () => {
  world = new DeletionWorld();
  const deletion = await world.start();
  await world.during(deletion.stage.joined);
  world.appendRequests(10);
  await world.until(() => deletion.counts.sends === 1);
  world.cluster.goDown();
  await world.clock.advance(7_000);
  expect(deletion.stage.healthProblems()).toEqual([
    "the brokers have not acknowledged a write for 7 s",
  ]);
  world.cluster.comeUp();
  await world.until(() => deletion.stage.healthProblems().length === 0);
  await deletion.close();
  expect(await world.committed()).toBe(10);
});

test("a flood of bad requests is counted whole and logged in part", async () => {
  world = new DeletionWorld();
  for (let number = 0; number < 2_000; number += 1) world.append(`bad ${number}`);
  const deletion = await world.start();
  await world.until(() => world.deadLetters().length === 2_000);
  await deletion.close();
  const reason = 'switchyard_records_rejected_total{stage="deletion",reason="undecodable"}';
  expect(await sample(deletion, reason)).toMatch(/ 2000$/);
  expect(deletion.lines.length).toBeGreaterThan(0);
  expect(deletion.lines.length).toBeLessThanOrEqual(30);
});

test("processes share the requests' partitions", async () => {
  world = new DeletionWorld(4);
  const both = [await world.start(), await world.start()];
  for (const { stage } of both) await world.during(stage.joined);
  for (let number = 0; number < 400; number += 1) {
    world.append({ userId: `u${number}` }, number % 4);
  }
  await world.until(() => countDistinct(world.notified("second")) === 400);
  for (const each of both) await each.close();
  expect(world.forgotten().map(distinct)).toEqual(inEachPartition(users(400).toSorted()));
  expect(await world.committed()).toBe(400);
});

test("other lists count from the next piece", async () => {
  world = new DeletionWorld();
  const deletion = await world.start();
  await world.during(deletion.stage.joined);
  world.append({ userId: "jane" });
  await world.until(() => world.notified("second").includes("jane at ios"));
  const lists = {
    sources: [aSource("tv", ["second"])],
    destinations: [webhookDestination({ id: "second" })],
  };
  deletion.stage.update?.(listsOf(lists));
  world.append({ userId: "joe" });
  await world.until(() => world.notified("second").includes("joe at tv"));
  await deletion.close();
  expect(world.notified("hook").toSorted()).toEqual(["jane at ios", "jane at web"]);
});
