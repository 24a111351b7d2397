// Processes with wrong clocks, and brokers with a correct clock.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "vitest";
import { stringify } from "yaml";
import type { IncomingRecord } from "../../src/domain/record.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { wrongClock } from "../support/clock/wrong-clock.ts";
import { programWorld, type RunningProgram } from "../support/servers/program.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const BROKERS = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
const POLL = { interval: 200, timeout: 60_000 };
const HOUR_MS = 3_600_000;
const LAST_STATUS = 200;

/** Starts a receiver that responds to each call with these statuses in turn, and then with 200. */
async function receiver({ onTestFinished }: TestContext, statuses: readonly number[]) {
  const arrivals: { readonly id: string; readonly atMs: number; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    const id = `${request.headers["x-switchyard-message-id"]}`;
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const earlier = arrivals.filter((each) => each.id === id).length;
      arrivals.push({ id, atMs: Date.now(), body: Buffer.concat(parts).toString() });
      response.writeHead(statuses[earlier] ?? LAST_STATUS).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { arrivals, url: `http://127.0.0.1:${port}/hook` };
}

async function cluster(
  { expect, onTestFinished }: TestContext,
  url: string,
  delays: readonly string[],
) {
  const prefix = uniquePrefix("clock");
  const world = programWorld(
    stringify({
      kafka: { brokers: BROKERS, topicPrefix: prefix, partitions: 1, replicationFactor: 1 },
      sources: [{ id: "web", writeKey: "a-write-key-of-tests", destinations: ["crm"] }],
      defaultSource: "web",
      destinations: [{ id: "crm", type: "webhook", messageIdHeader: true, endpoints: [{ url }] }],
      delivery: { retryDelays: delays, allowNetworks: ["127.0.0.0/8"] },
      admin: { host: "127.0.0.1", port: 0 },
      ingest: { host: "127.0.0.1", port: 0 },
    }),
  );
  onTestFinished(() => world[Symbol.asyncDispose]());
  const kafka = testKafka({ sessionTimeoutMs: 6_000 });
  onTestFinished(() => kafka.close());
  const publish = async (id: string) => {
    const value = { type: "track", userId: "u1", event: "e", messageId: id };
    const record = { key: Buffer.from("u1"), value: Buffer.from(JSON.stringify(value)) };
    const sent = kafka.producer().send([{ topic: `${prefix}calls`, ...record, headers: [] }]);
    expect(await sent).toEqual([]);
  };
  const records = async (topic: string): Promise<readonly IncomingRecord[]> => {
    const [log] = await kafka.admin.offsets(`${prefix}${topic}`);
    const found: IncomingRecord[] = [];
    const range = { from: log?.first ?? 0, to: log?.end ?? 0, maxBytes: 1_000_000 };
    const { signal } = new AbortController();
    const of = { topic: `${prefix}${topic}`, partition: 0, ...range, signal };
    for await (const step of kafka.read(of)) found.push(...step);
    return found;
  };
  return { world, publish, records, kafka, prefix };
}

async function metric(program: RunningProgram, name: string): Promise<number> {
  const { port } = await program.logged("admin.listening");
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${name}`) && !each.startsWith("#"));
  return Number(line?.split(" ").at(-1) ?? Number.NaN);
}

function track(port: unknown): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}/v1/track`, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from("a-write-key-of-tests:").toString("base64")}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ userId: "u1", event: "e", messageId: "m1" }),
  });
}

const header = ({ headers }: IncomingRecord, name: string) =>
  headers.find(([each]) => each === name)?.[1]?.toString() ?? "";

test.concurrent("a process 5 h behind makes the first attempt, and one that is right keeps its window", async (context) => {
  const { expect } = context;
  const hook = await receiver(context, [503]);
  const { world, publish, records } = await cluster(context, hook.url, ["10s"]);
  const behind = world.start(["--stages", "route,deliver,delay"], wrongClock(-5 * HOUR_MS));
  await behind.logged("ready");
  const warned = await behind.logged("clock.wrong");
  expect(warned.offsetMs).toBeLessThan(-5 * HOUR_MS + 2_000);
  expect(warned.offsetMs).toBeGreaterThan(-5 * HOUR_MS - 2_000);
  expect(await metric(behind, "switchyard_clock_offset_seconds")).toBeCloseTo(-18_000, -1);
  await publish("m1");
  await behind.logged("delivery.attempted");
  behind.child.kill("SIGTERM");
  await behind.ended;
  const right = world.start(["--stages", "route,deliver,delay"]);
  await expect.poll(() => hook.arrivals.length, POLL).toBe(2);
  const [returned] = await records("retries.crm");
  if (returned === undefined) throw new Error("nothing came back");
  const ageMs = Date.now() - Number(header(returned, "switchyard-first-attempt-at"));
  expect(Math.abs(ageMs)).toBeLessThan(120_000);
  expect(await records("dead-letters")).toEqual([]);
  expect(right.lines.some(({ msg }) => msg === "clock.wrong")).toBe(false);
});

