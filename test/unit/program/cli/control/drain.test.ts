// The number of remaining deliveries for a destination: in its queue, in its retry topic, and in delay topics.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Delivery, deliveryHeaders } from "../../../../../src/domain/delivery.ts";
import { endpointKey } from "../../../../../src/domain/destination.ts";
import type { DestinationId, MessageId } from "../../../../../src/domain/ids.ts";
import {
  beginning,
  remainingOf,
  remainingText,
  stillText,
  sumOf,
} from "../../../../../src/operator/act/wait.ts";
import { configuredTopics } from "../../../../../src/operator/connect/connection.ts";
import { goneRecord, pauseRecord } from "../../../../../src/router/control/operator-actions.ts";
import { config } from "../../../../support/build/config-source.ts";
import { deliveryOf } from "../../../../support/build/webhook-destination.ts";
import { clockDriver } from "../../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../../support/memory-kafka/memory-kafka.ts";

const HASH = endpointKey("https://removed.example.com/");
const hook = "hook" as DestinationId;
const other = "other" as DestinationId;

function world(more = "") {
  const clock = new ManualClock();
  vi.setSystemTime(clock.nowMs());
  const cluster = new MemoryCluster({ clock, random: createPrng(7) });
  const read = config(`
kafka: { brokers: [kafka-1:9092] }
sources: [{ id: web, writeKey: k, destinations: [hook, other] }]
destinations:
  - { id: hook, type: webhook, ${more} endpoints: [{ url: "https://a.example.com/" }] }
  - { id: other, type: webhook, endpoints: [{ url: "https://b.example.com/" }] }
delivery: { retryDelays: [10s] }
`);
  const topics = configuredTopics(read);
  const delay = topics.delays(10_000);
  for (const id of [hook, other]) {
    cluster.createTopic(topics.deliveries(id), 2);
    cluster.createTopic(topics.retries(id), 1);
  }
  for (const name of [delay, topics.operatorActions]) cluster.createTopic(name, 1);
  const kafka = cluster.connect();
  const signal = new AbortController().signal;
  const looking = { kafka, config: read, destination: hook, signal };
  let appended = 0;
  const append = (topic: string, given: Partial<Delivery> = {}) => {
    const receivedAtMs = clock.nowMs() - 1_000;
    appended += 1;
    const messageId = `m-${appended}` as MessageId;
    const delivery = deliveryOf({ destination: hook, receivedAtMs, messageId, ...given });
    const value = Buffer.from("{}");
    cluster.append({ topic, key: Buffer.from("u"), value, headers: deliveryHeaders(delivery) });
  };
  return { clock, cluster, topics, delay, looking, append, finish: clockDriver(clock).during };
}

const scheduled = (clock: ManualClock) => {
  const atMs = clock.nowMs();
  return { attempt: 1, retryCount: 1, firstAttemptAtMs: atMs, dueAtMs: atMs + 10_000 };
};

beforeEach(() => vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => vi.useRealTimers());

test("the queue, the retry topic and the delay topics of this destination count, and of no other", async () => {
  const { clock, topics, delay, looking, append, finish } = world();
  append(topics.deliveries(hook));
  append(topics.deliveries(hook));
  append(topics.deliveries(other), { destination: other });
  append(topics.retries(hook), { attempt: 1, firstAttemptAtMs: clock.nowMs() });
  append(delay, scheduled(clock));
  append(delay, { ...scheduled(clock), destination: other });
  const begun = await finish(beginning(looking, clock.nowMs()));
  const remaining = await finish(remainingOf(looking, begun));
  expect(remaining).toEqual({ queued: 2, due: 1, awaitingRetry: 1 });
  expect(sumOf(remaining)).toBe(4);
  expect(remainingText(remaining)).toBe("4 left: 2 queued, 1 due, 1 awaiting retry");
});

test("what is received after the beginning is not waited for", async () => {
  const { clock, topics, delay, looking, append, finish } = world();
  append(topics.deliveries(hook));
  const begun = await finish(beginning(looking, clock.nowMs()));
  const receivedAtMs = clock.nowMs() + 5_000;
  append(topics.deliveries(hook), { receivedAtMs });
  append(topics.retries(hook), { receivedAtMs, attempt: 1, firstAttemptAtMs: receivedAtMs });
  append(delay, { ...scheduled(clock), receivedAtMs });
  expect(await finish(remainingOf(looking, begun))).toEqual({
    queued: 1,
    due: 0,
    awaitingRetry: 0,
  });
});

test("a destination whose queue stalls reports why", async () => {
  const disabled = world("enabled: false,");
  const still = ({ looking, clock, finish }: ReturnType<typeof world>) =>
    finish(stillText(looking, clock.nowMs()));
  expect(await still(disabled)).toBe("the destination is disabled by the configuration.");
  expect(await still(world("paused: true,"))).toBe(
    "the destination is paused by the configuration.",
  );
  const controlled = world();
  expect(await still(controlled)).toBeNull();
  const sinceMs = controlled.clock.nowMs();
  const pause = { destination: hook, sinceMs, by: "command", untilMs: sinceMs + 600_000 };
  controlled.cluster.append(pauseRecord(controlled.topics.operatorActions, pause));
  expect(await still(controlled)).toBe(
    "the destination was paused by command. Run `switchyard resume hook` first.",
  );
  await controlled.clock.advance(600_001);
  expect(await still(controlled)).toBeNull();
  const { destinations } = controlled.looking.config;
  const [endpoint] = destinations.flatMap((each) => (each.isAttempted ? each.endpoints : []));
  const gone = { destination: hook, endpoint: endpoint?.key ?? HASH, id: "1", atMs: sinceMs };
  const { operatorActions } = controlled.topics;
  controlled.cluster.append(goneRecord(operatorActions, { ...gone, endpoint: HASH }));
  expect(await still(controlled)).toBeNull();
  controlled.cluster.append(goneRecord(operatorActions, gone));
  expect(await still(controlled)).toBe(
    "all its endpoints have responded 410. Run `switchyard resume hook` first.",
  );
});
