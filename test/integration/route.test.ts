// The route stage on a real Kafka: it reads calls, writes deliveries and dead letters, and repeats nothing after a
// graceful stop.

import { beforeEach, expect, test } from "vitest";
import { systemClock } from "../../src/base/runtime/clock.ts";
import { createMetrics } from "../../src/base/telemetry/instruments.ts";
import { createLog } from "../../src/base/telemetry/log.ts";
import type { DestinationId, SourceId } from "../../src/domain/ids.ts";
import type { IncomingRecord, OutgoingRecord } from "../../src/domain/record.ts";
import { startRoute } from "../../src/router/route/stage.ts";
import { aSource, aTopicDestination, headerTexts } from "../support/build/calls.ts";
import { encodeBatch } from "../support/build/record-batches.ts";
import { rawProduce } from "../support/kafka-client/raw-produce.ts";
import { type UsedKafka, useKafka } from "../support/kit/kafka.ts";
import { countProduceRequests } from "../support/kit/produce-requests.ts";
import { countingTakes } from "../support/worlds/counting-takes.ts";
import { testConnection } from "../support/worlds/test-kafka.ts";

/** Its topic accepts only small records. */
const TIGHT = "tight";
const WIDE = ["a", "live", ...Array.from({ length: 18 }, (_, index) => `d${index}`)];
const IDS = [TIGHT, ...WIDE];
const PARTITIONS = 3;

const log = createLog("error");
const connection = testConnection({
  recordMaxBytes: (topic) => (topic === deliveries(TIGHT) ? 2_000 : 1e6),
});

let own: UsedKafka;

beforeEach(async () => {
  own = useKafka("route", { connection });
  await own.kafka.admin.create(
    allTopics().map((name) => ({
      name,
      partitions: PARTITIONS,
      replicationFactor: 1,
      // The batches of some topics have times in 2023, so brokers would delete them at their next check.
      config: { "retention.ms": "-1" },
    })),
  );
});

function allTopics(): readonly string[] {
  return [own.topics.calls, own.topics.deadLetters, ...IDS.map((id) => deliveries(id))];
}

function deliveries(id: string): string {
  return own.topics.deliveries(id as DestinationId);
}

async function start(connectedTo: readonly string[], counts = { takes: 0 }) {
  const failures: Error[] = [];
  const stage = await startRoute(
    {
      kafka: countingTakes(own.kafka, counts),
      producer: own.producer,
      clock: systemClock,
      log,
      metrics: createMetrics(),
      onFatal: (error) => failures.push(error),
    },
    {
      topics: own.topics,
      groups: own.groups,
      sources: [aSource("web", connectedTo)],
      defaultSource: "web" as SourceId,
      destinations: IDS.map((id) => aTopicDestination(id, { historical: id !== "live" })),
      maxBytes: 32_000_000,
      drainLimitMs: 10_000,
    },
  );
  return { stage, failures };
}

function toCalls(value: unknown): OutgoingRecord {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value));
  return {
    topic: own.topics.calls,
    key: null,
    value: bytes,
    headers: [["trace", Buffer.from("t")]],
  };
}

const call = (number: number, more: object = {}) => ({
  type: "identify",
  userId: `u${number % 10}`,
  messageId: `m${number}`,
  timestamp: "2020-01-01T00:00:00Z",
  ...more,
});

const messageId = (record: IncomingRecord) => headerTexts(record)["switchyard-message-id"];
const numbered = (count: number) => Array.from({ length: count }, (_, number) => `m${number}`);

