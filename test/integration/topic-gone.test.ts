// A destination's topic, or a delay topic, is deleted on the real Kafka while calls are routed.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "../../src/base/runtime/clock.ts";
import { createMetrics } from "../../src/base/telemetry/instruments.ts";
import { createLog } from "../../src/base/telemetry/log.ts";
import type { DestinationId, SourceId } from "../../src/domain/ids.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import { delayName, groupNames, topicNames } from "../../src/domain/topics.ts";
import { Brokers } from "../../src/kafka/cluster/brokers.ts";
import { Clients } from "../../src/kafka/cluster/connection.ts";
import { LATEST, listOffsets } from "../../src/kafka/cluster/offsets.ts";
import type {
  Consumer,
  Kafka,
  KafkaConnection,
  TopicSpec,
  WatchedProducer,
} from "../../src/kafka/port.ts";
import { startDelay } from "../../src/router/delay/stage.ts";
import { startRoute } from "../../src/router/route/stage.ts";
import { createRerouting } from "../../src/router/stage/reroute.ts";
import type { RunningStage } from "../../src/router/stage/running-stage.ts";
import { topicKeeper } from "../../src/router/stage/topic-keeper.ts";
import { aSource, aTopicDestination, headerTexts } from "../support/build/calls.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { Taker } from "../support/contract/taker.ts";
import { LogLines } from "../support/log/log-lines.ts";
import {
  deleteTopics as deletePrefixed,
  testConnection,
  testKafka,
} from "../support/worlds/test-kafka.ts";

const A = "a" as DestinationId;
const B = "b" as DestinationId;
const PARTITIONS = 2;
const RETRY_DELAYS_MS = [1_000, 2_000];
const CALLS = 20_000;
const PIECE = 1_000;
const TIMEOUT_MS = 300_000;

const brokers = process.env.SWITCHYARD_KAFKA_BROKERS;
if (brokers === undefined) {
  throw new Error("no Kafka to test with: set SWITCHYARD_KAFKA_BROKERS to host:port");
}
const connection = testConnection({ brokers: brokers.split(",") });
let lines: LogLines;

let prefix = "";
let topics = topicNames(prefix);
let kafka: Kafka;
let readers: Consumer[] = [];
let running: (RunningStage | { readonly close: () => Promise<void> })[] = [];

beforeEach(async () => {
  lines = new LogLines();
  prefix = uniquePrefix("gone");
  topics = topicNames(prefix);
  kafka = testKafka(connection, lines.log);
  readers = [];
  running = [];
  await kafka.admin.create(plan());
});

afterEach(async () => {
  for (const one of running) await ("close" in one ? one.close() : one[Symbol.asyncDispose]());
  await Promise.all(readers.map((reader) => reader.stop()));
  await deletePrefixed(kafka, prefix);
  await kafka.close();
});

/**
 * Shortly after a deletion, a broker still accepts records, which are deleted with the topic. They would be missing in
 * the counts of the tests.
 */
async function deleteTopics(names: readonly string[]): Promise<void> {
  await kafka.admin.deleteTopics(names);
  const isTaken = async () => {
    const listed = (await kafka.admin.topics()).some((name) => names.includes(name));
    return listed || (await topicsTaken(connection, names, PARTITIONS)).size > 0;
  };
  // The keeper may already have recreated the topic.
  const isGone = async () => !(await isTaken());
  await vi.waitUntil(isGone, { timeout: 3_000, interval: 100 }).catch(() => undefined);
}

function plan(): readonly TopicSpec[] {
  const names = [
    topics.calls,
    topics.deadLetters,
    topics.deliveries(A),
    topics.deliveries(B),
    ...RETRY_DELAYS_MS.map(topics.delays),
  ];
  return names.map((name) => ({
    name,
    partitions: PARTITIONS,
    replicationFactor: null,
    config: {},
  }));
}

interface Started {
  readonly failures: Error[];
  readonly producer: WatchedProducer;
  readonly healthProblems: () => readonly string[];
}

/** @param isMade by default as in the keeper: for topics in its plan. */
async function start(made: readonly TopicSpec[], isMade?: () => boolean): Promise<Started> {
  const { log } = lines;
  const failures: Error[] = [];
  const clock = systemClock;
  const metrics = createMetrics();
  const keeper = topicKeeper({ admin: kafka.admin, clock, log }, made);
  const producer = kafka.producer({ onMissing: keeper.missing });
  const rules = { topics, retryDelaysMs: RETRY_DELAYS_MS, isMade: isMade ?? keeper.isMade };
  const rerouting = createRerouting({ producer, metrics, clock }, rules);
  const onFatal = (error: Error) => failures.push(error);
  const deps = { kafka, producer, clock, log, metrics, rerouting, keeper, onFatal };
  const groups = groupNames(prefix);
  const common = { topics, groups, maxBytes: 32_000_000, drainLimitMs: 10_000 };
  const counted = { destinations: [], shownMax: 1, retryWindowMs: 60_000 };
  const delays = RETRY_DELAYS_MS.map(delayName);
  const delay = await startDelay(deps, { ...common, ...counted, delays });
  const route = await startRoute(deps, {
    ...common,
    sources: [aSource("web", [A, B])],
    defaultSource: "web" as SourceId,
    destinations: [aTopicDestination(A), aTopicDestination(B)],
  });
  running = [route, delay, { close: () => producer.close(1_000) }];
  await Promise.all([delay.joined, route.joined]);
  return { failures, producer, healthProblems: rerouting.healthProblems };
}

