// The deliver and delay stages on a real Kafka with a real receiver, with short delays and a short retry window.

import { createHmac } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { expect, test } from "vitest";
import { systemClock } from "../../src/base/runtime/clock.ts";
import { createMetrics } from "../../src/base/telemetry/instruments.ts";
import { createLog } from "../../src/base/telemetry/log.ts";
import { parseNetwork } from "../../src/domain/addresses.ts";
import { deliveryHeaders } from "../../src/domain/delivery.ts";
import type { MessageId } from "../../src/domain/ids.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import { delayName, groupNames, topicNames } from "../../src/domain/topics.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { startDelay } from "../../src/router/delay/stage.ts";
import { startDeliver } from "../../src/router/deliver/stage.ts";
import { openTransport } from "../../src/router/destinations/index.ts";
import type { WebhookDestination } from "../../src/router/destinations/webhook/settings.ts";
import { headerTexts } from "../support/build/calls.ts";
import { NO_EGRESS } from "../support/build/lists.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import {
  deliveryOf,
  endpointOf,
  webhookDestination,
} from "../support/build/webhook-destination.ts";
import { type Manner, useReceiver } from "../support/kit/receiver.ts";
import { createTopics, testKafka } from "../support/worlds/test-kafka.ts";

const LOOPBACK = [parseNetwork("127.0.0.0/8")].filter((network) => network !== null);
const quiet = createLog("error", { write: () => undefined });
const LAG = /^switchyard_consumer_lag_records\{.*stage="deliver".*\} (\d+)$/m;
const REQUESTS = /^switchyard_delivery_requests_total\{.*outcome="(.+)".*\} (\d+)$/gm;
/** A tenth of the time in which a receiver has to respond. */
const STALL_MS = 500;

const TRANSPORT = {
  timeoutMs: 5_000,
  allowNetworks: LOOPBACK,
  connectionMaxAgeMs: 60_000,
  ...NO_EGRESS,
};

async function receiver(manner?: Manner) {
  const { url, taken } = await useReceiver(manner);
  return { url: `${url}/hook`, taken };
}

/** Starts the deliver and delay stages for one destination, with separate topics. */
async function pipeline(
  url: string,
  given: Partial<WebhookDestination> = {},
  retryWindowMs = 60_000,
) {
  const prefix = uniquePrefix("deliver");
  const topics = topicNames(prefix);
  const groups = groupNames(prefix);
  const destination = webhookDestination({ endpoints: [endpointOf(url)], ...given });
  const retryDelaysMs = [200, 500];
  const delays = retryDelaysMs.map(delayName);
  const kafka = connect();
  // Checks the log end offsets, like a process does, because nothing is fetched while the queue is on hold.
  kafka.watch();
  const topicList = [
    topics.deadLetters,
    topics.deliveries(destination.id),
    topics.retries(destination.id),
    ...retryDelaysMs.map(topics.delays),
  ];
  await createTopics(kafka, topicList, 2);
  const common = { topics, groups, maxBytes: 1_048_576, drainLimitMs: 10_000 };
  const metrics = createMetrics();
  const start = async (more: Partial<WebhookDestination> = {}) => {
    const deps = { kafka, producer: kafka.producer(), clock: systemClock, log: quiet, metrics };
    const transport = await openTransport(TRANSPORT);
    const deliver = await startDeliver(
      { ...deps, transport },
      {
        ...common,
        maxBytes: () => common.maxBytes,
        commonMaxBytes: 0,
        destinations: [{ ...destination, ...more }],
        retryDelaysMs,
        retryWindowMs,
      },
    );
    await deliver.joined;
    return deliver;
  };
  const deliver = await start();
  const delay = await startDelay(
    {
      kafka,
      producer: kafka.producer(),
      clock: systemClock,
      log: quiet,
      metrics: createMetrics(),
      onFatal: raise,
    },
    { ...common, delays, destinations: [], shownMax: 1, retryWindowMs },
  );
  await delay.joined;
  const producer = kafka.producer();
  return {
    deliver,
    start,
    publish: (count: number) =>
      producer.send(
        Array.from({ length: count }, (_, index) => ({
          topic: topics.deliveries(destination.id),
          key: Buffer.from(`user-${index}`),
          value: Buffer.from(`{"type":"track","event":"e","userId":"user-${index}"}`),
          headers: deliveryHeaders(
            deliveryOf({ messageId: `m-${index}` as MessageId, receivedAtMs: Date.now() }),
          ),
        })),
      ),
    /** Returns the lag of the deliver stage's consumer. */
    lag: async () => Number(LAG.exec(await metrics.text())?.[1] ?? Number.NaN),
    /** Returns the number of requests that were not accepted. */
    pending: async () => pending(await metrics.text()),
    /**
     * Returns the committed offset of each partition. A partition without a commit counts as 0, because it may be the
     * one that is stalled.
     */
    committed: async () => {
      const group = groups.deliver(destination.id);
      const topic = topics.deliveries(destination.id);
      const committed = await kafka.admin.committed(group, topic);
      return (await kafka.admin.offsets(topic)).map(({ partition }) =>
        Math.max(0, committed.find((of) => of.partition === partition)?.offset ?? 0),
      );
    },
    deadLetters: () => readAll(kafka, `${prefix}test`, topics.deadLetters),
    [Symbol.asyncDispose]: async () => {
      await deliver[Symbol.asyncDispose]();
      await delay[Symbol.asyncDispose]();
      await kafka.close();
    },
  };
}

