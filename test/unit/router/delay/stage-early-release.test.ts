// Retries and cancellations by operators in the delay stage, on a Kafka in memory.

import { expect, test } from "vitest";
import { deliveryHeaders } from "../../../../src/domain/delivery.ts";
import type { DestinationId, MessageId } from "../../../../src/domain/ids.ts";
import type { OutgoingRecord } from "../../../../src/domain/record.ts";
import {
  type EarlyRelease,
  earlyReleaseRecord,
} from "../../../../src/router/control/operator-actions.ts";
import { headerTexts } from "../../../support/build/calls.ts";
import { deliveryOf, webhookDestination } from "../../../support/build/webhook-destination.ts";
import { clockDriver } from "../../../support/clock/clock-driver.ts";
import { committedOffsets } from "../../../support/worlds/committed-offsets.ts";
import { CRM, DeliverWorld, HOUR_MS, topics } from "../../../support/worlds/deliver-world.ts";

const OTHER = "other" as DestinationId;
const DELAY_TOPIC = topics.delays(HOUR_MS);

async function worldOf(order: "strict" | "loose" = "loose") {
  const destinations = [webhookDestination({ id: CRM, order }), webhookDestination({ id: OTHER })];
  const world = new DeliverWorld({ destinations, respond: () => 200 });
  await world.control();
  let number = 0;
  const scheduleRetry = (
    destination: DestinationId,
    count = 1,
    size = 0,
    receivedAtMs?: number,
    { topic = DELAY_TOPIC, place }: { readonly topic?: string; readonly place?: string } = {},
  ) => {
    const nowMs = world.clock.nowMs();
    for (const last = number + count; number < last; number += 1) {
      const delivery = deliveryOf({
        ...{ destination, attempt: 1, retryCount: 1, messageId: `m${number}` as MessageId },
        ...{ firstAttemptAtMs: nowMs, dueAtMs: nowMs + HOUR_MS },
        receivedAtMs: receivedAtMs ?? nowMs,
      });
      const value = Buffer.alloc(size, 32);
      const headers = deliveryHeaders(delivery).concat(
        place === undefined ? [] : [["switchyard-queue-place", Buffer.from(place)]],
      );
      world.cluster.append({ topic, key: Buffer.from(`u${number}`), value, headers });
    }
  };
  const earlyRelease = async (more: Partial<EarlyRelease> = {}) => {
    const atMs = world.clock.nowMs() + 1;
    const asked: EarlyRelease = {
      ...{ kind: "retry", destination: CRM, id: `p-${atMs}`, atMs, by: "command" },
      ...{ receivedBeforeMs: null, ...more },
    };
    world.cluster.append(earlyReleaseRecord(topics.operatorActions, asked));
    await world.settle(15_000);
    return asked;
  };
  const returned = (destination = CRM) =>
    world.cluster.records(topics.retries(destination)).map(idOf);
  const cancelled = () =>
    world.deadLetters().map((deadLetter) => [deadLetter["switchyard-reason"], idIn(deadLetter)]);
  let problems: () => readonly string[] = () => [];
  const start = async () => {
    const stage = await world.startDelay();
    problems = stage.healthProblems;
    await world.settle(10_000);
    return () => world.stop(stage);
  };
  const healthProblems = () => problems();
  return { world, scheduleRetry, earlyRelease, returned, cancelled, start, healthProblems };
}

const idIn = (headers: Readonly<Record<string, string | null>>) => headers["switchyard-message-id"];
const idOf = (record: Parameters<typeof headerTexts>[0]) => idIn(headerTexts(record));
const sorted = (ids: readonly (string | null | undefined)[]) =>
  ids.map((id) => Number(id?.slice(1))).sort((one, other) => one - other);
const upTo = (count: number, from = 0) => Array.from({ length: count }, (_, at) => from + at);

