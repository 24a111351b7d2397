// The procedures in docs/upgrading.md#move-to-another-cluster, with two programs on two clusters: the old cluster is drained, or mirrored
// with the groups' offsets, like MirrorMaker 2 does.

import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { Kafka, logLevel, Partitioners } from "kafkajs";
import { afterAll, beforeAll, expect, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import {
  type ProgramWorld,
  programWorld,
  type RunningProgram,
} from "../support/servers/program.ts";

const execute = promisify(execFile);
const PATIENCE = { timeout: 100_000, interval: 200 };
const oldBrokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
const jars = process.env.SWITCHYARD_KAFKA_JARS;

let target: PrivateKafka;
let isDown = false;
/** The message IDs that were accepted, in order. */
const accepted: string[] = [];
const receiver = createServer((request, response) => {
  request.resume().on("end", () => {
    if (!isDown) accepted.push(`${request.headers["x-switchyard-message-id"]}`);
    response.writeHead(isDown ? 503 : 200).end();
  });
});

beforeAll(async () => {
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  target = await startKafka({ private: true });
});
afterAll(async () => {
  receiver.close();
  await target.stop();
});

interface Installation extends AsyncDisposable {
  readonly world: ProgramWorld;
  readonly send: (ids: readonly string[]) => Promise<void>;
  readonly start: () => Promise<RunningProgram>;
  /**
   * Returns the number of records of the group, and of deliveries that wait for an attempt. If it is 0, nothing is left
   * to do.
   */
  readonly waiting: () => Promise<number>;
}

async function install(brokers: readonly string[], prefix: string): Promise<Installation> {
  const { port } = receiver.address() as AddressInfo;
  const [ingest, admin] = [await freePort(), await freePort()];
  const world = programWorld(`
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: ${prefix}, partitions: 1, replicationFactor: 1 }
sources: [{ id: web, writeKey: k, destinations: [crm] }]
destinations:
  - { id: crm, type: webhook, messageIdHeader: true, endpoints: [{ url: "http://127.0.0.1:${port}/" }] }
delivery: { allowNetworks: [127.0.0.0/8], retryDelays: [1s, 2s] }
ingest: { host: 127.0.0.1, port: ${ingest}, handover: 100ms }
admin: { host: 127.0.0.1, port: ${admin} }
`);
  return {
    world,
    send: async (ids) => {
      const batch = ids.map((id) => ({ type: "track", userId: "u1", event: "e", messageId: id }));
      const response = await fetch(`http://127.0.0.1:${ingest}/v1/batch`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa("k:")}`, "content-type": "application/json" },
        body: JSON.stringify({ batch }),
      });
      expect(response.status).toBe(200);
    },
    start: async () => {
      const program = world.start();
      await program.logged("ready");
      return program;
    },
    waiting: async () => {
      const { out } = await world.command(["status", "--json"]);
      const { stages, destinations } = JSON.parse(out) as {
        readonly stages: readonly { readonly lag: number | null }[];
        readonly destinations: readonly Record<"waiting" | "awaitingRetry", number | null>[];
      };
      const all = [
        ...stages.map(({ lag }) => lag),
        ...destinations.flatMap(({ waiting, awaitingRetry }) => [waiting, awaitingRetry]),
      ];
      return all.reduce<number>((sum, each) => sum + (each ?? 1), 0);
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

function ids(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, number) => `${name}-${number}`);
}

async function stop(program: RunningProgram): Promise<void> {
  program.child.kill("SIGTERM");
  expect(await program.ended).toBe(0);
}

async function got(...expected: readonly string[]): Promise<void> {
  await expect.poll(() => accepted.toSorted(), PATIENCE).toEqual(expected.toSorted());
}

test("drained in turn, each call arrives once", async () => {
  const prefix = uniquePrefix("drained");
  await using before = await install(oldBrokers, prefix);
  await using after = await install(target.brokers, prefix);
  const [first, waits, late] = [ids("first", 30), ids("waits", 30), ids("late", 30)];
  const old = await before.start();
  await before.send(first);
  await got(...first);
  isDown = true;
  await before.send(waits);
  // One delivery was attempted, and awaits its retry. The others are on hold.
  await old.logged("delivery.attempted", first.length + 1);
  const fresh = await after.start();
  await after.send(late);
  await fresh.logged("delivery.attempted");
  isDown = false;
  await got(...first, ...waits, ...late);
  await expect.poll(before.waiting, PATIENCE).toBe(0);
  await stop(old);
  await got(...first, ...waits, ...late);
  await stop(fresh);
});

test.skipIf(jars === undefined)(
  "mirrored, offsets count once their metadata is gone; before that all is repeated",
  async () => {
    accepted.length = 0;
    const prefix = uniquePrefix("mirrored");
    await using before = await install(oldBrokers, prefix);
    await using after = await install(target.brokers, prefix);
    const first = ids("first", 30);
    const old = await before.start();
    await before.send(first);
    await got(...first);
    await expect.poll(before.waiting, PATIENCE).toBe(0);
    await stop(old);

    expect((await after.world.command(["topics", "--apply"])).err).toBe("");
    const topics = ["calls", "deliveries.crm"].map((name) => `${prefix}${name}`);
    for (const topic of topics) await mirror(topic);
    const groups = [`${prefix}route`, `${prefix}deliver.crm`];
    for (const [at, group] of groups.entries()) await copyOffsets(group, `${topics[at]}`);

    for (const group of groups) {
      await kafkaConsumerGroups(
        ...["--group", group, "--reset-offsets", "--to-current", "--all-topics", "--execute"],
      );
    }
    const fresh = await after.start();
    await after.send(["sentinel-1"]);
    await got(...first, "sentinel-1");
    await stop(fresh);

    // A commit that is copied again names the topic of the other cluster, so it has no effect.
    for (const [at, group] of groups.entries()) await copyOffsets(group, `${topics[at]}`);
    const again = await after.start();
    // Deliveries that the route stage writes again are after those that the deliver stage reads again.
    const all = [...first, "sentinel-1"];
    await got(...all, ...all, ...all);
    await stop(again);
  },
);

/** Runs Kafka's own tool, as on the page. */
async function kafkaConsumerGroups(...args: readonly string[]): Promise<string> {
  const tool = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand";
  const server = ["--bootstrap-server", target.brokers.join(",")];
  const { stdout } = await execute("java", ["-cp", `${jars}/*`, tool, ...server, ...args]);
  return stdout;
}

function connect(brokers: readonly string[]): Kafka {
  return new Kafka({ brokers: [...brokers], clientId: "mirror", logLevel: logLevel.NOTHING });
}

/** Copies the records of the topic's only partition, like a mirror. */
async function mirror(topic: string): Promise<void> {
  const [from, to] = [connect(oldBrokers), connect(target.brokers)];
  const admin = from.admin();
  await admin.connect();
  const [end] = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  const count = Number(end?.high);
  const producer = to.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  const consumer = from.consumer({ groupId: uniquePrefix("mirror") });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const copied = Promise.withResolvers<void>();
  await consumer.run({
    eachMessage: async ({ message }) => {
      const { key, value, headers = {}, timestamp } = message;
      await producer.send({ topic, messages: [{ key, value, headers, timestamp, partition: 0 }] });
      if (Number(message.offset) === count - 1) copied.resolve();
    },
  });
  await copied.promise;
  await consumer.disconnect();
  await producer.disconnect();
}

/** Copies the group's commits with their metadata, like a mirror. */
async function copyOffsets(groupId: string, topic: string): Promise<void> {
  const admin = connect(oldBrokers).admin();
  await admin.connect();
  const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
  await admin.disconnect();
  const { offset, metadata } = found?.partitions[0] ?? { offset: "-1", metadata: null };
  expect(metadata).toContain(`sw1:${offset}:`);
  const consumer = connect(target.brokers).consumer({ groupId });
  const joined = Promise.withResolvers<void>();
  consumer.on(consumer.events.GROUP_JOIN, () => joined.resolve());
  await consumer.connect();
  await consumer.subscribe({ topic });
  await consumer.run({ autoCommit: false, eachMessage: async () => undefined });
  await joined.promise;
  await consumer.commitOffsets([{ topic, partition: 0, offset, metadata }]);
  await consumer.disconnect();
}
