// The ingest stage on a real Kafka: calls with the response 200 are in the topic, whatever happens to the process.

import { Agent, request } from "node:http";
import { Analytics } from "@segment/analytics-node";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../tools/kafka/free-port.ts";
import { headerTexts } from "../support/build/calls.ts";
import { countProduceRequests } from "../support/kit/produce-requests.ts";
import { ingestProcess } from "../support/servers/ingest-process.ts";
import { type CallsTopic, callsTopic, ingestOn, KEY } from "../support/worlds/ingest-on-kafka.ts";

let calls: CallsTopic;
beforeEach(async () => {
  calls = await callsTopic("ingest");
});
afterEach(() => calls[Symbol.asyncDispose]());

const authorization = `Basic ${Buffer.from(`${KEY}:`).toString("base64")}`;
const call = (messageId: string, user = "u") => ({
  type: "track",
  userId: user,
  event: "e",
  messageId,
});

/** Resolves with the status, or with null if the connection failed. */
function post(port: number, agent: Agent, batch: readonly object[]): Promise<number | null> {
  return new Promise((resolve) => {
    const options = { port, agent, method: "POST", path: "/v1/batch", headers: { authorization } };
    const sent = request(options, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? null));
      response.on("error", () => resolve(null));
    });
    sent.on("error", () => resolve(null));
    sent.end(JSON.stringify({ batch }));
  });
}

async function start(port: number, handover = "5s") {
  const { brokers, prefix } = calls;
  const process = await ingestProcess({ brokers, prefix, port, handover });
  onTestFinished(() => process.kill("SIGKILL"));
  return process;
}

const ids = () => new Set(calls.values().map(({ messageId }) => messageId));

test("batches of many connections are written in order, with their source, in few requests", async () => {
  await using stage = await ingestOn(calls);
  const produced = countProduceRequests("ingest");
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const batches = Array.from({ length: 100 }, (_, number) =>
    Array.from({ length: 20 }, (_entry, at) => call(`m${number}-${at}`, `u${at % 3}`)),
  );
  const statuses = await Promise.all(batches.map((batch) => post(stage.port, agent, batch)));
  agent.destroy();
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(produced()).toBeGreaterThan(0);
  // Each broker leads different partitions.
  const brokers = calls.brokers.split(",").length;
  expect(produced()).toBeLessThanOrEqual((batches.length / 2) * brokers);
  await calls.taker.untilTaken(2_000);
  expect(ids().size).toBe(2_000);
  expect(headerTexts(calls.taker.taken[0] ?? { headers: [] })).toEqual({ "source-id": "web" });
  const lastOf = new Map<string, number>();
  for (const { messageId, userId } of calls.values()) {
    const [, number, at] = /^m(\d+)-(\d+)$/.exec(`${messageId}`) ?? [];
    const place = `${number} ${userId}`;
    expect(Number(at)).toBeGreaterThan(lastOf.get(place) ?? -1);
    lastOf.set(place, Number(at));
  }
});

test("killed under load: no call of a batch that got 200 is missing", async () => {
  const port = await freePort();
  const process = await start(port);
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const acknowledged: string[] = [];
  let isOver = false;
  let number = 0;
  const caller = async () => {
    while (!isOver) {
      number += 1;
      const batch = Array.from({ length: 20 }, (_, at) =>
        call(`m${number}-${at}`, `u${number % 50}`),
      );
      const status = await post(port, agent, batch);
      if (status === 200) acknowledged.push(...batch.map(({ messageId }) => messageId));
      if (acknowledged.length > 20_000) process.kill("SIGKILL");
    }
  };
  const callers = Array.from({ length: 32 }, caller);
  expect(await process.ended).toBeNull();
  isOver = true;
  await Promise.all(callers);
  agent.destroy();
  await calls.taker.until(() => {
    const written = ids();
    return acknowledged.every((id) => written.has(id));
  });
  expect(acknowledged.length).toBeGreaterThan(20_000);
});

test("stopped under load: every response is a 200 or a refused connection, and the exit status is 0", async () => {
  const port = await freePort();
  const process = await start(port, "1s");
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const statuses = new Map<number | null, number>();
  const acknowledged: string[] = [];
  let isOver = false;
  let number = 0;
  const caller = async () => {
    while (!isOver) {
      number += 1;
      const id = `m${number}`;
      const status = await post(port, agent, [call(id)]);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 200) acknowledged.push(id);
      if (acknowledged.length === 500) process.kill("SIGTERM");
    }
  };
  const callers = Array.from({ length: 8 }, caller);
  expect(await process.ended).toBe(0);
  isOver = true;
  await Promise.all(callers);
  agent.destroy();
  expect([...statuses.keys()].filter((status) => status !== 200 && status !== null)).toEqual([]);
  await calls.taker.until(() => {
    const written = ids();
    return acknowledged.every((id) => written.has(id));
  });
});

/** The client library's error for a call that it drops. */
interface ClientError {
  readonly reason?: { readonly cause?: { readonly code?: string } };
  readonly ctx?: { readonly event: { readonly messageId?: string } };
}

/** Much less than a process with a bad hand-over would interrupt. */
const CUT_MAX = 10;

/** Sends a call every few milliseconds, each with a different message ID. */
function sending(port: number, name: string, more: object = {}) {
  const errors: ClientError[] = [];
  const host = `http://127.0.0.1:${port}`;
  const analytics = new Analytics({ writeKey: KEY, host, flushAt: 1, ...more });
  analytics.on("error", (error) => errors.push(error as ClientError));
  const sent: string[] = [];
  const timer = setInterval(() => {
    const messageId = `${name}${sent.length}`;
    sent.push(messageId);
    analytics.track({ userId: messageId, event: "e", messageId });
  }, 5);
  const stop = async () => {
    clearInterval(timer);
    await analytics.closeAndFlush();
  };
  return { errors, sent, stop };
}

test("a restart with the successor first rejects nobody, and loses no call of a library as shipped", async () => {
  const port = await freePort();
  // This is shorter than the start of a process: only a successor that is already ready is in time.
  const first = await start(port, "300ms");
  const shipped = sending(port, "s");
  // The three retries within a second are disabled: nothing may be rejected at all.
  const strict = sending(port, "m", { maxRetries: 0 });
  const second = await start(port, "100ms");
  first.kill("SIGTERM");
  expect(await first.ended).toBe(0);
  const sentByBoth = strict.sent.length;
  while (strict.sent.length < sentByBoth + 50)
    await new Promise((resolve) => setTimeout(resolve, 5));
  await Promise.all([shipped.stop(), strict.stop()]);
  expect(shipped.errors).toEqual([]);
  // The kernel may assign some connections to the first process while it closes. They are interrupted, but none is ever
  // rejected.
  expect(strict.errors.filter(({ reason }) => reason?.cause?.code !== "ECONNRESET")).toEqual([]);
  expect(strict.errors.length).toBeLessThan(CUT_MAX);
  const cut = new Set(strict.errors.map(({ ctx }) => ctx?.event.messageId));
  const stored = [...shipped.sent, ...strict.sent.filter((id) => !cut.has(id))];
  await calls.taker.until(() => {
    const written = ids();
    return stored.every((id) => written.has(id));
  });
  second.kill("SIGTERM");
  expect(await second.ended).toBe(0);
});
