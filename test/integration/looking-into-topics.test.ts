// The commands in docs/topics.md#inspect-topics, run with Kafka's own tools on a real Kafka.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parse } from "yaml";

import type { Kafka } from "../../src/kafka/port.ts";
import { findJars } from "../../tools/kafka/choose.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { Taker } from "../support/contract/taker.ts";
import { fencedBlocks } from "../support/project/fenced-blocks.ts";
import { ROOT } from "../support/project/tracked-texts.ts";
import { consumeWith, createTopics, testKafka } from "../support/worlds/test-kafka.ts";

const run = promisify(execFile);
const BROKERS = process.env.SWITCHYARD_KAFKA_BROKERS ?? "";
const PREFIX = uniquePrefix("looking");
const BLOCKS = fencedBlocks(readFileSync(join(ROOT, "docs/topics.md"), "utf8"));
// The first command is that of the headers, which precede the tools.
const [HASH = "", ...COMMANDS] = BLOCKS.filter(({ language }) => language === "sh").map(
  ({ text }) => text,
);
/** The classes that the image's scripts start. */
const TOOLS = {
  "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
  "kafka-get-offsets.sh": "org.apache.kafka.tools.GetOffsetShell",
  "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
};
const TOPICS = ["dead-letters", "calls", "deliveries.crm-hook"].map((name) => `${PREFIX}${name}`);
const GROUP = `${PREFIX}deliver.crm-hook`;
const DOWNLOAD_LIMIT_MS = 120_000;

let kafka: Kafka;
let scripts = "";
let jars: string | null = null;

beforeAll(async () => {
  jars = await findJars(AbortSignal.timeout(DOWNLOAD_LIMIT_MS), () => undefined).catch(() => null);
  scripts = mkdtempSync(join(tmpdir(), "switchyard-looking-"));
  for (const [name, main] of Object.entries(TOOLS)) {
    const file = join(scripts, name);
    writeFileSync(file, `#!/bin/sh\nexec java -cp '${jars}/*' ${main} "$@"\n`);
    chmodSync(file, 0o755);
  }
  kafka = testKafka({ clientId: "looking" });
  await createTopics(kafka, TOPICS);
  const producer = kafka.producer();
  const headers = [["switchyard-reason", Buffer.from("rejected")]] as const;
  const value = Buffer.from('{"type":"track"}');
  const record = (topic: string) => ({ topic, key: Buffer.from("u-1"), value, headers });
  await producer.send(TOPICS.map(record));
  await producer.close(10_000);
  await deliverAll();
}, DOWNLOAD_LIMIT_MS + 60_000);

/** Reads the destination's topic to its end, like its consumer, and commits. */
async function deliverAll(): Promise<void> {
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = consumeWith(kafka, taker, { groupId: GROUP, topics: TOPICS.slice(-1) });
  await vi.waitUntil(() => taker.taken.length === 1, { timeout: 60_000 });
  await consumer.stop();
}

afterAll(async () => {
  rmSync(scripts, { recursive: true, force: true });
  await kafka.admin.deleteTopics(TOPICS);
  await kafka.close();
});

const EXPECTED: Readonly<Record<string, RegExp>> = {
  "the dead letters": /switchyard-reason:rejected\tu-1\t\{"type":"track"\}/,
  "the record of a place": /CreateTime:\d+\tswitchyard-reason:rejected\t\{"type":"track"\}/,
  "the ends of the log": /deliveries\.crm-hook:0:1/,
  // Topic, partition, committed, end, lag.
  "the group": /deliveries\.crm-hook +0 +1 +1 +0 /,
};

test.for(Object.entries(EXPECTED).map(([what, pattern], index) => ({ what, pattern, index })))(
  "Kafka's tool shows $what",
  async ({ pattern, index }, context) => {
    if (jars === null) return context.skip("Kafka's tools need Java, and Maven to fetch them");
    expect(await shown(COMMANDS[index] ?? "")).toMatch(pattern);
  },
);

test("looking has joined no group and made none that stays", async (context) => {
  if (jars === null) return context.skip("Kafka's tools need Java, and Maven to fetch them");
  const list = "kafka-consumer-groups.sh --bootstrap-server localhost:9092 --list";
  const groups = (await shown(list)).split("\n");
  expect(groups.filter((group) => group.startsWith(PREFIX))).toEqual([GROUP]);
});

test("kcat shows the dead letters", async (context) => {
  const isThere = await run("kcat", ["-V"]).then(Boolean, () => false);
  if (!isThere) return context.skip("there is no kcat");
  const command = COMMANDS.find((text) => text.startsWith("kcat ")) ?? "";
  expect(await shown(command)).toContain('key u-1\nswitchyard-reason=rejected\n{"type":"track"}');
});

test("the hash of a URL is as documented", async () => {
  const [, url = ""] = /'([^']+)'/.exec(HASH) ?? [];
  const key = createHash("sha256").update(url).digest("hex").slice(0, 16);
  expect((await shown(HASH)).trim()).toBe(key);
});

test("the user interfaces reach the Kafka and the registry of docker-compose.yml", () => {
  const { services } = parse(readFileSync(join(ROOT, "docker-compose.yml"), "utf8"));
  const listeners: string = services.kafka.environment.KAFKA_ADVERTISED_LISTENERS;
  const interfaces = BLOCKS.filter(({ language }) => language === "yaml");
  expect(interfaces).toHaveLength(2);
  for (const { text } of interfaces) {
    expect(listeners).toContain(`//${/kafka:\d+/.exec(text)?.[0]},`);
    const registry = /http:\/\/(\w+):(\d+)/.exec(text);
    if (registry !== null) {
      expect(services[registry[1] ?? ""].ports[0]).toMatch(new RegExp(`:${registry[2]}$`));
    }
  }
});

async function shown(command: string): Promise<string> {
  const script = command
    .replaceAll("localhost:9092", BROKERS)
    .replaceAll(/\bswitchyard\.(?=[a-z])/g, PREFIX);
  const env = { ...process.env, PATH: `${scripts}${delimiter}${process.env.PATH}` };
  // If the tool finds no group, it reports this and fails.
  const { stdout, stderr } = await run("/bin/sh", ["-c", script], { env }).catch(
    (error: unknown) => error as { readonly stdout: string; readonly stderr: string },
  );
  return `${stdout}${stderr}`;
}