test("calls become deliveries with their headers, and invalid ones dead letters", async () => {
  const { stage, failures } = await start(["a", TIGHT, "live"]);
  await own.producer.send([
    toCalls(call(0)),
    toCalls(Buffer.from([0xff])),
    toCalls(call(1, { integrations: { All: false, a: true } })),
    toCalls(call(2, { traits: { text: "x".repeat(3_000) } })),
    toCalls(call(3, { integrations: { All: false } })),
  ]);
  const copies = own.read(["a", TIGHT, "live"].map((id) => `deliveries.${id}`));
  const deadLetters = own.read(["dead-letters"]);
  await Promise.all([copies.untilTaken(6), deadLetters.untilTaken(2)]);
  await stage[Symbol.asyncDispose]();

  const routed = copies.taken.map(
    (copy) => `${messageId(copy)} ${copy.topic.slice(own.prefix.length)}`,
  );
  expect(routed.toSorted()).toEqual([
    "m0 deliveries.a",
    "m0 deliveries.live",
    "m0 deliveries.tight",
    "m1 deliveries.a",
    "m2 deliveries.a",
    "m2 deliveries.live",
  ]);
  const first = copies.taken.filter((copy) => messageId(copy) === "m0");
  const ofA = first.find(({ topic }) => topic === deliveries("a"));
  const live = first.find(({ topic }) => topic === deliveries("live"));
  expect(ofA?.key?.toString()).toBe("u0");
  expect(JSON.parse(`${ofA?.value}`)).toEqual(call(0));
  const received = headerTexts(ofA ?? { headers: [] })["switchyard-received-at"];
  expect(headerTexts(ofA ?? { headers: [] })).toEqual({
    trace: "t",
    "switchyard-message-id": "m0",
    "switchyard-source": "web",
    "switchyard-destination": "a",
    "switchyard-timestamp": `${Date.UTC(2020, 0, 1)}`,
    "switchyard-received-at": received,
  });
  expect(headerTexts(live ?? { headers: [] })).toMatchObject({ "switchyard-timestamp": received });
  const reasons = deadLetters.taken.map(
    (deadLetter) => headerTexts(deadLetter)["switchyard-reason"],
  );
  expect(reasons.toSorted()).toEqual(["too-large", "undecodable"]);
  expect(failures).toEqual([]);
});

test.each([
  ["3 MB, which are read whole", 3_000_000],
  ["6 MB, which are read in part", 6_000_000],
])("a call with headers of %s, becomes a dead letter that keeps it", async (_name, bytes) => {
  const headers = [
    ["trace", Buffer.from("t")] as const,
    ["big", Buffer.alloc(bytes)] as const,
    ["next", Buffer.alloc(70_000)] as const,
    ["last", Buffer.from("l")] as const,
  ];
  const value = Buffer.from(JSON.stringify(call(0)));
  // When the partition is written, it has a leader.
  await own.producer.send([{ ...toCalls(call(1)), partition: 0 }]);
  const records = [{ key: Buffer.from("k"), value, headers }];
  await rawProduce(connection, own.topics.calls, 0, await encodeBatch(records, { compression: 1 }));
  const { stage, failures } = await start(["a"]);
  const copies = own.read(["deliveries.a"]);
  const deadLetters = own.read(["dead-letters"]);
  await Promise.all([copies.untilTaken(1), deadLetters.untilTaken(1)]);
  await stage[Symbol.asyncDispose]();
  expect(copies.taken.map(messageId)).toEqual(["m1"]);
  const [deadLetter] = deadLetters.taken;
  expect(deadLetter?.value).toEqual(value);
  expect(deadLetter?.key).toEqual(Buffer.from("k"));
  const said = headerTexts(deadLetter ?? { headers: [] });
  expect(said).toMatchObject({ trace: "t", last: "l", "switchyard-reason": "too-large" });
  expect(said).not.toHaveProperty("big");
  expect(said["switchyard-error"]).toMatch(/without the header "big" \(\d+ bytes\)$/);
  expect(failures).toEqual([]);
});

test("a graceful stop in the middle repeats nothing and loses nothing", async () => {
  const count = 20_000;
  await own.producer.send(Array.from({ length: count }, (_, number) => toCalls(call(number))));
  const copies = own.read(["deliveries.a"]);
  const first = await start(["a"]);
  await copies.untilTaken(1);
  await first.stage[Symbol.asyncDispose]();
  const second = await start(["a"]);
  await copies.untilTaken(count);
  await second.stage[Symbol.asyncDispose]();

  expect(await own.writtenTo("deliveries.a")).toBe(count);
  expect(copies.taken.map(messageId).toSorted()).toEqual(numbered(count).toSorted());
  expect(await own.committedBy(own.groups.route, "calls")).toBe(count);
  expect([...first.failures, ...second.failures]).toEqual([]);
});

test("a batch of input is a few produce requests, however many destinations there are", async () => {
  const count = 5_000;
  await own.producer.send(Array.from({ length: count }, (_, number) => toCalls(call(number))));
  const requests = countProduceRequests("test");
  const counts = { takes: 0 };
  const { stage } = await start(WIDE, counts);
  const copies = own.read(WIDE.map((id) => `deliveries.${id}`));
  await copies.untilTaken(count * WIDE.length);
  await stage[Symbol.asyncDispose]();
  expect(counts.takes).toBeGreaterThanOrEqual(count / 1_000);
  expect(requests()).toBeGreaterThan(0);
  // For 1,000 calls to 20 destinations, in topics with three partitions each.
  expect(requests()).toBeLessThanOrEqual(2 * counts.takes);
});
