import { expect, test } from "vitest";

import { createMetrics } from "../../src/telemetry/instruments.ts";
import { watchConsumer } from "../../src/telemetry/watch-consumer.ts";

const sample = async (metrics: ReturnType<typeof createMetrics>, name: string) => {
  const lines = (await metrics.text()).split("\n");
  return lines.find((line) => line.startsWith(`${name}{`)) ?? null;
};

test("a consumer's lag, oldest record and counts are shown until it is no longer watched", async () => {
  const metrics = createMetrics();
  let rebalances = 2;
  let offsetResets = 0;
  const consumer = {
    progress: () => [
      { position: 10, end: 15, oldestUnfinishedMs: 4_000 },
      { position: 3, end: 3, oldestUnfinishedMs: null },
      { position: 5, end: 4, oldestUnfinishedMs: 2_500 },
    ],
    rebalances: () => rebalances,
    offsetResets: () => offsetResets,
  };
  const labels = { stage: "route", destination: "" };
  const watch = watchConsumer(metrics, consumer, labels, { nowMs: () => 10_000 });
  const of = 'stage="route",destination=""';
  expect(await sample(metrics, "switchyard_consumer_lag_records")).toBe(
    `switchyard_consumer_lag_records{${of}} 5`,
  );
  expect(await sample(metrics, "switchyard_consumer_oldest_unfinished_age_seconds")).toBe(
    `switchyard_consumer_oldest_unfinished_age_seconds{${of}} 7.5`,
  );
  rebalances = 3;
  expect(await sample(metrics, "switchyard_consumer_rebalances_total")).toBe(
    'switchyard_consumer_rebalances_total{stage="route"} 3',
  );
  const resets = "switchyard_consumer_offset_resets_total";
  // There from the beginning, so that an alert sees it rise.
  expect(await sample(metrics, resets)).toBe(`${resets}{${of}} 0`);
  offsetResets = 2;
  expect(await sample(metrics, resets)).toBe(`${resets}{${of}} 2`);
  expect(await sample(metrics, resets)).toBe(`${resets}{${of}} 2`);
  watch[Symbol.dispose]();
  expect(await sample(metrics, "switchyard_consumer_lag_records")).toBeNull();
});