async function publish(from: number, to: number): Promise<void> {
  const producer = kafka.producer();
  for (let at = from; at < to; at += PIECE) {
    const numbers = Array.from({ length: Math.min(PIECE, to - at) }, (_, index) => at + index);
    await producer.send(
      numbers.map((number) => ({
        topic: topics.calls,
        key: Buffer.from(`u${number % 50}`),
        value: Buffer.from(
          JSON.stringify({
            type: "track",
            event: "e",
            userId: `u${number % 50}`,
            messageId: `m${number}`,
          }),
        ),
        headers: [],
      })),
    );
  }
  await producer.close(1_000);
}

function read(topic: string): Taker {
  const taker = new Taker({ finishesAtOnce: true });
  readers.push(
    kafka.consume({
      groupId: uniquePrefix(`${prefix}read`),
      topics: [topic],
      partitionRecordsMax: 10_000,
      maxBytes: 50_000_000,
      whenFull: "hold",
      drainLimitMs: 1_000,
      onAssigned: taker.onAssigned,
      // A test may delete what it has read.
      onCrash: () => undefined,
    }),
  );
  return taker;
}

const idOf = (record: IncomingRecord) => headerTexts(record)["switchyard-message-id"];

async function allIn(topic: string, count: number): Promise<readonly IncomingRecord[]> {
  const taker = read(topic);
  const ids = new Set<string | null | undefined>();
  let seen = 0;
  await taker.until(() => {
    for (; seen < taker.taken.length; seen += 1) ids.add(idOf(taker.taken[seen] as IncomingRecord));
    return ids.size >= count;
  });
  return taker.taken;
}

test("a topic that is deleted is recreated: the other destination gets everything immediately, its own deliveries come after", async () => {
  const { failures, healthProblems } = await start(plan());
  await publish(0, 1_000);
  await allIn(topics.deliveries(B), 1_000);
  await deleteTopics([topics.deliveries(A)]);
  const others = allIn(topics.deliveries(B), CALLS);
  await publish(1_000, CALLS);
  await others;
  const records = await allIn(topics.deliveries(A), CALLS - 1_000);
  // Rerouted deliveries have the same message ID, and very few of them arrive twice.
  expect(records.length).toBeLessThan(CALLS);
  await expect.poll(healthProblems, { timeout: TIMEOUT_MS }).toEqual([]);
  expect(failures).toEqual([]);
});

test("a topic that nobody recreates: only that destination's deliveries become dead letters", async () => {
  const { failures, producer, healthProblems } = await start([]);
  await deleteTopics([topics.deliveries(A)]);
  const others = allIn(topics.deliveries(B), CALLS);
  await publish(0, CALLS);
  await others;
  const deadLetters = await allIn(topics.deadLetters, CALLS);
  expect(producer.blocked()).toMatchObject([{ topic: topics.deliveries(A), by: "missing" }]);
  expect(healthProblems()).toEqual([
    expect.stringContaining(`brokers have rejected writes to ${topics.deliveries(A)} since`),
  ]);
  const reasons = new Set(deadLetters.map((each) => headerTexts(each)["switchyard-reason"]));
  expect(reasons).toEqual(new Set(["unknown-destination"]));
  const [deadLetter] = deadLetters;
  expect(deadLetter && headerTexts(deadLetter)).toMatchObject({
    "switchyard-destination": A,
    "switchyard-stage": "route",
    "switchyard-topic": topics.calls,
  });
  expect(failures).toEqual([]);
});

test("a delay topic that is deleted is recreated, and does not end the stage", async () => {
  const delays = topics.delays(1_000);
  const { failures } = await start(plan());
  await deleteTopics([delays]);
  // A broker may list the former topic for a while. A delivery that is written to this topic is deleted with it.
  await lines.until("topics.recreated");
  // The topic is read again: deliveries that are rerouted through it arrive.
  await deleteTopics([topics.deliveries(A)]);
  await publish(0, 100);
  await expect
    .poll(() => kafka.admin.topics(), { timeout: TIMEOUT_MS })
    .toContain(topics.deliveries(A));
  await allIn(topics.deliveries(A), 100);
  expect(failures).toEqual([]);
});

test("where the delay topics take nothing either, route waits, and nothing is lost", async () => {
  const { failures, producer } = await start([], () => true);
  const gone = [topics.deliveries(A), topics.deliveries(B), ...RETRY_DELAYS_MS.map(topics.delays)];
  await deleteTopics(gone);
  await publish(0, 500);
  await expect
    .poll(() => producer.blocked().map(({ topic }) => topic), { timeout: TIMEOUT_MS })
    .toEqual(expect.arrayContaining([topics.deliveries(A), topics.delays(1_000)]));
  expect(await kafka.admin.committed(groupNames(prefix).route, topics.calls)).toEqual([]);
  await kafka.admin.create(plan());
  await Promise.all([allIn(topics.deliveries(A), 500), allIn(topics.deliveries(B), 500)]);
  expect(failures).toEqual([]);
});

/** The topics, with `partitions` each, of which brokers still accept records, whatever the metadata says. */
async function topicsTaken(
  connection: KafkaConnection,
  topics: readonly string[],
  partitions: number,
): Promise<ReadonlySet<string>> {
  const client = new Clients(connection, createLog("error")).create();
  const brokers = new Brokers(client);
  const asked = topics.flatMap((topic) =>
    Array.from({ length: partitions }, (_, partition) => ({ topic, partition })),
  );
  const taken = new Set<string>();
  try {
    const { brokers: nodes } = await brokers.metadata([]);
    for (const { nodeId } of nodes) {
      const listed = await listOffsets(await brokers.leader(nodeId), asked, LATEST);
      for (const { topic, errorCode } of listed) if (errorCode === 0) taken.add(topic);
    }
    return taken;
  } finally {
    brokers.close();
    client.destroy();
  }
}
