// Clusters that reject settings of topics, like managed clusters: the broker has a policy.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { DEAD_LETTER_HEADER } from "../../src/domain/dead-letter.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { kafkaConnection } from "../../src/operator/connect/connection.ts";
import { runProgram } from "../../src/program/cli/program.ts";
import { run } from "../../src/program/run/run.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { javaForPolicy, startPolicedKafka } from "../support/servers/policed-kafka.ts";
import { fakeShell } from "../support/worlds/fake-shell.ts";

const java = await javaForPolicy();
const MIB = 1_048_576;
/** The default of a broker. */
const DEFAULT_BYTES = MIB + 12;

interface Managed {
  readonly kafka: Kafka;
  readonly lines: LogLines;
  /** Runs the program until the end of the test. */
  start(): Promise<{ readonly status: Promise<number> }>;
  command(...args: string[]): Promise<{ status: number; output: string }>;
  sizeOf(topic: string): Promise<string | undefined>;
}

const broker =
  java === null
    ? null
    : await startPolicedKafka(java, {
        "default.max.message.bytes": DEFAULT_BYTES,
        "more.max.message.bytes": MIB + 20 * 1_024,
        "less.max.message.bytes": 600_000,
        "apply.max.message.bytes": DEFAULT_BYTES,
        "apply.retention.ms": 700_000_000,
        "whole.partitions": 1,
      });
afterAll(() => broker?.[Symbol.asyncDispose]());

/** Writes a configuration whose topics have the limits for this prefix. */
async function managed(prefix: string, settings: object = {}): Promise<Managed> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-managed-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "switchyard.yaml");
  const brokers = broker?.brokers ?? [];
  writeFileSync(
    file,
    JSON.stringify({
      kafka: { brokers, topicPrefix: `${prefix}.`, partitions: 1, ...settings },
      sources: [{ id: "web", writeKey: "k", destinations: ["hook"] }],
      defaultSource: "web",
      destinations: [
        { id: "hook", type: "webhook", endpoints: [{ url: "http://127.0.0.1:9/hook" }] },
      ],
      delivery: { retryDelays: ["10s"], allowNetworks: ["127.0.0.0/8"] },
      admin: { host: "127.0.0.1", port: await freePort() },
      audience: { stateDir: join(directory, "state") },
    }),
  );
  const load = () => {
    const loaded = loadConfig({ file, env: {} });
    if (loaded.kind !== "config") throw new Error(JSON.stringify(loaded.problems));
    return loaded;
  };
  const lines = new LogLines();
  const kafka = createKafka(kafkaConnection(load().config), lines.log);
  onTestFinished(() => kafka.close());
  return {
    ...{ kafka, lines },
    start: async () => {
      const stopping = new AbortController();
      const status = run(load(), load, ["route"], stopping.signal, lines.log);
      onTestFinished(async () => {
        stopping.abort("SIGTERM");
        await status.catch(() => undefined);
      });
      const ready = lines.until("ready");
      await Promise.race([ready, status]);
      return { status };
    },
    command: async (...args) => {
      const shell = fakeShell();
      const status = await runProgram([...args, "--config", file], shell);
      return { status, output: shell.output() + shell.errors() };
    },
    sizeOf: async (topic) => {
      const [state] = await kafka.admin.describe([topic], ["max.message.bytes"]);
      return state?.config["max.message.bytes"];
    },
  };
}

/** Returns JSON that cannot be compressed to less than three quarters of its size. */
function callOf(bytes: number): Buffer {
  const start = '{"type":"track","userId":"u","event":"E","messageId":"m","properties":{"text":"';
  const end = '"}}';
  let text = "";
  for (let seed = 1; text.length < bytes; seed = (seed * 48_271) % 2_147_483_647) {
    text += seed.toString(36);
  }
  return Buffer.from(start + text.slice(0, bytes - start.length - end.length) + end);
}

async function deadLetterOf(kafka: Kafka) {
  const topic = "default.dead-letters";
  await expect.poll(async () => (await kafka.admin.offsets(topic))[0]?.end).toBeGreaterThan(0);
  const signal = new AbortController().signal;
  const range = { topic, partition: 0, from: 0, to: 1, maxBytes: MIB, signal };
  for await (const [deadLetter] of kafka.read(range))
    if (deadLetter !== undefined) return deadLetter;
  throw new Error("no dead letter");
}

const reasonOf = (headers: readonly (readonly [string, Buffer | null])[]) =>
  `${headers.find(([name]) => name === DEAD_LETTER_HEADER.reason)?.[1]}`;