test("a retry returns what waits for its destination, and nobody else's; the rest is on time", async () => {
  const { world, scheduleRetry, earlyRelease, returned, start } = await worldOf();
  await start();
  scheduleRetry(OTHER, 3);
  scheduleRetry(CRM, 2);
  scheduleRetry(OTHER, 2);
  await world.settle(1_000);
  await earlyRelease();
  expect(returned()).toEqual(["m3", "m4"]);
  expect(returned(OTHER)).toEqual([]);
  scheduleRetry(CRM);
  await world.settle(HOUR_MS - 10_000);
  expect(returned(OTHER)).toEqual(["m0", "m1", "m2", "m5", "m6"]);
  expect(returned()).toEqual(["m3", "m4"]);
  await world.settle(20_000);
  expect(returned()).toEqual(["m3", "m4", "m7"]);
  expect(world.deadLetters()).toEqual([]);
  expect(world.failures).toEqual([]);
});

test("it reaches behind thousands that are not in flight, once, and is not repeated later", async () => {
  const { world, scheduleRetry, earlyRelease, returned, start } = await worldOf();
  scheduleRetry(OTHER, 3_000, 500);
  scheduleRetry(CRM, 50, 500);
  scheduleRetry(OTHER, 3_000, 500);
  scheduleRetry(CRM, 50, 500);
  await start();
  await earlyRelease();
  expect(sorted(returned())).toEqual([...upTo(50, 3_000), ...upTo(50, 6_050)]);
  expect(returned(OTHER)).toEqual([]);
  await world.settle(2 * HOUR_MS);
  expect(sorted(returned())).toEqual([...upTo(50, 3_000), ...upTo(50, 6_050)]);
  expect(returned(OTHER)).toHaveLength(6_000);
  const offsets = await committedOffsets(
    { cluster: world.cluster, during: clockDriver(world.clock).during },
    "sw.delay.60m",
    DELAY_TOPIC,
  );
  expect(offsets).toEqual([6_100]);
});

test("what was returned is not returned again by the next owner of the partition", async () => {
  const { world, scheduleRetry, earlyRelease, returned, start } = await worldOf();
  scheduleRetry(OTHER, 2_500, 500);
  scheduleRetry(CRM, 20, 500);
  const stop = await start();
  await earlyRelease();
  expect(returned()).toHaveLength(20);
  await stop();
  await world.control();
  await start();
  await world.settle(30_000);
  await earlyRelease();
  expect(returned()).toHaveLength(20);
  await world.settle(2 * HOUR_MS);
  expect(returned()).toHaveLength(20);
  expect(returned(OTHER)).toHaveLength(2_500);
});

test("a process that dies in the middle repeats a part at most, and loses nothing", async () => {
  const { world, scheduleRetry, earlyRelease, returned, start } = await worldOf();
  for (let piece = 0; piece < 10; piece += 1) {
    scheduleRetry(OTHER, 250, 500);
    scheduleRetry(CRM, 50, 5_000);
  }
  await start();
  const asked = world.clock.nowMs();
  const record = earlyReleaseRecord(topics.operatorActions, {
    ...{ kind: "retry", destination: CRM, id: "p", atMs: asked + 1, by: "command" },
    receivedBeforeMs: null,
  });
  world.cluster.append(record);
  while (returned().length < 120) await world.clock.advanceToNext();
  const before = returned().length;
  world.kafka.kill();
  world.kafka = world.cluster.connect();
  await world.control();
  await start();
  await world.settle(60_000);
  const ids = returned();
  expect(new Set(ids).size).toBe(500);
  expect(before).toBeLessThan(500);
  // A step reads 512 KiB, which is about a hundred of these records. Some of the others are in flight.
  expect(ids.length - 500).toBeLessThan(350);
  void earlyRelease;
  await world.settle(2 * HOUR_MS);
  expect(new Set(returned()).size).toBe(500);
  expect(returned(OTHER)).toHaveLength(2_500);
});

test("a cancel makes dead letters of what was received before its time", async () => {
  const { world, scheduleRetry, earlyRelease, returned, cancelled, start } = await worldOf();
  const oldMs = world.clock.nowMs() - 2 * HOUR_MS;
  await start();
  scheduleRetry(CRM, 2, 0, oldMs);
  scheduleRetry(CRM, 1);
  scheduleRetry(OTHER, 1, 0, oldMs);
  await earlyRelease({ kind: "cancel", receivedBeforeMs: oldMs + 1 });
  expect(cancelled()).toEqual([
    ["cancelled", "m0"],
    ["cancelled", "m1"],
  ]);
  expect(world.deadLetters()[0]?.["switchyard-error"]).toMatch(/^cancelled by command at 20/);
  await world.settle(2 * HOUR_MS);
  expect(returned()).toEqual(["m2"]);
  expect(returned(OTHER)).toEqual(["m3"]);
  expect(cancelled()).toHaveLength(2);
});

