// The program is killed in the middle of a change of its destinations, while calls are published. The next start uses
// the file: nothing is lost, topics are created, and new destinations get their calls.

import { renameSync, writeFileSync } from "node:fs";
import { setTimeout as timer } from "node:timers/promises";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";

import type { Kafka } from "../../src/kafka/port.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { programWorld, type RunningProgram } from "../support/servers/program.ts";
import { type WebhookServer, webhookServer } from "../support/servers/webhook-server.ts";
import { messageIdsOf } from "../support/worlds/own-topics.ts";
import { deleteTopics, testKafka } from "../support/worlds/test-kafka.ts";

const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
const SOON = { timeout: 90_000, interval: 100 };
const TIMEOUT_MS = 300_000;
const EVERY_MS = 10;
const SLOW_MS = 500;
/** The number of calls that wait for a destination. At its rate, they take half a minute. */
const LINE_MIN = 120;

let prefix = "";
let receiver: WebhookServer;
let kafka: Kafka;

beforeEach(async () => {
  prefix = uniquePrefix("reload-crash");
  receiver = await webhookServer();
  kafka = testKafka({ clientId: "reload-crash", sessionTimeoutMs: 6_000 });
});

afterEach(async () => {
  await deleteTopics(kafka, prefix);
  await kafka.close();
  await receiver[Symbol.asyncDispose]();
});

function configuration(ids: readonly string[]): string {
  const entries = ids.map((id) => {
    const url = `http://127.0.0.1:${receiver.port}/${id}`;
    return `  - { id: ${id}, type: webhook, messageIdHeader: true, concurrency: 2, endpoints: [{ url: "${url}" }] }\n`;
  });
  return `
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: ${prefix}, partitions: 2, sessionTimeout: 6s }
defaultSource: web
sources: [{ id: web, writeKey: k-0123456789, destinations: [${ids.join(", ")}] }]
destinations:
${entries.join("")}
delivery: { allowNetworks: [127.0.0.0/8], retryDelays: [1s, 2s] }
ingest: { host: 127.0.0.1, port: 0, handover: 100ms }
admin: { host: 127.0.0.1, port: 0 }
`;
}

const arrived = (id: string) =>
  new Set(receiver.at(`/${id}`).map(({ headers }) => `${headers["x-switchyard-message-id"]}`));
const missing = (id: string, wanted: readonly string[]) => {
  const there = arrived(id);
  return wanted.filter((messageId) => !there.has(messageId));
};

interface Traffic {
  /** Message IDs of the calls that are in the topic. */
  readonly published: readonly string[];
  stop(): Promise<void>;
}

/** Publishes calls until stopped. */
function traffic(): Traffic {
  const producer = kafka.producer();
  const published: string[] = [];
  let isOver = false;
  const flow = async () => {
    for (let number = 0; !isOver; number += 1) {
      const call = {
        type: "track",
        userId: `u${number % 20}`,
        event: "e",
        messageId: `m${number}`,
      };
      const key = Buffer.from(call.userId);
      const value = Buffer.from(JSON.stringify(call));
      await producer.send([{ topic: `${prefix}calls`, key, value, headers: [] }]);
      published.push(call.messageId);
      await timer(EVERY_MS);
    }
    await producer.close(5_000);
  };
  const flowing = flow();
  const stop = () => {
    isOver = true;
    return flowing;
  };
  onTestFinished(stop);
  return { published, stop };
}

async function start(ids: readonly string[]) {
  const world = programWorld(configuration(ids));
  onTestFinished(() => world[Symbol.asyncDispose]());
  const program = world.start();
  await program.logged("ready");
  const configure = (next: readonly string[]) => {
    writeFileSync(`${world.file}.tmp`, configuration(next));
    renameSync(`${world.file}.tmp`, world.file);
  };
  const restart = async () => {
    const next = world.start();
    await next.logged("ready");
    return next;
  };
  return { program, configure, restart };
}

const ADDED_MOMENTS: Readonly<Record<string, (program: RunningProgram) => Promise<unknown>>> = {
  "when the file has been written": () => Promise.resolve(),
  "when its topics are made": (program) => program.logged("topics.created"),
  "when it has been taken over": (program) => program.logged("config.applied"),
  "when it gets its first call": () =>
    expect.poll(() => arrived("new").size, SOON).toBeGreaterThan(0),
};

test.each(Object.keys(ADDED_MOMENTS))(
  "killed while a destination is added, %s",
  async (moment) => {
    const { program, configure, restart } = await start(["crm"]);
    const { published, stop } = traffic();
    await expect.poll(() => arrived("crm").size, SOON).toBeGreaterThan(20);
    configure(["crm", "new"]);
    await ADDED_MOMENTS[moment]?.(program);
    await program.kill();
    await restart();
    const names = await kafka.admin.topics();
    expect(names).toEqual(
      expect.arrayContaining([`${prefix}deliveries.new`, `${prefix}retries.new`]),
    );
    const before = published.length;
    await expect.poll(() => published.length, SOON).toBeGreaterThan(before + 50);
    await stop();
    await expect.poll(() => missing("crm", published), SOON).toEqual([]);
    await expect.poll(() => missing("new", published.slice(before)), SOON).toEqual([]);
  },
  TIMEOUT_MS,
);

const REMOVED_MOMENTS: Readonly<Record<string, (program: RunningProgram) => Promise<unknown>>> = {
  "when the file has been written": () => Promise.resolve(),
  "while its attempts in flight end": (program) => program.logged("config.applied"),
};

test.each(Object.keys(REMOVED_MOMENTS))(
  "killed while a destination is removed, %s",
  async (moment) => {
    receiver.slow("/gone", SLOW_MS);
    const { program, configure, restart } = await start(["crm", "gone"]);
    const first = traffic();
    await expect.poll(() => arrived("gone").size, SOON).toBeGreaterThan(2);
    // Its queue is long, and responses take a long time.
    const line = () => first.published.length - arrived("gone").size;
    await expect.poll(line, SOON).toBeGreaterThan(LINE_MIN);
    const before = [...first.published];
    // One partition may be written much earlier than the other.
    const notCopied = async () => {
      const copied = new Set(await messageIdsOf(kafka, `${prefix}deliveries.gone`));
      return before.filter((messageId) => !copied.has(messageId));
    };
    await expect.poll(notCopied, SOON).toEqual([]);
    expect(arrived("gone").size).toBeLessThan(before.length);
    configure(["crm"]);
    await REMOVED_MOMENTS[moment]?.(program);
    await program.kill();
    await restart();
    const after = first.published.length;
    await expect.poll(() => first.published.length, SOON).toBeGreaterThan(after + 50);
    await first.stop();
    await expect.poll(() => missing("crm", first.published), SOON).toEqual([]);
    // Its queue has waited.
    receiver.slow("/gone", 0);
    configure(["crm", "gone"]);
    await expect.poll(() => missing("gone", before), SOON).toEqual([]);
  },
  TIMEOUT_MS,
);
