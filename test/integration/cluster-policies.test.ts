// Clusters that reject settings of topics, like managed clusters: the broker has a policy.

import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { DEAD_LETTER_HEADER } from "../../src/domain/dead-letter.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { kafkaConnection } from "../../src/operator/connect/connection.ts";
import { configOf, loaded, useProgram, useRun } from "../support/kit/program.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { javaForPolicy, startPolicedKafka } from "../support/servers/policed-kafka.ts";

const java = await javaForPolicy();
const MIB = 1_048_576;
/** The default of a broker. */
const DEFAULT_BYTES = MIB + 12;

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

/** A configuration whose topics have the limits for this prefix. */
function managed(prefix: string, settings: object = {}) {
  const { file, inProcess } = useProgram(
    configOf({
      kafka: { brokers: broker?.brokers ?? [], topicPrefix: `${prefix}.`, ...settings },
      destinations: { hook: "http://127.0.0.1:9/hook" },
      delivery: { retryDelays: ["10s"] },
    }),
  );
  const lines = new LogLines();
  const kafka = createKafka(kafkaConnection(loaded(file).config), lines.log);
  onTestFinished(() => kafka.close());
  return {
    kafka,
    start: async () => {
      const running = useRun(file, ["route"]);
      await running.ready();
      return running.lines;
    },
    command: async (...args: readonly string[]) => {
      const { status, out, err } = await inProcess(args);
      return { status, output: out + err };
    },
    sizeOf: async (topic: string) => {
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
    const cluster = managed("default");
    const { lines } = await cluster.start();
    expect(await cluster.sizeOf("default.calls")).toBe(`${MIB}`);
    expect(await cluster.sizeOf("default.dead-letters")).toBe(`${DEFAULT_BYTES}`);
    const refused = lines
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
    const cluster = managed("more");
    await cluster.start();
    expect(await cluster.sizeOf("more.deliveries.hook")).toBe(`${MIB + 16 * 1_024}`);
    expect(await cluster.sizeOf("more.dead-letters")).toBe(`${MIB + 20 * 1_024}`);
  });

  test("that rejects a whole topic: `run` names it with the cluster's reason, and no permission", async () => {
    const cluster = managed("whole", { partitions: 3 });
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
      const cluster = managed("less", { maxMessageBytes: "500KiB" });
      const applied = await cluster.command("topics", "--apply");
      expect(applied).toMatchObject({ status: 0 });
      expect(await cluster.sizeOf("less.calls")).toBe("512000");
      expect(await cluster.sizeOf("less.dead-letters")).toBe("512000");
      expect(await cluster.command("topics")).toMatchObject({ status: 0 });
    });

    test("`--apply` names each setting that is rejected, and applies the rest", async () => {
      const cluster = managed("apply");
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