test("what is due when nobody ran is cancelled, too", async () => {
  const { world, scheduleRetry, earlyRelease, returned, cancelled, start } = await worldOf();
  scheduleRetry(CRM, 2);
  await world.settle(1_000);
  await earlyRelease({ kind: "cancel", receivedBeforeMs: world.clock.nowMs() });
  await world.settle(2 * HOUR_MS);
  await start();
  await world.settle(10_000);
  expect(returned()).toEqual([]);
  expect(cancelled()).toHaveLength(2);
});

test("a destination whose topic is gone: its retries are dead-lettered as they would be when due", async () => {
  const { world, scheduleRetry, earlyRelease, cancelled, start } = await worldOf();
  await start();
  const gone = "gone" as DestinationId;
  scheduleRetry(gone, 1);
  await world.settle(1_000);
  await earlyRelease({ destination: gone });
  expect(cancelled()).toEqual([["unknown-destination", "m0"]]);
});

test("what was released early from a topic does not count for a later topic with its name", async () => {
  const { world, scheduleRetry, earlyRelease, cancelled, start } = await worldOf();
  const stop = await start();
  scheduleRetry(CRM, 3);
  await world.settle(1_000);
  const { atMs } = await earlyRelease({
    kind: "cancel",
    receivedBeforeMs: world.clock.nowMs() + 1,
  });
  expect(cancelled()).toHaveLength(3);
  await stop();
  const deleted = world.cluster.connect().admin.deleteTopics([DELAY_TOPIC]);
  await world.settle(1_000);
  await deleted;
  world.cluster.createTopic(DELAY_TOPIC, 1);
  // It was being attempted when it was canceled, and now awaits its retry.
  const delivery = deliveryOf({
    ...{ destination: CRM, attempt: 1, messageId: "m3" as MessageId },
    ...{ firstAttemptAtMs: atMs - 1, receivedAtMs: atMs - 1 },
    dueAtMs: world.clock.nowMs() + HOUR_MS,
  });
  const headers = deliveryHeaders(delivery);
  world.cluster.append({ topic: DELAY_TOPIC, key: null, value: Buffer.alloc(0), headers });
  await start();
  await world.settle(HOUR_MS + 60_000);
  expect(cancelled().map(([, id]) => id)).toEqual(["m0", "m1", "m2", "m3"]);
});

test("progress is written only for partitions that records left, until it is acknowledged", async () => {
  const { world, scheduleRetry, earlyRelease, returned, start } = await worldOf();
  const sendOf = refusing(world, topics.operatorActions);
  const stop = await start();
  const progress = () =>
    world.cluster
      .records(topics.operatorActions)
      .map(({ key }) => `${key}`)
      .filter((key) => key.startsWith("released/"));
  scheduleRetry(OTHER, 3);
  await world.settle(1_000);
  await earlyRelease({ id: "nothing" });
  expect(progress()).toEqual([]);
  scheduleRetry(CRM, 3);
  await world.settle(1_000);
  sendOf.isRefused = true;
  await earlyRelease({ id: "some" });
  expect([returned().length, progress()]).toEqual([3, []]);
  sendOf.isRefused = false;
  await world.settle(15_000);
  expect(progress()).toEqual(["released/some/60m/0"]);
  await stop();
  await world.control();
  await start();
  await world.settle(2 * HOUR_MS);
  expect(returned()).toHaveLength(3);
});

