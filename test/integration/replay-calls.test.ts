// `switchyard replay` as a child process on a real Kafka: it counts, is killed in the middle, and is resumed. Every
// call is written, and at most one batch is written twice.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, expect, test } from "vitest";

import { uniquePrefix } from "../support/build/prefix.ts";
import { messageIdsOf } from "../support/worlds/own-topics.ts";
import { deleteTopics, testKafka } from "../support/worlds/test-kafka.ts";

const MAIN = join(import.meta.dirname, "../../src/main.ts");
const POLL = { interval: 100 };
const CALLS = 3_000;
const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
const prefix = uniquePrefix("replay-calls");
const folder = mkdtempSync(join(tmpdir(), "switchyard-replay-calls-"));
const file = join(folder, "switchyard.yaml");
const children = new Set<ChildProcess>();
const kafka = testKafka();
const [calls, deliveries] = [`${prefix}calls`, `${prefix}deliveries.hook`];

function configure(destinations: string): void {
  writeFileSync(
    file,
    `
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: "${prefix}", partitions: 2 }
sources: [{ id: web, destinations: [${destinations}] }]
defaultSource: web
destinations: [${destinations
      .split(",")
      .map((id) => `{ id: ${id.trim()}, type: topic, name: ${id.trim().toUpperCase()} }`)
      .join(", ")}]
`,
  );
}

afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await deleteTopics(kafka, prefix);
  await kafka.close();
  rmSync(folder, { recursive: true });
});

function start(args: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, ...args, "--config", file]);
  children.add(child);
  const ended = once(child, "close").then(([status]) => {
    children.delete(child);
    return status as number | null;
  });
  return { child, ended, out: text(child.stdout), err: text(child.stderr) };
}

async function switchyard(...args: readonly string[]) {
  const { ended, out, err } = start(args);
  return { status: await ended, out: await out, err: await err };
}

async function writtenCount(): Promise<number> {
  const offsets = await kafka.admin.offsets(deliveries);
  return offsets.reduce((sum, { end }) => sum + end, 0);
}

/** Returns the message IDs of the deliveries in the destination's topic. */
const written = () => messageIdsOf(kafka, deliveries);

test("a new destination gets the calls of before, through a kill", async () => {
  configure("other");
  expect(await switchyard("topics", "--apply")).toMatchObject({ status: 0 });
  const value = (number: number) => ({
    ...{ type: "track", userId: `u-${number % 50}`, event: "E", messageId: `m-${number}` },
    ...(number % 10 === 0 ? { integrations: { HOOK: false } } : {}),
  });
  const records = Array.from({ length: CALLS }, (_, number) => ({
    topic: calls,
    key: Buffer.from(`u-${number % 50}`),
    value: Buffer.from(JSON.stringify(value(number))),
    headers: [],
  }));
  expect(await kafka.producer().send(records)).toEqual([]);

  // This is the new destination.
  configure("other, hook");
  const missing = await switchyard("replay", "hook", "--since", "1h");
  expect(missing.err).toContain(`the topic ${deliveries} does not exist`);
  expect(missing.err).toContain("switchyard topics --apply");
  expect(missing.status).toBe(1);
  expect(await switchyard("topics", "--apply")).toMatchObject({ status: 0 });

  const dry = await switchyard("replay", "hook", "--since", "1h", "--dry-run", "--json");
  expect(JSON.parse(dry.out)).toMatchObject({
    ...{ end: "counted", written: CALLS * 0.9, skipped: { "named-false": CALLS / 10 } },
  });
  expect(await writtenCount()).toBe(0);

  const killed = start(["replay", "hook", "--since", "1h", "--per-second", "500"]);
  await expect.poll(writtenCount, POLL).toBeGreaterThan(300);
  killed.child.kill("SIGKILL");
  await killed.ended;
  const [, name = ""] = /Replay (\S+) started/.exec(await killed.err) ?? [];
  // Later calls are routed by the stage.
  await kafka.producer().send(records.slice(1, 2));
  const resumed = await switchyard("replay", "--resume", name, "--per-second", "100000", "--json");
  expect(resumed.status).toBe(0);
  expect(JSON.parse(resumed.out)).toMatchObject({
    ...{ end: "done", replay: name, resume: null, rejected: 0 },
    ...{ written: CALLS * 0.9, skipped: { "named-false": CALLS / 10 } },
  });

  const ids = await written();
  const wanted = records.flatMap((_, number) => (number % 10 === 0 ? [] : [`m-${number}`]));
  expect(new Set(ids)).toEqual(new Set(wanted));
  expect(ids.length - wanted.length).toBeLessThanOrEqual(500);
  expect((await switchyard("replay", "--resume", name)).status).toBe(2);
});