function pending(metrics: string): number {
  return [...metrics.matchAll(REQUESTS)].reduce(
    (sum, [, outcome, count]) => sum + (outcome === "2xx" ? 0 : Number(count)),
    0,
  );
}

/** Measures the longest time for which this process was blocked. */
function watchStalls() {
  const delays = monitorEventLoopDelay({ resolution: 20 });
  delays.enable();
  return { longestMs: () => delays.max / 1e6, [Symbol.dispose]: () => void delays.disable() };
}

function connect(): Kafka {
  return testKafka({ sessionTimeoutMs: 6_000 });
}

function raise(error: Error): void {
  throw error;
}

/** Returns an array to which the records of a topic are added as they arrive. */
function readAll(kafka: Kafka, groupId: string, topic: string): IncomingRecord[] {
  const found: IncomingRecord[] = [];
  kafka.consume({
    groupId,
    topics: [topic],
    partitionRecordsMax: 1_000,
    maxBytes: 10_485_760,
    whenFull: "hold",
    drainLimitMs: 1_000,
    onAssigned: () => ({
      take: (records) => found.push(...records),
      drain: () => Promise.resolve(),
    }),
    onCrash: raise,
  });
  return found;
}

test("a healthy receiver gets every delivery once, signed", async () => {
  using stalls = watchStalls();
  const hook = await receiver();
  await using flow = await pipeline(hook.url);
  await flow.publish(200);
  const bodies = () => new Set(hook.taken.map(({ body }) => body));
  await expect.poll(() => bodies().size).toBe(200);
  await expect.poll(flow.lag).toBe(0);
  for (const { body, headers } of hook.taken) {
    expect(headers["x-signature"]).toBe(createHmac("sha1", "s3cr3t").update(body).digest("hex"));
  }
  // Delivery is at least once: a request without a timely response is repeated, although it was received. The only
  // cause here is a stall of this process, which is also the receiver. A rebalance is not a cause.
  const pending = await flow.pending();
  expect(hook.taken.length).toBeLessThanOrEqual(200 + pending);
  if (stalls.longestMs() < STALL_MS) expect(pending).toBe(0);
});

test("two 503 cost two waits, then it is accepted with the same bytes", async () => {
  const hook = await receiver((_request, taken) => (taken.length <= 2 ? 503 : 200));
  await using flow = await pipeline(hook.url);
  await flow.publish(1);
  await expect.poll(() => hook.taken.length).toBe(3);
  const [first, second, third] = hook.taken;
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(200);
  expect((third?.atMs ?? 0) - (second?.atMs ?? 0)).toBeGreaterThanOrEqual(500);
  expect(
    new Set(hook.taken.map(({ body, headers }) => `${body}${headers["x-signature"]}`)).size,
  ).toBe(1);
});

