// A batch is damaged during its transfer: its consumer or stage halts at the batch while others continue, and the command
// skips exactly this batch; or the program is configured to skip it.

import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../src/base/runtime/clock.ts";
import { type CorruptBatch, corruptBatchOf } from "../../src/domain/corrupt-batch.ts";
import type { Kafka, ReadRange } from "../../src/kafka/port.ts";
import { skipCorrupt } from "../../src/program/cli/skip-corrupt-batch/skip-corrupt-batch.ts";
import { KeptConsumer } from "../../src/router/stage/keep-consuming.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { record, values } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import { type DamagingFront, damagingFront } from "../support/servers/damaging-front.ts";
import { fakeShell } from "../support/worlds/fake-shell.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

let front: DamagingFront;
let broker: PrivateKafka;
let kafka: Kafka;

beforeAll(async () => {
  front = await damagingFront("intact", "broken");
  broker = await startKafka({ private: true, fronts: [front.address] });
  front.behind = broker.behind[0] ?? "";
  kafka = testKafka({ brokers: [front.address], sessionTimeoutMs: 6_000 });
});

afterAll(async () => {
  await kafka?.close();
  await broker?.stop();
  front?.[Symbol.dispose]();
});

function start(topic: string, taker: Taker, onHalted: (error: Error) => void) {
  const limits = { partitionRecordsMax: 100, maxBytes: 1_000_000, whenFull: "hold" } as const;
  const options = { groupId: topic, topics: [topic], ...limits, drainLimitMs: 1_000 };
  return new KeptConsumer(
    kafka,
    { ...options, onAssigned: taker.onAssigned, onHalted },
    systemClock,
    onHalted,
  );
}

test("a partition halts at the batch, another continues, and the command skips exactly that batch", async () => {
  const halts = "halts";
  const spec = { partitions: 2, replicationFactor: 1, config: {} };
  await kafka.admin.create([{ name: halts, ...spec }]);
  const producer = kafka.producer();
  for (const value of ["first", "intact", "last"]) await producer.send([record(halts, value, 0)]);

  const taker = new Taker({ finishesAtOnce: true });
  const halted = Promise.withResolvers<Error>();
  const consumer = start(halts, taker, halted.resolve);
  const { message } = await halted.promise;
  expect(message).toContain("topic halts, partition 0, offset 1 is corrupt");
  expect(message).toContain("switchyard skip-corrupt-batch halts 0 1");
  expect(consumer.vitals().halts.map(corruptBatchOf)).toMatchObject([
    { topic: halts, partition: 0, offset: 1, behind: 2 },
  ]);
  expect(consumer.healthProblem()).toBeNull();
  await producer.send([record(halts, "other", 1)]);
  await taker.untilTaken(2);

  // The batch before the damaged one was processed and committed, so the group's offset is at the damaged batch.
  await expect
    .poll(() => kafka.admin.committed(halts, halts))
    .toMatchObject([{ offset: 1 }, { offset: 1 }]);
  const { signal } = new AbortController();
  const at = { topic: halts, partition: 0, group: halts, dryRun: false, signal };
  const refused = fakeShell();
  expect(await skipCorrupt(kafka, { ...at, offset: 2 }, refused)).toBe(1);
  expect(refused.errors()).toContain("the corrupt batch there begins at 1, not at 2");
  const dry = fakeShell();
  expect(await skipCorrupt(kafka, { ...at, offset: 1, dryRun: true, json: true }, dry)).toBe(0);
  expect(JSON.parse(dry.output())).toMatchObject({
    ...{ outcome: "would-skip", error: null, dryRun: true, groupOffset: 1, firstOffset: 1 },
    recordsLost: expect.any(Number),
  });
  expect(await kafka.admin.committed(halts, halts)).toMatchObject([{ offset: 1 }, { offset: 1 }]);

  const shell = fakeShell();
  expect(await skipCorrupt(kafka, { ...at, offset: 1 }, shell)).toBe(0);
  expect(shell.output()).toContain("offsets 1 to 1 (its checksum should be");
  await taker.untilTaken(3);
  expect(values(taker.taken)).toEqual(["first", "other", "last"]);
  expect(consumer.vitals().halts).toEqual([]);
  await consumer.stop();
  expect(await kafka.admin.committed(halts, halts)).toMatchObject([{ offset: 3 }, { offset: 1 }]);

  const range = { topic: halts, partition: 0, from: 0, to: 3, maxBytes: 1, signal };
  const read = async (more: Partial<ReadRange>) => {
    const offsets: number[] = [];
    for await (const records of kafka.read({ ...range, ...more })) {
      offsets.push(...records.map(({ offset }) => offset));
    }
    return offsets;
  };
  await expect(read({})).rejects.toThrow("offset 1 is corrupt");
  const skipped: CorruptBatch[] = [];
  expect(await read({ onSkipped: (batch) => void skipped.push(batch) })).toEqual([0, 2]);
  expect(skipped).toMatchObject([{ topic: halts, offset: 1, behind: 2, isEndKnown: true }]);

  const whole = fakeShell();
  expect(await skipCorrupt(kafka, { ...at, offset: 1 }, whole)).toBe(1);
  expect(whole.errors()).toContain("has already passed offset 1");
});