describe.skipIf(java === null)("`run` on a cluster with a policy (needs a JDK and Maven)", () => {
  test("that allows records of 1 MiB: `run` starts, and a call that is too large keeps its value", async () => {
    const cluster = await managed("default");
    await cluster.start();
    await cluster.lines.until("ready");
    expect(await cluster.sizeOf("default.calls")).toBe(`${MIB}`);
    expect(await cluster.sizeOf("default.dead-letters")).toBe(`${DEFAULT_BYTES}`);
    const refused = cluster.lines.lines
      .filter(({ msg }) => msg === "topics.setting-rejected")
      .map(({ fields }) => fields);
    expect(refused.map(({ topic, setting }) => [topic, setting])).toContainEqual([
      "default.dead-letters",
      "max.message.bytes",
    ]);
    expect(refused.every(({ error }) => `${error}`.includes(`at most ${DEFAULT_BYTES}`))).toBe(
      true,
    );

    const value = callOf(MIB - 200);
    const sent = { topic: "default.calls", key: Buffer.from("u"), value, headers: [] };
    expect(await cluster.kafka.producer().send([sent])).toEqual([]);
    const deadLetter = await deadLetterOf(cluster.kafka);
    expect(reasonOf(deadLetter.headers)).toBe("too-large");
    expect(deadLetter.value?.equals(value)).toBe(true);
    expect(deadLetter.key?.toString()).toBe("u");
  });

  test("that allows more than its default: topics take as much as it allows", async () => {
    const cluster = await managed("more");
    await cluster.start();
    await cluster.lines.until("ready");
    expect(await cluster.sizeOf("more.deliveries.hook")).toBe(`${MIB + 16 * 1_024}`);
    expect(await cluster.sizeOf("more.dead-letters")).toBe(`${MIB + 20 * 1_024}`);
  });

  test("that rejects a whole topic: `run` names it with the cluster's reason, and no permission", async () => {
    const cluster = await managed("whole", { partitions: 3 });
    const error = await cluster.start().then(
      () => null,
      (cause: unknown) => cause as Error,
    );
    expect(error?.message).toContain("whole.calls: at most 1 partitions");
    expect(error?.message).not.toContain("right to create");
    // The allowed topics exist.
    expect(await cluster.kafka.admin.topics()).toContain("whole.retries.hook");
  });
});

describe.skipIf(java === null)(
  "`topics` on a cluster with a policy (needs a JDK and Maven)",
  () => {
    test("with kafka.maxMessageBytes: the plan goes no higher, and all is as planned", async () => {
      const cluster = await managed("less", { maxMessageBytes: "500KiB" });
      const applied = await cluster.command("topics", "--apply");
      expect(applied).toMatchObject({ status: 0 });
      expect(await cluster.sizeOf("less.calls")).toBe("512000");
      expect(await cluster.sizeOf("less.dead-letters")).toBe("512000");
      expect(await cluster.command("topics")).toMatchObject({ status: 0 });
    });

    test("`--apply` names each setting that is rejected, and applies the rest", async () => {
      const cluster = await managed("apply");
      const spec = (name: string) => ({ name, partitions: 1, replicationFactor: null, config: {} });
      const short = { "retention.ms": "1000", "max.message.bytes": "1000" };
      await cluster.kafka.admin.create([
        { ...spec("apply.deliveries.hook"), config: short },
        { ...spec("apply.dead-letters"), config: short },
        { ...spec("apply.calls"), config: short },
      ]);
      const { status, output } = await cluster.command("topics", "--apply");
      expect(status).toBe(1);
      const lines = output.split("\n");
      const says = (topic: string, key: string) =>
        lines.some(
          (line) =>
            line.includes(topic) && line.includes(`${key} is`) && line.includes("must be at most"),
        );
      expect(says("apply.deliveries.hook", "max.message.bytes")).toBe(true);
      expect(says("apply.dead-letters", "max.message.bytes")).toBe(true);
      expect(says("apply.dead-letters", "retention.ms")).toBe(true);
      expect(says("apply.calls", "retention.ms")).toBe(false);
      const keys = ["retention.ms", "max.message.bytes"];
      const states = await cluster.kafka.admin.describe(
        ["apply.calls", "apply.deliveries.hook", "apply.dead-letters"],
        keys,
      );
      const configs = Object.fromEntries(states.map(({ name, config }) => [name, config]));
      expect(configs["apply.calls"]).toEqual({
        "retention.ms": "604800000",
        "max.message.bytes": `${MIB}`,
      });
      expect(configs["apply.deliveries.hook"]?.["retention.ms"]).toBe("604800000");
      expect(
        Number(configs["apply.deliveries.hook"]?.["max.message.bytes"]),
      ).toBeGreaterThanOrEqual(MIB);
      // The missing topics exist, and their allowed settings are set.
      expect(await cluster.sizeOf("apply.retries.hook")).toBeDefined();
      expect(await cluster.kafka.admin.topics()).toContain("apply.operator-actions");
    });
  },
);
