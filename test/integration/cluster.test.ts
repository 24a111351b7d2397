// The program on three brokers: leaders move, a broker dies while calls flow, too few copies are in
// sync, a partition has no leader. `npm run chaos -- cluster` does much more of it, for longer.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createKafka } from "../../src/kafka/kafka.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { chooseJava } from "../../tools/kafka/choose.ts";
import { type ClusterBroker, type LocalCluster, startCluster } from "../../tools/kafka/cluster.ts";
import { LogLines } from "../support/log/log-lines.ts";
import {
  type ProgramWorld,
  programWorld,
  type RunningProgram,
} from "../support/servers/program.ts";
import { type WebhookServer, webhookServer } from "../support/servers/webhook-server.ts";

const java = await chooseJava(new AbortController().signal, () => undefined).catch(() => null);
const PREFIX = "three.";
const CALLS = `${PREFIX}calls`;
const NEAR = `${PREFIX}deliveries.near`;
const LONELY = `${PREFIX}deliveries.lonely`;
const UNTIL = { timeout: 90_000, interval: 50 };

let cluster: LocalCluster;
let receiver: WebhookServer;
let world: ProgramWorld;
let program: RunningProgram;
let kafka: Kafka;
let sent = 0;

beforeAll(async () => {
  if (java === null) return;
  [cluster, receiver] = await Promise.all([startCluster(), webhookServer()]);
  // One copy alone, on the first broker.
  await cluster.look.create(LONELY, [[1], [1], [1]]);
  const connection = { brokers: cluster.brokers, clientId: "cluster-test", tls: null, sasl: null };
  const limits = { sessionTimeoutMs: 10_000, recordMaxBytes: () => 1e6 };
  kafka = createKafka({ ...connection, ...limits }, new LogLines().log);
  world = programWorld(configuration(cluster.brokers, receiver.port));
  program = world.start();
  await program.logged("ready");
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await kafka?.close();
  await receiver?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
});

function configuration(brokers: readonly string[], port: number, prefix = PREFIX): string {
  const destination = (id: string) =>
    `{ id: ${id}, type: webhook, messageIdHeader: true, endpoints: [{ url: "http://127.0.0.1:${port}/${id}" }] }`;
  return `
kafka:
  brokers: ${JSON.stringify(brokers)}
  topicPrefix: ${prefix}
  partitions: 3
  sessionTimeout: 6s
  startTimeout: 5m
sources: [{ id: web, writeKey: k, destinations: [near, lonely] }]
defaultSource: web
destinations:
  - ${destination("near")}
  - ${destination("lonely")}
delivery: { allowNetworks: [127.0.0.0/8], delays: [1s, 2s] }
admin: { host: 127.0.0.1, port: 0 }
`;
}

/** Resolves when the brokers have them. Returns the ids. */
async function publish(count: number): Promise<readonly string[]> {
  const ids = Array.from({ length: count }, () => {
    sent += 1;
    return `m${sent}`;
  });
  const records = ids.map((messageId) => {
    const call = { type: "track", messageId, userId: messageId, event: "Order Completed" };
    const value = Buffer.from(JSON.stringify(call));
    return { topic: CALLS, key: Buffer.from(messageId), value, headers: [] };
  });
  expect(await kafka.producer().send(records)).toEqual([]);
  return ids;
}