/** Message IDs in the order of arrival, for each attempt. */
let received: string[] = [];
/** IDs that are rejected once. */
let refusedOnce = new Set<string>();

async function world(prefix: string, onCorruptBatch: string) {
  received = [];
  const { url } = await useReceiver(({ body }) => {
    const { type, messageId: id = type } = JSON.parse(body) as { type: string; messageId?: string };
    received.push(id);
    return refusedOnce.delete(id) ? 503 : 200;
  });
  const program = useProgram({
    kafka: {
      ...{ brokers: [front.address], topicPrefix: prefix, sessionTimeout: "6s" },
      onCorruptBatch: { calls: onCorruptBatch },
    },
    destinations: { hook: { payload: "full", messageIdHeader: false, endpoints: [{ url }] } },
    delivery: { retryDelays: ["1s"] },
  });
  const running = await program.ready();
  const producer = kafka.producer();
  const publish = async (messageId: string, event = "e") => {
    const call = { type: "track", event, userId: "u", messageId };
    const headers = [["source-id", Buffer.from("web")]] as const;
    const value = Buffer.from(JSON.stringify(call));
    await producer.send([{ topic: `${prefix}calls`, key: Buffer.from("u"), value, headers }]);
  };
  const metrics = () => running.get("/metrics");
  return { program, running, producer, publish, metrics };
}

test("stop: route halts and reports where, deletion, deliver and delay continue, and the command frees it", async () => {
  const { program, running, producer, publish, metrics } = await world("stop.", "stop");
  await publish("before");
  // Requests to the receiver use another path: the word is changed only in data from brokers.
  await publish("lost", "intact");
  await publish("after");
  expect(await running.logged("stage.halted")).toMatchObject({ level: "error", stage: "route" });
  await expect.poll(() => received).toContain("before");

  const readiness = await fetch(`http://${await running.admin()}/readyz`);
  expect(readiness.status).toBe(200);
  const where = "topic stop.calls, partition 0, offset 1";
  const command = "switchyard skip-corrupt-batch stop.calls 0 1";
  const body = await readiness.text();
  expect(body).toContain(where);
  expect(body).toContain(command);
  expect(await metrics()).toContain(
    'switchyard_consumer_halted_offset{stage="route",destination="",topic="stop.calls",partition="0"} 1',
  );
  const status = await program.inProcess(["status", "--admin", await running.admin()]);
  expect(status.status).toBe(0);
  expect(status.out).toContain(
    "route is halted at a corrupt batch in stop.calls, partition 0, offset 1",
  );
  expect(status.out).toContain(command);

  // The call passes the deletion and deliver stages, the delay stage once, and the deliver stage again.
  refusedOnce = new Set(["delete"]);
  const request = Buffer.from(JSON.stringify({ userId: "u" }));
  const at = { topic: "stop.deletion-requests", key: Buffer.from("u"), headers: [] };
  await producer.send([{ ...at, value: request }]);
  await expect.poll(() => received.filter((id) => id === "delete").length).toBe(2);
  expect(received).not.toContain("after");

  const skip = ["skip-corrupt-batch", "stop.calls", "0", "1"];
  const dry = await program.inProcess([...skip, "--dry-run"]);
  expect([dry.status, dry.out]).toEqual([0, expect.stringContaining("offsets 1 to 1")]);
  expect((await program.inProcess(skip)).status).toBe(0);
  await expect.poll(() => received).toContain("after");
  expect(received).not.toContain("lost");
  await expect
    .poll(metrics)
    .toContain('switchyard_consumer_halted{stage="route",destination=""} 0');
  expect(await running.stop()).toBe(0);
});

test("skip: exactly the batch is skipped, reported and counted, and the rest arrives", async () => {
  const { program, running, publish, metrics } = await world("skip.", "skip");
  await publish("before");
  await publish("lost", "intact");
  await publish("after");
  await expect.poll(() => received).toEqual(["before", "after"]);
  expect(await running.logged("stage.corrupt-batch-skipped")).toMatchObject({
    ...{ level: "error", stage: "route", topic: "skip.calls", partition: 0 },
    ...{ firstOffset: 1, lastOffset: 1, corruption: expect.stringContaining("checksum") },
  });
  const counted = 'switchyard_corrupt_batches_skipped_total{stage="route",topic="skip.calls"} 1';
  expect(await metrics()).toContain(counted);
  await publish("last");
  await expect.poll(() => received).toContain("last");
  expect(running.lines.map(({ msg }) => msg)).not.toContain("stage.halted");
  const again = ["--since", "1h", "--config", program.file];
  const replayed = await program.inProcess(["replay", "hook", ...again]);
  expect([replayed.status, replayed.err]).toEqual([
    0,
    expect.stringContaining("partition 0 of skip.calls, offsets 1 to 1: the batch is corrupt"),
  ]);
  await expect.poll(() => received.filter((id) => id === "last").length).toBe(2);
  expect(received.filter((id) => id === "before").length).toBe(2);
  expect(await running.stop()).toBe(0);
  expect(await kafka.admin.committed("skip.route", "skip.calls")).toMatchObject([{ offset: 4 }]);
});