test.concurrent("a process 5 h behind takes over what a right one has attempted, and expires none", async (context) => {
  const { expect } = context;
  const hook = await receiver(context, [503, 503]);
  const { world, publish, records } = await cluster(context, hook.url, ["10s"]);
  const right = world.start(["--stages", "route,deliver,delay"]);
  await right.logged("ready");
  await publish("m1");
  await right.logged("delivery.attempted");
  right.child.kill("SIGTERM");
  await right.ended;
  const behind = world.start(["--stages", "route,deliver,delay"], wrongClock(-5 * HOUR_MS));
  await expect.poll(() => hook.arrivals.length, POLL).toBe(3);
  await expect.poll(() => behind.lines.some(({ msg }) => msg === "clock.wrong"), POLL).toBe(true);
  expect(await records("dead-letters")).toEqual([]);
});

test.concurrent("a process an hour ahead waits for retries that others have scheduled", async (context) => {
  const { expect } = context;
  const hook = await receiver(context, [503]);
  const { world, publish, records } = await cluster(context, hook.url, ["20s"]);
  const right = world.start(["--stages", "route,deliver"]);
  await right.logged("ready");
  const ahead = world.start(["--stages", "delay"], wrongClock(HOUR_MS));
  await ahead.logged("ready");
  await publish("m1");
  await expect.poll(() => hook.arrivals.length, POLL).toBe(2);
  const [first, second] = hook.arrivals;
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(19_000);
  const [scheduled] = await records("delays.20s");
  const [returned] = await records("retries.crm");
  if (scheduled === undefined || returned === undefined) throw new Error("no retry was scheduled");
  expect(returned.timestampMs).toBeGreaterThanOrEqual(
    Number(header(scheduled, "switchyard-due-at")) - 2_000,
  );
});

test.concurrent("brokers accept what a process 5 h ahead writes, and calls have the time of the brokers' clock", async (context) => {
  const { expect } = context;
  const hook = await receiver(context, []);
  const { world, records } = await cluster(context, hook.url, ["2s"]);
  const ahead = world.start(["--stages", "ingest,route,deliver,delay"], wrongClock(5 * HOUR_MS));
  await ahead.logged("ready");
  const { port } = await ahead.logged("ingest.listening");
  // A client also sends a call again after a 503.
  await expect.poll(async () => (await track(port)).status, POLL).toBe(200);
  await expect.poll(() => hook.arrivals.length, POLL).toBeGreaterThan(0);
  const { timestamp } = JSON.parse(hook.arrivals[0]?.body ?? "{}") as { timestamp: string };
  expect(Math.abs(Date.parse(timestamp) - Date.now())).toBeLessThan(60_000);
  const [call] = await records("calls");
  expect(Math.abs((call?.timestampMs ?? 0) - Date.now())).toBeLessThan(60_000);
  expect(await metric(ahead, "switchyard_clock_offset_seconds")).toBeCloseTo(18_000, -1);
});

test.concurrent("a process 5 h ahead that cannot see the brokers' clock reports why they reject its writes", async (context) => {
  const { expect } = context;
  const hook = await receiver(context, []);
  const { world, kafka, prefix } = await cluster(context, hook.url, ["2s"]);
  await kafka.admin.create([
    {
      ...{ name: `${prefix}operator-actions`, partitions: 1, replicationFactor: 1 },
      config: { "message.timestamp.type": "CreateTime" },
    },
  ]);
  const ahead = world.start(["--stages", "ingest,deliver"], wrongClock(5 * HOUR_MS));
  const wrong: unknown = expect.stringContaining(
    "the clock of this process or of the broker is wrong (INVALID_TIMESTAMP)",
  );
  const { error } = await ahead.logged("process.unannounced");
  expect(error).toEqual(wrong);
  await ahead.logged("ready");
  const { port } = await ahead.logged("ingest.listening");
  track(port).catch(() => undefined);
  const failing = () => ahead.lines.filter(({ msg }) => msg === "kafka.produce.failing");
  const ofCalls = { topic: `${prefix}calls`, error: wrong };
  await expect.poll(failing, POLL).toContainEqual(expect.objectContaining(ofCalls));
  const { port: admin } = await ahead.logged("admin.listening");
  const readyz = async () => await (await fetch(`http://127.0.0.1:${admin}/readyz`)).text();
  await expect.poll(readyz, POLL).toContain("INVALID_TIMESTAMP");
  expect(await metric(ahead, "switchyard_clock_offset_seconds")).toBeNaN();
  const ownS = await metric(ahead, "switchyard_clock_timestamp_seconds");
  expect(ownS - Date.now() / 1_000).toBeCloseTo(18_000, -2);
});
