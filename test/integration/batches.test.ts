// Batches of the program on a real Kafka, with real receivers: which calls share a request, what happens to each call,
// and what a killed process repeats.

import { createHmac } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { setTimeout as timer } from "node:timers/promises";
import { expect, test } from "vitest";

import { DEAD_LETTER_HEADER } from "../../src/domain/dead-letter.ts";
import { DELIVERY_HEADER } from "../../src/domain/delivery.ts";
import { headerTexts } from "../support/build/calls.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { useProgram } from "../support/kit/program.ts";
import { type Answer, type TakenRequest, useReceiver } from "../support/kit/receiver.ts";

interface TakenBatch {
  readonly ids: readonly string[];
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly request: TakenRequest;
}

async function receiver(respond: (batch: TakenBatch) => Answer | Promise<Answer>) {
  const taken: TakenBatch[] = [];
  const { url } = await useReceiver((request) => {
    const { id, headers, body } = request;
    const batch = { ids: id.split(","), headers, body, request };
    taken.push(batch);
    return respond(batch);
  });
  return { taken, url: `${url}/hook` };
}

/** Starts the program with one destination and its topics. */
async function pipeline(url: string, settings: object) {
  const { prefix, brokers, groups, recordsIn, publish, committedBy } = useKafka("batches");
  const world = useProgram({
    kafka: { brokers, topicPrefix: prefix, partitions: 2, sessionTimeout: "6s" },
    destinations: {
      crm: { sharedSecret: "s3cr3t", attemptHeader: true, endpoints: [{ url }], ...settings },
    },
    attempts: { enabled: true },
  });
  return {
    program: await world.ready(),
    ...{ recordsIn, publish },
    restart: () => world.ready(),
    /** Returns how many calls the route stage has committed. */
    routed: () => committedBy(groups.route, "calls"),
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

test("full batches are sent at once, the rest after `wait`, signed as a whole, and each attempt names its batch", async () => {
  const { taken, url } = await receiver(() => 200);
  const { publish, attempts } = await pipeline(url, {
    standardWebhooks: true,
    batch: { calls: 10, wait: "1s" },
  });
  await publish(25);
  await expect.poll(() => idsOf(taken)).toEqual(numbers(25).toSorted());
  expect(taken.some(({ ids }) => ids.length === 10)).toBe(true);
  for (const { ids, headers, body } of taken) {
    expect(headers["x-switchyard-batch"]).toBe(`${ids.length}`);
    expect(headers["x-signature"]).toBe(createHmac("sha1", "s3cr3t").update(body).digest("hex"));
  }
  await expect.poll(async () => (await attempts()).length).toBe(25);
  for (const { messageId, attempt, batch } of await attempts()) {
    const request = taken.find(({ ids }) => ids.includes(messageId));
    expect({ attempt, batch }).toEqual({
      attempt: 1,
      batch: { id: request?.headers["webhook-id"], calls: request?.ids.length },
    });
  }
});

test("calls of one user arrive in order, together or one batch after the other, and never at the same time", async () => {
  let open = 0;
  let most = 0;
  const { taken, url } = await receiver(async () => {
    open += 1;
    most = Math.max(most, open);
    await timer(20);
    open -= 1;
    return 200;
  });
  const { publish } = await pipeline(url, { batch: { calls: 5, wait: "50ms" } });
  await publish(33, { users: 1 });
  await expect.poll(() => idsOf(taken).length).toBe(33);
  expect(taken.flatMap(({ ids }) => ids)).toEqual(numbers(33));
  expect(most).toBe(1);
  expect(taken.length).toBeLessThan(33);
});

test("the calls of a failed batch are retried together, each with its own record", async () => {
  let count = 0;
  const { taken, url } = await receiver(() => {
    count += 1;
    return count === 1 ? 503 : 200;
  });
  const { publish, attempts, recordsIn, deadLetters } = await pipeline(url, {
    batch: { calls: 6, wait: "1s" },
  });
  await publish(6);
  await expect.poll(() => taken.length).toBeGreaterThanOrEqual(2);
  await expect.poll(async () => (await attempts()).length).toBe(12);
  const [first, ...retries] = taken;
  expect(first?.ids.toSorted()).toEqual(numbers(6));
  expect(idsOf(retries)).toEqual(numbers(6));
  expect(retries.map(({ headers }) => headers["x-switchyard-attempt"]).join()).toBe(
    Array(6).fill("2").join(),
  );
  expect(await recordsIn("retries.crm")).toHaveLength(6);
  expect(await deadLetters()).toEqual([]);
});

test("413: of a batch with a poison call only that call becomes a dead letter, and each call has one attempt", async () => {
  const { taken, url } = await receiver(({ ids }) => (ids.includes("m5") ? 413 : 200));
  const { publish, attempts, deadLetters } = await pipeline(url, {
    batch: { calls: 16, wait: "1s" },
  });
  await publish(16);
  await expect.poll(deadLetters).toEqual([["m5", "rejected"]]);
  await expect.poll(async () => (await attempts()).length).toBe(16);
  const accepted = taken.filter(({ ids }) => !ids.includes("m5"));
  expect(idsOf(accepted)).toEqual(
    numbers(16)
      .filter((id) => id !== "m5")
      .toSorted(),
  );
  expect((await attempts()).filter(({ decision }) => decision === "rejected")).toMatchObject([
    { messageId: "m5", attempt: 1, batch: { calls: 1 } },
  ]);
});

test("with `responses: each` calls are accepted, retried and rejected one by one", async () => {
  const { taken, url } = await receiver((batch) => {
    const isFirst = (id: string) => taken.filter(({ ids }) => ids.includes(id)).length === 1;
    const each = batch.ids.map((id) => {
      if (id === "m1") return { status: 400, error: "no such user" };
      return { status: id === "m2" && isFirst(id) ? 503 : 200 };
    });
    return { status: 207, body: JSON.stringify(each) };
  });
  const { publish, deadLetters } = await pipeline(url, {
    batch: { calls: 4, wait: "1s", responses: "each" },
  });
  await publish(4);
  await expect.poll(() => taken.filter(({ ids }) => ids.includes("m2")).length).toBe(2);
  await expect.poll(deadLetters).toEqual([["m1", "rejected"]]);
  expect(taken.filter(({ ids }) => ids.includes("m0"))).toHaveLength(1);
});

const CALLS = 1_000;

test("a killed process repeats an accepted batch as a whole or not at all, over all partitions", async () => {
  const { taken, url } = await receiver(() => ({ afterMs: 100 }));
  const { program, publish, restart, recordsIn, routed } = await pipeline(url, {
    concurrency: 2,
    batch: { calls: 10, wait: "20ms" },
  });
  await publish(CALLS);
  await expect.poll(async () => (await recordsIn("deliveries.crm")).length).toBe(CALLS);
  // Waits for this, so that the route stage repeats nothing.
  await expect.poll(routed).toBe(CALLS);
  await program.kill();
  const before = taken.length;
  const killedAtMs = Date.now();
  await restart();
  await expect.poll(() => new Set(idsOf(taken)).size).toBe(CALLS);
  expect(await recordsIn("deliveries.crm")).toHaveLength(CALLS);
  const again = new Set(taken.slice(before).flatMap(({ ids }) => ids));
  const accepted = taken
    .slice(0, before)
    .filter(({ request: { respondedAtMs } }) => respondedAtMs > 0 && respondedAtMs < killedAtMs);
  expect(accepted.length).toBeGreaterThan(0);
  expect(accepted.length).toBeLessThan(CALLS / 10);
  for (const { ids } of accepted) {
    expect([0, ids.length]).toContain(ids.filter((id) => again.has(id)).length);
  }
});
