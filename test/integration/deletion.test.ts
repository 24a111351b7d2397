// Deletions on a real Kafka: from `switchyard delete` to the bytes that the receiver gets and the users to forget.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLog } from "../../src/base/telemetry/log.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import {
  configuredPlan,
  configuredTopics,
  kafkaConnection,
} from "../../src/operator/connect/connection.ts";
import { config } from "../support/build/config-source.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { Taker } from "../support/contract/taker.ts";
import { deleteTopics } from "../support/worlds/test-kafka.ts";

const BIN = join(import.meta.dirname, "../../bin/switchyard.js");
const PARTITIONS = 3;
const prefix = uniquePrefix("deletion");
const bodies: string[] = [];
const server = createServer((request, response) => {
  void text(request).then((body) => {
    bodies.push(body);
    response.writeHead(200).end();
  });
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;

const yaml = `
kafka: { brokers: "${process.env.SWITCHYARD_KAFKA_BROKERS ?? ""}", topicPrefix: "${prefix}", partitions: ${PARTITIONS} }
sources:
  - { id: web, destinations: [hook, off, warehouse] }
  - { id: ios, destinations: [hook] }
destinations:
  - { id: hook, type: webhook, payload: full, endpoints: [{ url: "http://127.0.0.1:${port}/hook" }] }
  - { id: off, type: webhook, enabled: false, endpoints: [{ url: "http://127.0.0.1:${port}/off" }] }
  - { id: warehouse, type: topic, name: Warehouse }
delivery: { retryDelays: [10s], allowNetworks: [127.0.0.0/8] }
admin: { host: 127.0.0.1, port: 0 }
`;
const settings = config(yaml);
const topics = configuredTopics(settings);
const folder = mkdtempSync(join(tmpdir(), "switchyard-deletion-"));
const file = join(folder, "switchyard.yaml");
writeFileSync(file, yaml);
const log = createLog("error", { write: () => undefined });
const kafka = createKafka(kafkaConnection(settings), log);
const producer = kafka.producer();

beforeAll(async () => {
  await kafka.admin.create(configuredPlan(settings));
});

afterAll(async () => {
  await producer.close(1_000);
  await deleteTopics(kafka, prefix);
  await kafka.close();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

async function switchyard(args: readonly string[]) {
  const child = spawn(process.execPath, [BIN, ...args, "--config", file]);
  const ended = once(child, "exit").then(([status]) => status as number | null);
  const [out, err, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { status, out, err };
}

/**
 * Starts the program with the stages that a deletion passes. Returns its exit status when it has stopped.
 */
function startProgram() {
  const args = ["run", "--stages", "deletion,deliver", "--config", file];
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit").then(([status]) => status as number | null);
  return {
    stop: () => {
      child.kill("SIGTERM");
      return ended;
    },
    [Symbol.dispose]: () => void child.kill("SIGKILL"),
  };
}

/** Reads whole topics, in a separate group. */
async function read(names: readonly string[], count: number): Promise<readonly IncomingRecord[]> {
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = kafka.consume({
    groupId: `${prefix}read.${names.join()}`,
    topics: names,
    partitionRecordsMax: 10_000,
    maxBytes: 32_000_000,
    whenFull: "hold",
    drainLimitMs: 1_000,
    onCrash: () => undefined,
    onAssigned: taker.onAssigned,
  });
  await taker.untilTaken(count);
  await consumer.stop();
  return taker.taken;
}

async function ends(topic: string): Promise<number> {
  const offsets = await kafka.admin.offsets(topic);
  return offsets.reduce((sum, { end }) => sum + end, 0);
}

test("a user is deleted by command: at every source, or at one, down to the receiver's bytes", async () => {
  const asked = await switchyard(["delete", "97980"]);
  expect(asked).toEqual({
    status: 0,
    out: `Deletion requested (${topics.deletionRequests}). Destinations to be notified: hook for web, hook for ios.\nNot notified: off (disabled), warehouse (type topic).\n`,
    err: "",
  });
  const one = await switchyard(["delete", "u1", "--source", "web", "--source", "web"]);
  expect(one).toMatchObject({
    status: 0,
    out: expect.stringContaining("notified: hook for web.\n"),
  });
  const json = await switchyard(["delete", "u2", "--source", "web", "--json"]);
  expect({ ...json, out: JSON.parse(json.out) as unknown }).toEqual({
    status: 0,
    out: {
      ...{ topic: topics.deletionRequests, userId: "u2", sources: ["web"] },
      notified: [{ destination: "hook", source: "web" }],
      notNotified: expect.any(Array),
    },
    err: "",
  });
  const none = await switchyard(["delete", "u1", "--source", "web", "--source", "tv"]);
  expect(none).toMatchObject({ status: 2, out: "" });

  using program = startProgram();
  await expect.poll(() => bodies.length, { interval: 50 }).toBe(4);
  expect(await program.stop()).toBe(0);

  const body = (user: string) =>
    new RegExp(`^\\{"type":"delete","userId":"${user}","timestamp":"\\d{4}-[^"]*Z"\\}$`);
  expect(bodies.filter((each) => body("97980").test(each))).toHaveLength(2);
  expect(bodies.filter((each) => body("u1").test(each))).toHaveLength(1);
  expect(bodies.filter((each) => body("u2").test(each))).toHaveLength(1);
  // The two notifications of a request are the same, byte for byte.
  expect(new Set(bodies).size).toBe(3);
  expect(await ends(topics.deliveries("off" as DestinationId))).toBe(0);
  expect(await ends(topics.deliveries("warehouse" as DestinationId))).toBe(0);
  const forgets = await read([topics.audienceSyncs], PARTITIONS);
  expect(forgets.map(({ value }) => value?.toString())).toEqual(
    Array.from({ length: PARTITIONS }, () => '{"type":"forget","userId":"97980"}'),
  );
  expect(forgets.map(({ partition }) => partition).toSorted()).toEqual([0, 1, 2]);
});