function arrived(path: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { headers } of receiver.at(path)) {
    const id = `${headers["x-switchyard-message-id"]}`;
    counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

async function untilArrived(path: string, ids: readonly string[]): Promise<void> {
  const missing = () => ids.filter((id) => !arrived(path).has(id));
  await expect.poll(missing, UNTIL).toEqual([]);
}

function broker(id: number): ClusterBroker {
  const found = cluster.nodes.find((node) => node.id === id);
  if (found === undefined) throw new Error(`there is no broker ${id}`);
  return found;
}

async function leadersOf(topic: string): Promise<readonly number[]> {
  return (await cluster.look.partitions(topic)).map(({ leader }) => leader);
}

/** Where Kafka keeps a group's offsets: Java's hash of its name. */
function partitionOf(group: string, partitions: number): number {
  let hash = 0;
  for (const character of group) hash = (Math.imul(31, hash) + character.charCodeAt(0)) | 0;
  return (hash & 0x7fff_ffff) % partitions;
}

describe.skipIf(java === null)("three brokers (need Java)", () => {
  test("a leader dies while calls flow, and is elected again when it is back: all arrive, once", async () => {
    const before = await publish(50);
    const [leader = 0] = await leadersOf(CALLS);
    const flow = { isOver: false };
    const flowing = (async () => {
      const ids: string[] = [];
      while (!flow.isOver) {
        ids.push(...(await publish(5)));
        await sleep(20);
      }
      return ids;
    })();
    await untilArrived("/near", before);
    await broker(leader).kill();
    await expect.poll(() => leadersOf(CALLS), UNTIL).not.toContain(leader);
    const meanwhile = await publish(20);
    await untilArrived("/near", meanwhile);
    await broker(leader).start();
    await cluster.look.untilInSync([CALLS, NEAR]);
    for (const topic of [CALLS, NEAR]) await cluster.look.electPreferred(topic);
    await expect.poll(() => leadersOf(CALLS), UNTIL).toContain(leader);
    flow.isOver = true;
    const all = [...before, ...(await flowing), ...meanwhile, ...(await publish(20))];
    await untilArrived("/near", all);
    await untilArrived("/lonely", all);
    expect([...arrived("/near")].filter(([, count]) => count > 1)).toEqual([]);
  });

  // Its groups keep their members and partitions, whose commits go to the next one.
  test("the broker that coordinates a group restarts in good order: all arrive, once", async () => {
    const offsets = await cluster.look.partitions("__consumer_offsets");
    const at = partitionOf(`${PREFIX}route`, offsets.length);
    const coordinator = offsets.find(({ partition }) => partition === at)?.leader ?? 0;
    const before = await publish(50);
    await untilArrived("/near", before);
    const rejoined = program.lines.filter(({ msg }) => msg === "kafka.consumer.restarting").length;
    await broker(coordinator).stop();
    const meanwhile = await publish(50);
    await untilArrived("/near", meanwhile);
    await broker(coordinator).start();
    await cluster.look.untilInSync([CALLS, NEAR, "__consumer_offsets"]);
    await cluster.look.electPreferred("__consumer_offsets");
    const after = await publish(50);
    await untilArrived("/near", after);
    const since = program.lines.filter(({ msg }) => msg === "kafka.consumer.restarting").length;
    expect(since).toBe(rejoined);
    expect([...arrived("/near")].filter(([, count]) => count > 1)).toEqual([]);
  });
});

describe.skipIf(java === null)("three brokers in trouble (need Java)", () => {
  test("too few copies in sync: copies go around that topic, writes to calls wait, and both go on", async () => {
    await kafka.admin.alterConfig(NEAR, { "min.insync.replicas": "3" });
    await broker(3).kill();
    const inSync = async () =>
      (await cluster.look.partitions(NEAR)).map((partition) => partition.inSync.length);
    await expect.poll(inSync, UNTIL).toEqual([2, 2, 2]);
    const ids = await publish(30);
    await untilArrived("/lonely", ids);
    expect(ids.filter((id) => arrived("/near").has(id))).toEqual([]);
    await expect.poll(() => waitingInTiers(), UNTIL).toBeGreaterThan(0);

    await kafka.admin.alterConfig(CALLS, { "min.insync.replicas": "3" });
    const waiting = publish(10);
    await broker(3).start();
    await untilArrived("/near", [...ids, ...(await waiting)]);
    await cluster.look.untilInSync([NEAR, CALLS]);
    for (const topic of [NEAR, CALLS]) {
      await kafka.admin.alterConfig(topic, { "min.insync.replicas": "2" });
    }
  });

  test("partitions without a leader: the other destination goes on, and theirs arrives afterwards", async () => {
    await broker(1).kill();
    await expect.poll(() => leadersOf(LONELY), UNTIL).toEqual([-1, -1, -1]);
    const ids = await publish(30);
    await untilArrived("/near", ids);
    expect(ids.filter((id) => arrived("/lonely").has(id))).toEqual([]);
    // Such as a destination that is added now.
    const added = `${PREFIX}added`;
    await kafka.admin.create([{ name: added, partitions: 1, replicationFactor: 2, config: {} }]);
    expect(await leadersOf(added)).not.toContain(-1);
    await kafka.admin.deleteTopics([added]);
    await broker(1).start();
    await untilArrived("/lonely", ids);
  });

  // With two of three controllers gone nobody can make a topic.
  test("a start while two brokers are away says so, and goes on when they are back", async () => {
    await Promise.all([broker(2).kill(), broker(3).kill()]);
    const address = cluster.brokers[0] ?? "";
    await using late = programWorld(configuration([address], receiver.port, "late."));
    const starting = late.start(["--stages", "route,deliver,delay"]);
    await starting.logged("kafka.waiting");
    await Promise.all([broker(2).start(), broker(3).start()]);
    await starting.logged("ready");
    starting.child.kill("SIGTERM");
    expect(await starting.ended).toBe(0);
  });

  test("after all that it stops in good order", async () => {
    program.child.kill("SIGTERM");
    expect(await program.ended).toBe(0);
  });
});

/** Copies that went around, and came back later. */
async function waitingInTiers(): Promise<number> {
  const ends = await kafka.admin.offsets(`${PREFIX}delays.1s`);
  return ends.reduce((sum, { end }) => sum + end, 0);
}
