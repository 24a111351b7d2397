// The procedures in docs/upgrading.md#move-to-another-cluster, with two programs on two clusters: the old cluster is drained, or mirrored
// with the groups' offsets, like MirrorMaker 2 does.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Kafka, logLevel, Partitioners } from "kafkajs";
import { beforeAll, expect, test } from "vitest";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { BROKERS } from "../support/kit/kafka.ts";
import { untilFileEnds } from "../support/kit/lifetime.ts";
import { type UsedProcess, useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";

const execute = promisify(execFile);
const jars = process.env.SWITCHYARD_KAFKA_JARS;

let target: PrivateKafka;
let isDown = false;
/** The message IDs that were accepted, in order. */
const accepted: string[] = [];
const lifetime = untilFileEnds();
const receiver = await useReceiver(({ id }) => {
  if (!isDown) accepted.push(id);
  return isDown ? 503 : 200;
}, lifetime);

beforeAll(async () => {
  target = await startKafka({ private: true });
  lifetime(() => target.stop());
});

function install(brokers: readonly string[], topicPrefix: string) {
  const world = useProgram({
    kafka: { brokers, topicPrefix },
    destinations: { crm: `${receiver.url}/` },
  });
  const send = async (program: UsedProcess, messageIds: readonly string[]) => {
    const batch = messageIds.map((messageId) => {
      return { type: "track", userId: "u1", event: "e", messageId };
    });
    expect(await program.post("/v1/batch", { batch })).toBe(200);
  };
  /**
   * Returns the number of records of the group, and of deliveries that wait for an attempt. If it is 0, nothing is left
   * to do.
   */
  const waiting = async () => {
    const { out } = await world.inProcess(["status", "--json"]);
    const { stages, destinations } = JSON.parse(out) as {
      readonly stages: readonly { readonly lag: number | null }[];
      readonly destinations: readonly Record<"waiting" | "awaitingRetry", number | null>[];
    };
    const all = [
      ...stages.map(({ lag }) => lag),
      ...destinations.flatMap(({ waiting: queued, awaitingRetry }) => [queued, awaitingRetry]),
    ];
    return all.reduce<number>((sum, each) => sum + (each ?? 1), 0);
  };
  return { world, start: () => world.ready(), send, waiting };
}

function ids(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, number) => `${name}-${number}`);
}

async function stop(program: UsedProcess): Promise<void> {
  expect(await program.stop()).toBe(0);
}

async function got(...expected: readonly string[]): Promise<void> {
  await expect.poll(() => accepted.toSorted()).toEqual(expected.toSorted());
}

test("drained in turn, each call arrives once", async () => {
  const prefix = uniquePrefix("drained");
  const before = install(BROKERS, prefix);
  const after = install(target.brokers, prefix);
  const [first, waits, late] = [ids("first", 30), ids("waits", 30), ids("late", 30)];
  const old = await before.start();
  await before.send(old, first);
  await got(...first);
  isDown = true;
  await before.send(old, waits);
  // One delivery was attempted, and awaits its retry. The others are on hold.
  await old.logged("delivery.attempted", first.length + 1);
  const fresh = await after.start();
  await after.send(fresh, late);
  await fresh.logged("delivery.attempted");
  isDown = false;
  await got(...first, ...waits, ...late);
  await expect.poll(before.waiting).toBe(0);
  await stop(old);
  await got(...first, ...waits, ...late);
  await stop(fresh);
});

test.skipIf(jars === undefined)(
  "mirrored, offsets count once their metadata is gone; before that all is repeated",
  async () => {
    accepted.length = 0;
    const prefix = uniquePrefix("mirrored");
    const before = install(BROKERS, prefix);
    const after = install(target.brokers, prefix);
    const first = ids("first", 30);
    const old = await before.start();
    await before.send(old, first);
    await got(...first);
    await expect.poll(before.waiting).toBe(0);
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
    await after.send(fresh, ["sentinel-1"]);
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
  const [from, to] = [connect(BROKERS), connect(target.brokers)];
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
  const admin = connect(BROKERS).admin();
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