test.each([
  ["rejected", 404, 60_000],
  ["expired", 500, 1_000],
])(
  "what is %s becomes a dead letter with its value untouched",
  async (reason, code, retryWindowMs) => {
    const hook = await receiver(() => code);
    await using flow = await pipeline(hook.url, {}, retryWindowMs);
    const deadLetters = flow.deadLetters();
    await flow.publish(1);
    await expect.poll(() => deadLetters.length).toBe(1);
    const [deadLetter] = deadLetters;
    expect(deadLetter?.value?.toString()).toBe('{"type":"track","event":"e","userId":"user-0"}');
    expect(headerTexts(deadLetter ?? { headers: [] })).toMatchObject({
      "switchyard-stage": "deliver",
      "switchyard-reason": reason,
      "switchyard-message-id": "m-0",
    });
  },
);

test("a graceful stop in the middle repeats nothing and loses nothing", async () => {
  const hook = await receiver(() => ({ afterMs: 20 }));
  await using flow = await pipeline(hook.url, { concurrency: 8 });
  await flow.publish(300);
  await expect.poll(() => hook.taken.length).toBeGreaterThan(50);
  await flow.deliver[Symbol.asyncDispose]();
  const atStop = hook.taken.length;
  expect(atStop).toBeLessThan(300);
  await using _again = await flow.start();
  await expect.poll(() => hook.taken.length).toBeGreaterThanOrEqual(300);
  expect(new Set(hook.taken.map(({ body }) => JSON.parse(body).userId)).size).toBe(300);
  expect(hook.taken).toHaveLength(300);
});

test("due retries pass a queue that is full, and the queue continues", async () => {
  // The queue takes 40 s. The consumer has a part of it in flight, and a part that waits to be passed on.
  const calls = 1_600;
  const hook = await receiver((_request, taken) => {
    return { status: taken.length === 1 ? 503 : 200, afterMs: 50 };
  });
  await using flow = await pipeline(hook.url, { concurrency: 2 });
  await flow.publish(calls);
  await expect.poll(() => hook.taken.length).toBeGreaterThan(0);
  const [first] = hook.taken;
  const attempts = () => hook.taken.filter(({ body }) => body === first?.body).length;
  await expect.poll(attempts).toBe(2);
  // The rate is 40 per second: behind the queue, it would have been the last one.
  expect(hook.taken.length).toBeLessThan(calls / 4);
  const passed = hook.taken.length;
  await expect.poll(() => hook.taken.length).toBeGreaterThan(passed + 100);
});

test("partitions with a backlog advance together when the receiver is slow", async () => {
  const hook = await receiver(() => ({ afterMs: 20 }));
  await using flow = await pipeline(hook.url, { concurrency: 32 });
  // These batches are larger than a partition's share of a fetch, so each fetch returns only one partition.
  const [batches, perPartition] = [4, 1_000];
  for (let batch = 0; batch < batches; batch += 1) await flow.publish(2 * perPartition);
  let spreadMax = 0;
  const spread = async () => {
    const committed = await flow.committed();
    spreadMax = Math.max(spreadMax, Math.max(...committed) - Math.min(...committed));
    return committed.reduce((sum, offset) => sum + offset, 0);
  };
  await expect.poll(spread).toBe(2 * batches * perPartition);
  expect(spreadMax).toBeLessThanOrEqual(1.5 * perPartition);
});

test("a paused destination's queue waits in its topic, and goes out when it is started otherwise", async () => {
  const hook = await receiver();
  await using flow = await pipeline(hook.url, { paused: true });
  await flow.publish(600);
  await expect.poll(() => flow.lag()).toBe(600);
  await flow.deliver[Symbol.asyncDispose]();
  expect(hook.taken).toEqual([]);
  expect((await flow.committed()).filter((offset) => offset > 0)).toEqual([]);
  await using _again = await flow.start({ paused: false });
  await expect.poll(() => hook.taken.length).toBe(600);
});
