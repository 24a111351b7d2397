// Gauges of the records that wait in delay topics, compared with a real Kafka: after a restart and with a second
// process. Most of these records are not in flight. kafka-signals.test.ts has an outage of Kafka.

import { test } from "vitest";
import { BROKERS } from "../support/kit/kafka.ts";

import { BILLING, CRM, WINDOW_MS } from "../support/worlds/counting-world.ts";
import { AWAITING, waitingWorld } from "../support/worlds/waiting-world.ts";

test.concurrent("deliveries of two destinations in two delay topics are counted as in Kafka, also by the next process", async ({
  expect,
}) => {
  const { scheduledMs, scheduleRetry, startProcess, awaiting } = await waitingWorld(BROKERS);
  const [scheduledFromMs, scheduledToMs] = scheduledMs;
  // The coordinator of a broker that has just started may still be loading its groups.
  await expect.poll(awaiting).toEqual(AWAITING);
  const first = await startProcess();
  await expect.poll(first.waiting).toEqual(AWAITING);
  expect(await first.unknown()).toEqual({ "10m": 0, "60m": 0 });
  const oldest = (await first.times("awaiting_retry_oldest"))[CRM] ?? 0;
  expect(oldest * 1_000).toBeGreaterThanOrEqual(scheduledFromMs);
  expect(oldest * 1_000).toBeLessThanOrEqual(scheduledToMs);
  const due = ((await first.times("next_retry"))[CRM] ?? 0) * 1_000 - 600_000;
  expect(due).toBeGreaterThanOrEqual(scheduledFromMs);
  expect(due).toBeLessThanOrEqual(scheduledToMs);
  const end = ((await first.times("next_expiry"))[BILLING] ?? 0) * 1_000 - WINDOW_MS;
  expect(end).toBeGreaterThanOrEqual(scheduledFromMs);
  expect(end).toBeLessThanOrEqual(scheduledToMs);
  await scheduleRetry("billing/60m", 77);
  const more = { ...AWAITING, "billing/60m": 77 };
  await expect.poll(first.waiting).toEqual(more);
  await first.stop();
  expect(await first.waiting()).toEqual({});

  const second = await startProcess();
  await expect.poll(second.waiting).toEqual(more);
  await expect.poll(awaiting).toEqual(more);
  await second.stop();
  expect([...first.failures, ...second.failures]).toEqual([]);
});

test.concurrent("with a second process the sums stay right, and each partition is counted once", async ({
  expect,
}) => {
  const { startProcess } = await waitingWorld(BROKERS);
  const first = await startProcess();
  await expect.poll(first.waiting).toEqual(AWAITING);
  const second = await startProcess();
  const sums = async () => {
    const [one, other] = await Promise.all([first.waiting(), second.waiting()]);
    const labels = new Set([...Object.keys(one), ...Object.keys(other)]);
    return Object.fromEntries([...labels].map((key) => [key, (one[key] ?? 0) + (other[key] ?? 0)]));
  };
  await expect.poll(async () => (await second.waiting())["crm/10m"]).toBeGreaterThan(0);
  await expect.poll(sums).toEqual(AWAITING);
  expect((await first.waiting())["crm/10m"]).toBeLessThan(AWAITING["crm/10m"]);
  await first.stop();
  await expect.poll(second.waiting).toEqual(AWAITING);
  await second.stop();
});
