// What only three brokers show, with our consumer and with the program: leaders move, brokers die and restart, too few
// replicas are in sync, partitions have no leader, and most brokers are down at the start. The brokers are started once.
// `npm run chaos -- cluster` and `npm run test:scenarios` do much more of this, for a longer time.

import { setTimeout as sleep } from "node:timers/promises";
import { Kafka as Driver, logLevel } from "kafkajs";
import { beforeAll, describe, expect, test } from "vitest";

import type { Consumer, Kafka } from "../../src/kafka/port.ts";
import { type LocalCluster, startCluster } from "../../tools/kafka/cluster.ts";
import { OURS, runScenario } from "../chaos/consumer-scenarios.ts";
import { Taker } from "../support/contract/taker.ts";
import { JAVA } from "../support/kit/java.ts";
import { untilFileEnds } from "../support/kit/lifetime.ts";
import { useProgram } from "../support/kit/program.ts";
import {
  brokerOf,
  CALLS,
  clusterConfig,
  GROUP,
  LONELY,
  NEAR,
  type ProgramOnCluster,
  programOnCluster,
} from "../support/worlds/program-on-cluster.ts";
import { consumeWith, testKafka } from "../support/worlds/test-kafka.ts";

const lifetime = untilFileEnds();
let cluster: LocalCluster;
beforeAll(async () => {
  if (JAVA === null) return;
  cluster = await startCluster();
  lifetime(() => cluster[Symbol.asyncDispose]());
});
const broker = (id: number) => brokerOf(cluster, id);
const leadersOf = async (topic: string) =>
  (await cluster.look.partitions(topic)).map(({ leader }) => leader);

