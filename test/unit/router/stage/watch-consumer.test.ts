import { expect, test } from "vitest";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import type { PartitionProgress } from "../../../../src/kafka/port.ts";
import { LossReport, watchConsumer } from "../../../../src/router/stage/watch-consumer.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

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

test("records that were lost are logged, and shown for 24 h with the command that sends the calls again", async () => {
  const metrics = createMetrics();
  const lines = new LogLines();
  const clock = { ms: 0, nowMs: () => clock.ms };
  const labels = { stage: "deliver", destination: "ads" } as const;
  const topic = "deliveries.ads";
  using losses = new LossReport({ metrics, log: lines.log, clock }, labels);
  expect(losses.healthProblems()).toEqual([]);
  losses.add({ topic, records: 50 });
  losses.add({ topic, records: 4 });
  const fix = "To send the calls again, run `switchyard replay ads --since <time>`.";
  const text = `At most 54 records of ${topic} were deleted before they were processed. ${fix}`;
  const gauge = "switchyard_consumer_records_lost";
  const series = `${gauge}{stage="deliver",destination="ads",topic="${topic}"} 54`;
  expect(losses.healthProblems()).toEqual([text]);
  expect(await sample(metrics, gauge)).toBe(series);
  expect(lines.seen).toEqual(["stage.records-lost", "stage.records-lost"]);
  clock.ms = 24 * 3_600_000 - 1;
  expect(await sample(metrics, gauge)).toBe(series);
  clock.ms += 1;
  expect(await sample(metrics, gauge)).toBeNull();
  expect(losses.healthProblems()).toEqual([]);
});

test("the number of lost records may be unknown, and topics of stages have a page instead of a command", () => {
  const log = new LogLines().log;
  const labels = { stage: "route", destination: "" } as const;
  using losses = new LossReport(
    { metrics: createMetrics(), log, clock: { nowMs: () => 0 } },
    labels,
  );
  losses.add({ topic: "calls", records: 0 });
  expect(losses.healthProblems()).toEqual([
    "An unknown number of records of calls were deleted before they were processed. See docs/troubleshooting.md#switchyardrecordslost.",
  ]);
});