test.each(["offsets", "read"] as const)(
  "one delay topic whose %s fails does not hold up retries in the others, and is shown until it works",
  async (what) => {
    const { world, scheduleRetry, earlyRelease, returned, start, healthProblems } = await worldOf();
    const broken = topics.delays(300_000);
    const { read } = world.kafka;
    const { offsets } = world.kafka.admin;
    const error = new Error("LEADER_NOT_AVAILABLE");
    const stop = await start();
    if (what === "offsets")
      world.kafka.admin.offsets = (topic) =>
        topic === broken ? Promise.reject(error) : offsets.call(world.kafka.admin, topic);
    else
      world.kafka.read = (range) => {
        if (range.topic === broken) throw error;
        return read.call(world.kafka, range);
      };
    scheduleRetry(OTHER, 2_500, 500, undefined, { topic: broken });
    scheduleRetry(CRM, 1, 0, undefined, { topic: broken });
    scheduleRetry(CRM);
    await earlyRelease();
    expect(returned()).toEqual(["m2501"]);
    const problems = () =>
      healthProblems().filter((each) => each.startsWith("deliveries cannot be retried"));
    expect(problems()).toEqual([expect.stringContaining("LEADER_NOT_AVAILABLE")]);
    world.kafka.admin.offsets = offsets;
    world.kafka.read = read;
    await world.settle(20_000);
    expect(returned()).toEqual(["m2501", "m2500"]);
    expect(problems()).toEqual([]);
    await stop();
  },
);

test("a cancel whose queue facts cannot be written does not hold up a retry in the same partition", async () => {
  const { world, scheduleRetry, earlyRelease, returned, cancelled, start, healthProblems } =
    await worldOf("strict");
  const order = refusing(world, topics.order(CRM));
  const stop = await start();
  const progress = () =>
    world.cluster.records(topics.operatorActions).map(({ key }) => `${key}`.split("/")[1]);
  scheduleRetry(CRM, 1, 0, undefined, { place: "t:0/5" });
  scheduleRetry(OTHER);
  order.isRefused = true;
  await earlyRelease({ kind: "cancel", id: "c", receivedBeforeMs: world.clock.nowMs() + 1 });
  await earlyRelease({ destination: OTHER, id: "r" });
  expect([returned(OTHER), cancelled()]).toEqual([["m1"], [["cancelled", "m0"]]]);
  // While the fact is missing, the cancellation must not count as carried out.
  expect(progress()).toEqual(["crm", "other", "r"]);
  expect(healthProblems()).toEqual([expect.stringMatching(/cancel of crm \(c\)/)]);
  order.isRefused = false;
  await world.settle(2_000);
  expect(world.cluster.records(topics.order(CRM))).toHaveLength(1);
  expect(progress()).toEqual(["crm", "other", "r", "c"]);
  expect([healthProblems(), cancelled().length]).toEqual([[], 1]);
  await stop();
});

test("the number of steps that wait for a topic that is not writable is limited, and all end when it is", async () => {
  const { world, scheduleRetry, earlyRelease, cancelled, start, healthProblems } =
    await worldOf("strict");
  const order = refusing(world, topics.order(CRM));
  const stop = await start();
  scheduleRetry(CRM, 1, 0, undefined, { place: "t:0/5" });
  order.isRefused = true;
  const cancel = { kind: "cancel", receivedBeforeMs: world.clock.nowMs() + 1 } as const;
  for (let at = 0; at < 110; at += 1) await earlyRelease({ ...cancel, id: `c${at}` });
  expect(healthProblems()).toHaveLength(100);
  order.isRefused = false;
  await world.settle(15_000);
  expect([healthProblems(), cancelled()]).toEqual([[], [["cancelled", "m0"]]]);
  await stop();
});

/** Lets the producer refuse the records of a topic while `isRefused` is true. */
function refusing(world: DeliverWorld, refused: string) {
  const state = { isRefused: false };
  const producerOf = world.kafka.producer.bind(world.kafka);
  world.kafka.producer = () => {
    const producer = producerOf();
    const send = producer.send.bind(producer);
    producer.send = async (records, options) => {
      const isRefused = ({ topic }: OutgoingRecord) => state.isRefused && topic === refused;
      const written = await send(
        records.filter((record) => !isRefused(record)),
        options,
      );
      const error = "NOT_ENOUGH_REPLICAS";
      const blocked = "unavailable" as const;
      return [
        ...written,
        ...records.filter(isRefused).map((record) => ({ record, error, blocked })),
      ];
    };
    return producer;
  };
  return state;
}
