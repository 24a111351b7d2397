// Batches of the program on a real Kafka, with real receivers: which calls share a request, what happens to each call,
// and what a killed process repeats.

import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as timer } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { DEAD_LETTER_HEADER } from "../../src/domain/dead-letter.ts";
import { DELIVERY_HEADER } from "../../src/domain/delivery.ts";
import { groupNames } from "../../src/domain/topics.ts";
import { headerTexts } from "../support/build/calls.ts";
import { programWorld } from "../support/servers/program.ts";
import { ownTopics } from "../support/worlds/own-topics.ts";

const SOON = { timeout: 60_000, interval: 50 };
const TIMEOUT_MS = 180_000;

interface TakenBatch {
  readonly ids: readonly string[];
  readonly events: readonly string[];
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** When the response was written; 0 if it was not written yet. */
  respondedAtMs: number;
}

/** Starts a receiver that responds with `respond`, which gets everything that was received so far. */
async function receiver(respond: (taken: TakenBatch, response: ServerResponse) => Promise<void>) {
  const taken: TakenBatch[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const { headers } = request;
      const ids = `${headers["x-switchyard-message-id"]}`.split(",");
      const events = (JSON.parse(body) as { event: string }[]).map(({ event }) => event);
      const batch = { ids, events, headers, body, respondedAtMs: 0 };
      taken.push(batch);
      void respond(batch, response).then(() => {
        batch.respondedAtMs = Date.now();
      });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return { taken, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

const status = (code: number, body?: unknown) => (_taken: TakenBatch, response: ServerResponse) => {
  response.writeHead(code).end(body === undefined ? "" : JSON.stringify(body));
  return Promise.resolve();
};

/** Starts the program with one destination and its topics. */
async function pipeline(url: string, settings: string) {
  const { prefix, brokers, kafka, recordsIn } = ownTopics("batches");
  const world = programWorld(`
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: ${prefix}, partitions: 2, sessionTimeout: 6s }
defaultSource: web
sources: [{ id: web, writeKey: k-0123456789, destinations: [crm] }]
destinations:
  - { id: crm, type: webhook, sharedSecret: s3cr3t, messageIdHeader: true, attemptHeader: true, endpoints: [{ url: "${url}" }], ${settings} }
delivery: { allowNetworks: [127.0.0.0/8], retryDelays: [1s, 2s] }
attempts: { enabled: true }
ingest: { host: 127.0.0.1, port: 0, handover: 100ms }
admin: { host: 127.0.0.1, port: 0 }
`);
  onTestFinished(() => world[Symbol.asyncDispose]());
  const program = world.start();
  await program.logged("ready");
  const producer = kafka.producer();
  onTestFinished(() => producer.close(5_000));
  return {
    program,
    recordsIn,
    restart: async () => {
      const next = world.start();
      await next.logged("ready");
    },
    /** Publishes the calls m0, m1, …, in order for each user. */
    publish: (count: number, users = count) =>
      producer.send(
        Array.from({ length: count }, (_, at) => {
          const userId = `u${at % users}`;
          const call = { type: "track", userId, event: `e${at}`, messageId: `m${at}` };
          const value = Buffer.from(JSON.stringify(call));
          return { topic: `${prefix}calls`, key: Buffer.from(userId), value, headers: [] };
        }),
      ),
    /** Returns how many calls the route stage has committed. */
    routed: async () => {
      const committed = await kafka.admin.committed(groupNames(prefix).route, `${prefix}calls`);
      return committed.reduce((sum, { offset }) => sum + Math.max(0, offset), 0);
    },
    deadLetters: async () =>
      (await recordsIn("dead-letters")).map((record) => {
        const texts = headerTexts(record);
        return [texts[DELIVERY_HEADER.messageId], texts[DEAD_LETTER_HEADER.reason]];
      }),
    attempts: async () =>
      (await recordsIn("attempts")).map(({ value }) => JSON.parse(`${value}`) as AttemptJson),
  };
}

interface AttemptJson {
  readonly messageId: string;
  readonly attempt: number;
  readonly decision: string;
  readonly batch: { readonly id: string; readonly calls: number };
}

const numbers = (count: number) => Array.from({ length: count }, (_, at) => `m${at}`);
const idsOf = (taken: readonly TakenBatch[]) => taken.flatMap(({ ids }) => ids).toSorted();

test(
  "full batches are sent at once, the rest after `wait`, signed as a whole, and each attempt names its batch",
  async () => {
    const { taken, url } = await receiver(status(200));
    const { publish, attempts } = await pipeline(
      url,
      "standardWebhooks: true, batch: { calls: 10, wait: 1s }",
    );
    await publish(25);
    await expect.poll(() => idsOf(taken), SOON).toEqual(numbers(25).toSorted());
    expect(taken.some(({ ids }) => ids.length === 10)).toBe(true);
    for (const { ids, headers, body } of taken) {
      expect(headers["x-switchyard-batch"]).toBe(`${ids.length}`);
      expect(headers["x-signature"]).toBe(createHmac("sha1", "s3cr3t").update(body).digest("hex"));
    }
    await expect.poll(async () => (await attempts()).length, SOON).toBe(25);
    for (const { messageId, attempt, batch } of await attempts()) {
      const request = taken.find(({ ids }) => ids.includes(messageId));
      expect({ attempt, batch }).toEqual({
        attempt: 1,
        batch: { id: request?.headers["webhook-id"], calls: request?.ids.length },
      });
    }
  },
  TIMEOUT_MS,
);

test(
  "calls of one user arrive in order, together or one batch after the other, and never at the same time",
  async () => {
    let open = 0;
    let most = 0;
    const { taken, url } = await receiver(async (_taken, response) => {
      open += 1;
      most = Math.max(most, open);
      await timer(20);
      open -= 1;
      response.end();
    });
    const { publish } = await pipeline(url, "batch: { calls: 5, wait: 50ms }");
    await publish(33, 1);
    await expect.poll(() => idsOf(taken).length, SOON).toBe(33);
    expect(taken.flatMap(({ ids }) => ids)).toEqual(numbers(33));
    expect(most).toBe(1);
    expect(taken.length).toBeLessThan(33);
  },
  TIMEOUT_MS,
);

test(
  "the calls of a failed batch are retried together, each with its own record",
  async () => {
    let count = 0;
    const { taken, url } = await receiver((_taken, response) => {
      count += 1;
      response.writeHead(count === 1 ? 503 : 200).end();
      return Promise.resolve();
    });
    const { publish, attempts, recordsIn, deadLetters } = await pipeline(
      url,
      "batch: { calls: 6, wait: 1s }",
    );
    await publish(6);
    await expect.poll(() => taken.length, SOON).toBeGreaterThanOrEqual(2);
    await expect.poll(async () => (await attempts()).length, SOON).toBe(12);
    const [first, ...retries] = taken;
    expect(first?.ids.toSorted()).toEqual(numbers(6));
    expect(idsOf(retries)).toEqual(numbers(6));
    expect(retries.map(({ headers }) => headers["x-switchyard-attempt"]).join()).toBe(
      Array(6).fill("2").join(),
    );
    expect(await recordsIn("retries.crm")).toHaveLength(6);
    expect(await deadLetters()).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "413: of a batch with a poison call only that call becomes a dead letter, and each call has one attempt",
  async () => {
    const { taken, url } = await receiver((batch, response) => {
      response.writeHead(batch.events.includes("e5") ? 413 : 200).end();
      return Promise.resolve();
    });
    const { publish, attempts, deadLetters } = await pipeline(
      url,
      "batch: { calls: 16, wait: 1s }",
    );
    await publish(16);
    await expect.poll(deadLetters, SOON).toEqual([["m5", "rejected"]]);
    await expect.poll(async () => (await attempts()).length, SOON).toBe(16);
    const accepted = taken.filter(({ events }) => !events.includes("e5"));
    expect(idsOf(accepted)).toEqual(
      numbers(16)
        .filter((id) => id !== "m5")
        .toSorted(),
    );
    expect((await attempts()).filter(({ decision }) => decision === "rejected")).toMatchObject([
      { messageId: "m5", attempt: 1, batch: { calls: 1 } },
    ]);
  },
  TIMEOUT_MS,
);

test(
  "with `responses: each` calls are accepted, retried and rejected one by one",
  async () => {
    const { taken, url } = await receiver((batch, response) => {
      const isFirst = (id: string) => taken.filter(({ ids }) => ids.includes(id)).length === 1;
      const each = batch.ids.map((id) => {
        if (id === "m1") return { status: 400, error: "no such user" };
        return { status: id === "m2" && isFirst(id) ? 503 : 200 };
      });
      response.writeHead(207).end(JSON.stringify(each));
      return Promise.resolve();
    });
    const { publish, deadLetters } = await pipeline(
      url,
      "batch: { calls: 4, wait: 1s, responses: each }",
    );
    await publish(4);
    await expect.poll(() => taken.filter(({ ids }) => ids.includes("m2")).length, SOON).toBe(2);
    await expect.poll(deadLetters, SOON).toEqual([["m1", "rejected"]]);
    expect(taken.filter(({ ids }) => ids.includes("m0"))).toHaveLength(1);
  },
  TIMEOUT_MS,
);

const CALLS = 1_000;

test(
  "a killed process repeats an accepted batch as a whole or not at all, over all partitions",
  async () => {
    const { taken, url } = await receiver(async (_taken, response) => {
      await timer(100);
      response.end();
    });
    const { program, publish, restart, recordsIn, routed } = await pipeline(
      url,
      "concurrency: 2, batch: { calls: 10, wait: 20ms }",
    );
    await publish(CALLS);
    await expect.poll(async () => (await recordsIn("deliveries.crm")).length, SOON).toBe(CALLS);
    // Waits for this, so that the route stage repeats nothing.
    await expect.poll(routed, SOON).toBe(CALLS);
    await program.kill();
    const before = taken.length;
    const killedAtMs = Date.now();
    await restart();
    await expect.poll(() => new Set(idsOf(taken)).size, SOON).toBe(CALLS);
    expect(await recordsIn("deliveries.crm")).toHaveLength(CALLS);
    const again = new Set(taken.slice(before).flatMap(({ ids }) => ids));
    const accepted = taken
      .slice(0, before)
      .filter(({ respondedAtMs }) => respondedAtMs > 0 && respondedAtMs < killedAtMs);
    expect(accepted.length).toBeGreaterThan(0);
    expect(accepted.length).toBeLessThan(CALLS / 10);
    for (const { ids } of accepted) {
      expect([0, ids.length]).toContain(ids.filter((id) => again.has(id)).length);
    }
  },
  TIMEOUT_MS,
);