describe.skipIf(JAVA === null)("a consumer on three brokers (needs Java)", () => {
  const TOPIC = "quiet";
  const FIRST_LEADERS = [1, 2, 3];
  const taker = new Taker({ finishesAtOnce: true });
  let kafka: Kafka;
  let consumer: Consumer;
  let round = 0;

  beforeAll(async () => {
    await cluster.look.create(TOPIC, [
      [1, 2, 3],
      [2, 3, 1],
      [3, 1, 2],
    ]);
    kafka = testKafka({ brokers: cluster.brokers });
    consumer = consumeWith(kafka, taker, { groupId: TOPIC, topics: [TOPIC] });
    await consumer.joined;
    return () => kafka.close();
  });

  const leaders = async () => (await leadersOf(TOPIC)).slice(0, 3);

  /** Writes as many keys as are needed to reach each partition. */
  async function untilRead(): Promise<void> {
    round += 1;
    const values = Array.from({ length: 30 }, (_, at) => `${round}-${at}`);
    const records = values.map((value) => {
      return { topic: TOPIC, headers: [], key: Buffer.from(value), value: Buffer.from(value) };
    });
    expect(await kafka.producer().send(records)).toEqual([]);
    const taken = () => new Set(taker.taken.map(({ value }) => `${value}`));
    await expect.poll(() => values.filter((value) => !taken().has(value))).toEqual([]);
  }

  test("a broker dies: its partitions are read from their new leaders", async () => {
    await untilRead();
    await broker(1).kill();
    await expect.poll(leaders).not.toContain(1);
    await untilRead();
    await broker(1).start();
    await cluster.look.untilInSync([TOPIC]);
    await untilRead();
  });

  test("a leader is elected that led nothing before: its partition is read from it", async () => {
    await cluster.look.electPreferred(TOPIC);
    await expect.poll(leaders).toEqual(FIRST_LEADERS);
    await untilRead();
  });

  test("partitions that are added are read", async () => {
    const admin = new Driver({ brokers: [...cluster.brokers], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await admin.createPartitions({ topicPartitions: [{ topic: TOPIC, count: 5 }] });
    await admin.disconnect();
    const owned = () => consumer.progress().length;
    await expect.poll(owned).toBe(5);
    await untilRead();
  });
});

const NONE = { neverSeen: 0, broken: new Map() };

// Scenarios of Kafka's system tests.
test.skipIf(JAVA === null).each([
  ["rolling bounce", { ...NONE, seenTwice: 0 }],
  ["commit after revocation", NONE],
  ["broker failure", { ...NONE, seenTwice: 0 }],
])("%s breaks no law (needs Java)", async (scenario, expected) => {
  expect(await runScenario(cluster, OURS, scenario)).toMatchObject(expected);
});

let on: ProgramOnCluster;

describe.skipIf(JAVA === null)("the program on three brokers (needs Java)", () => {
  beforeAll(async () => {
    on = await programOnCluster(cluster, lifetime);
  });

  test("a leader dies while calls flow, and is elected again when it is back: all arrive, once", async () => {
    const before = await on.publish(50);
    const [leader = 0] = await leadersOf(CALLS);
    const flow = { isOver: false };
    const flowing = (async () => {
      const ids: string[] = [];
      while (!flow.isOver) {
        ids.push(...(await on.publish(5)));
        await sleep(20);
      }
      return ids;
    })();
    await on.untilArrived("/near", before);
    await broker(leader).kill();
    await expect.poll(() => leadersOf(CALLS)).not.toContain(leader);
    const meanwhile = await on.publish(20);
    await on.untilArrived("/near", meanwhile);
    await broker(leader).start();
    await cluster.look.untilInSync([CALLS, NEAR]);
    for (const topic of [CALLS, NEAR]) await cluster.look.electPreferred(topic);
    await expect.poll(() => leadersOf(CALLS)).toContain(leader);
    flow.isOver = true;
    const all = [...before, ...(await flowing), ...meanwhile, ...(await on.publish(20))];
    await on.untilArrived("/near", all);
    await on.untilArrived("/lonely", all);
    expect([...on.arrived("/near")].filter(([, count]) => count > 1)).toEqual([]);
  });

  // The groups keep their members and partitions, and commits go to the next coordinator.
  test("the broker that coordinates a group restarts in good order: all arrive, once", async () => {
    const coordinator = await cluster.look.coordinatorOf(GROUP);
    const before = await on.publish(50);
    await on.untilArrived("/near", before);
    const restarts = () =>
      on.program.lines.filter(({ msg }) => msg === "kafka.consumer.restarting").length;
    const rejoined = restarts();
    await broker(coordinator).stop();
    const meanwhile = await on.publish(50);
    await on.untilArrived("/near", meanwhile);
    await broker(coordinator).start();
    await cluster.look.untilInSync([CALLS, NEAR, "__consumer_offsets"]);
    await cluster.look.electPreferred("__consumer_offsets");
    const after = await on.publish(50);
    await on.untilArrived("/near", after);
    expect(restarts()).toBe(rejoined);
    expect([...on.arrived("/near")].filter(([, count]) => count > 1)).toEqual([]);
  });
});

/** How many deliveries were rerouted so far, whether they have returned or not. */
async function rerouted(): Promise<number> {
  const ends = await on.kafka.admin.offsets("three.delays.1s");
  return ends.reduce((sum, { end }) => sum + end, 0);
}

describe.skipIf(JAVA === null)("the program on brokers with problems (needs Java)", () => {
  test("too few in-sync replicas: deliveries are rerouted around that topic, writes to calls wait, and both continue", async () => {
    await on.kafka.admin.alterConfig(NEAR, { "min.insync.replicas": "3" });
    await broker(3).kill();
    const inSync = async () =>
      (await cluster.look.partitions(NEAR)).map((partition) => partition.inSync.length);
    await expect.poll(inSync).toEqual([2, 2, 2]);
    const earlier = await rerouted();
    const ids = await on.publish(30);
    await on.untilArrived("/lonely", ids);
    expect(ids.filter((id) => on.arrived("/near").has(id))).toEqual([]);
    await expect.poll(rerouted).toBeGreaterThan(earlier);

    await on.kafka.admin.alterConfig(CALLS, { "min.insync.replicas": "3" });
    const waiting = on.publish(10);
    await broker(3).start();
    await on.untilArrived("/near", [...ids, ...(await waiting)]);
    await cluster.look.untilInSync([NEAR, CALLS]);
    for (const topic of [NEAR, CALLS]) {
      await on.kafka.admin.alterConfig(topic, { "min.insync.replicas": "2" });
    }
  });

  test("partitions without a leader: the other destination continues, and their deliveries arrive afterwards", async () => {
    await broker(1).kill();
    await expect.poll(() => leadersOf(LONELY)).toEqual([-1, -1, -1]);
    const ids = await on.publish(30);
    await on.untilArrived("/near", ids);
    expect(ids.filter((id) => on.arrived("/lonely").has(id))).toEqual([]);
    // For example, a destination is added now.
    const added = "three.added";
    await on.kafka.admin.create([{ name: added, partitions: 1, replicationFactor: 2, config: {} }]);
    await expect.poll(() => leadersOf(added)).toEqual([expect.toBeOneOf([2, 3])]);
    await on.kafka.admin.deleteTopics([added]);
    await broker(1).start();
    await on.untilArrived("/lonely", ids);
  });

  test("after all that it stops in good order", async () => {
    expect(await on.program.stop()).toBe(0);
  });

  // If two of three controllers are down, no topic can be created.
  test("a start while two brokers are unreachable reports it, and continues when they are back", async () => {
    await Promise.all([broker(2).kill(), broker(3).kill()]);
    const [address = ""] = cluster.brokers;
    const late = useProgram(clusterConfig([address], "http://127.0.0.1:9", "late."));
    const starting = late.begin("route,deliver,delay");
    await starting.logged("kafka.waiting");
    await Promise.all([broker(2).start(), broker(3).start()]);
    await starting.logged("ready");
    expect(await starting.stop()).toBe(0);
  });
});
