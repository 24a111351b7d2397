import { expect, test } from "vitest";
import type { PartitionProgress } from "../../../src/kafka/port.ts";
import { watchConsumer } from "../../../src/stage/watch-consumer.ts";
import { createMetrics } from "../../../src/telemetry/instruments.ts";

const sample = async (metrics: ReturnType<typeof createMetrics>, name: string) => {
  const lines = (await metrics.text()).split("\n");
  return lines.find((line) => line.startsWith(`${name}{`)) ?? null;
};

function at(position: number, end: number, oldestUnfinishedMs: number | null): PartitionProgress {
  return {
    topic: "calls",
    partition: 0,
    position,
    endAtMs: 9_000,
    next: position,
    end,
    inFlight: 0,
    oldestUnfinishedMs,
  };
}

test("a consumer's lag, oldest record and counts are shown until it is no longer watched", async () => {
  const metrics = createMetrics();
  let rebalances = 2;
  let offsetResets = 0;
  let vitals = {
    isAssigned: true,
    fetchedAtMs: 8_500,
    heardAtMs: 9_500,
    commitFailures: 2,
    foreignMembers: ["a-script"],
    unreadTopics: [] as string[],
    halts: [] as Error[],
  };
  const consumer = {
    progress: () => [at(10, 15, 4_000), at(3, 3, null), at(5, 4, 2_500)],
    vitals: () => vitals,
    rebalances: () => rebalances,
    offsetResets: () => offsetResets,
  };
  const labels = { stage: "route", destination: "" } as const;
  const watch = watchConsumer(metrics, consumer, labels, { nowMs: () => 10_000 });
  const of = 'stage="route",destination=""';
  expect(await sample(metrics, "switchyard_consumer_lag_records")).toBe(
    `switchyard_consumer_lag_records{${of}} 5`,
  );
  expect(await sample(metrics, "switchyard_consumer_oldest_unprocessed_age_seconds")).toBe(
    `switchyard_consumer_oldest_unprocessed_age_seconds{${of}} 7.5`,
  );
  rebalances = 3;
  expect(await sample(metrics, "switchyard_consumer_rebalances_total")).toBe(
    `switchyard_consumer_rebalances_total{${of}} 3`,
  );
  const resets = "switchyard_consumer_offset_resets_total";
  // The counter exists from the start, so that an alert can detect an increase.
  expect(await sample(metrics, resets)).toBe(`${resets}{${of}} 0`);
  offsetResets = 2;
  expect(await sample(metrics, resets)).toBe(`${resets}{${of}} 2`);
  expect(await sample(metrics, resets)).toBe(`${resets}{${of}} 2`);
  const shown = await metrics.text();
  expect(shown).toContain(`switchyard_consumer_last_fetch_timestamp_seconds{${of}} 8.5\n`);
  expect(shown).toContain(`switchyard_consumer_last_heartbeat_timestamp_seconds{${of}} 9.5\n`);
  expect(shown).toContain(`switchyard_consumer_commit_failures_total{${of}} 2\n`);
  expect(shown).toContain(`switchyard_consumer_foreign_members{${of}} 1\n`);
  expect(shown).toContain('switchyard_consumers_with_unknown_lag{stage="route"} 0\n');
  // The consumer has lost its partitions: their lag is unknown, which is not the same as 0.
  vitals = { ...vitals, isAssigned: false, commitFailures: 3, foreignMembers: [], halts: [] };
  const lost = await metrics.text();
  expect(lost).not.toContain("switchyard_consumer_lag_records{");
  expect(lost).not.toContain("switchyard_consumer_foreign_members{");
  expect(lost).not.toContain("switchyard_consumer_oldest_unprocessed_age_seconds{");
  expect(lost).toContain('switchyard_consumers_with_unknown_lag{stage="route"} 1\n');
  expect(lost).toContain(`switchyard_consumer_commit_failures_total{${of}} 3\n`);
  watch[Symbol.dispose]();
  const gone = 'switchyard_consumers_with_unknown_lag{stage="route"} 0\n';
  expect(await metrics.text()).toContain(gone);
  expect(await sample(metrics, "switchyard_consumer_lag_records")).toBeNull();
});
