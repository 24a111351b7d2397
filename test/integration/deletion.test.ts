// Deletions on a real Kafka: from `switchyard delete` to the bytes that the receiver gets and the users to forget.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeAll, expect, test } from "vitest";

import { configuredPlan } from "../../src/operator/connect/connection.ts";
import { config } from "../support/build/config-source.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { untilFileEnds } from "../support/kit/lifetime.ts";
import { useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";

const BIN = join(import.meta.dirname, "../../bin/switchyard.js");
const PARTITIONS = 3;
const lifetime = untilFileEnds();
const own = useKafka("deletion", { lifetime });
const { topics } = own;
const { url, taken } = await useReceiver(() => 200, lifetime);

const yaml = `
kafka: { brokers: "${own.brokers}", topicPrefix: "${own.prefix}", partitions: ${PARTITIONS} }
sources:
  - { id: web, destinations: [hook, off, warehouse] }
  - { id: ios, destinations: [hook] }
destinations:
  - { id: hook, type: webhook, payload: full, endpoints: [{ url: "${url}/hook" }] }
  - { id: off, type: webhook, enabled: false, endpoints: [{ url: "${url}/off" }] }
  - { id: warehouse, type: topic, name: Warehouse }
delivery: { retryDelays: [10s], allowNetworks: [127.0.0.0/8] }
admin: { host: 127.0.0.1, port: 0 }
`;
const { file } = useProgram(yaml, lifetime);

beforeAll(async () => {
  await own.kafka.admin.create(configuredPlan(config(yaml)));
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
      ...{ topic: topics.deletionRequests, userId: "u2", sources: ["web"], suppress: false },
      notified: [{ destination: "hook", source: "web" }],
      notNotified: expect.any(Array),
    },
    err: "",
  });
  const none = await switchyard(["delete", "u1", "--source", "web", "--source", "tv"]);
  expect(none).toMatchObject({ status: 2, out: "" });

  using program = startProgram();
  await expect.poll(() => taken.length).toBe(4);
  expect(await program.stop()).toBe(0);

  const bodies = taken.map(({ body: each }) => each);
  const body = (user: string) =>
    new RegExp(`^\\{"type":"delete","userId":"${user}","timestamp":"\\d{4}-[^"]*Z"\\}$`);
  expect(bodies.filter((each) => body("97980").test(each))).toHaveLength(2);
  expect(bodies.filter((each) => body("u1").test(each))).toHaveLength(1);
  expect(bodies.filter((each) => body("u2").test(each))).toHaveLength(1);
  // The two notifications of a request are the same, byte for byte.
  expect(new Set(bodies).size).toBe(3);
  expect(await own.writtenTo("deliveries.off")).toBe(0);
  expect(await own.writtenTo("deliveries.warehouse")).toBe(0);
  const forgets = await own.recordsIn("audience-syncs");
  expect(forgets.map(({ value }) => value?.toString())).toEqual(
    Array.from({ length: PARTITIONS }, () => '{"type":"forget","userId":"97980"}'),
  );
  expect(forgets.map(({ partition }) => partition).toSorted()).toEqual([0, 1, 2]);
});
