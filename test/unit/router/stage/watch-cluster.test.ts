import { expect, test } from "vitest";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import type { BrokerState } from "../../../../src/kafka/port.ts";
import {
  clusterHealthProblems,
  produceSignals,
  watchCluster,
} from "../../../../src/router/stage/watch-cluster.ts";

const UNREACHABLE: BrokerState = {
  broker: "b:2",
  outage: { sinceMs: 5_000, error: "no response" },
};

test("each broker is shown, those that have left the cluster no longer", async () => {
  const metrics = createMetrics();
  let brokers: readonly BrokerState[] = [{ broker: "a:1", outage: null }, UNREACHABLE];
  let endsAtMs: number | null = null;
  const view = { brokers: () => brokers, endsAtMs: () => endsAtMs, throttledMs: () => new Map() };
  let nowMs = 10_000;
  const watch = watchCluster(metrics, view, { nowMs: () => nowMs });
  nowMs = 12_000;
  const before = await metrics.text();
  expect(before).toContain('switchyard_kafka_broker_reachable{broker="a:1"} 1\n');
  expect(before).toContain('switchyard_kafka_broker_reachable{broker="b:2"} 0\n');
  expect(before).toContain(
    'switchyard_kafka_broker_unreachable_since_timestamp_seconds{broker="a:1"} 0\n',
  );
  expect(before).toContain(
    'switchyard_kafka_broker_unreachable_since_timestamp_seconds{broker="b:2"} 5\n',
  );
  expect(before).toContain("switchyard_consumer_lag_age_seconds 2\n");
  brokers = [UNREACHABLE];
  endsAtMs = 11_500;
  const after = await metrics.text();
  expect(after).not.toContain('broker="a:1"');
  expect(after).toContain("switchyard_consumer_lag_age_seconds 0.5\n");
  watch[Symbol.dispose]();
  expect(await metrics.text()).not.toContain("switchyard_kafka_broker_reachable{");
});

test("a sentence for each broker that is away says since when, and what fails", () => {
  expect(clusterHealthProblems([{ broker: "a:1", outage: null }, UNREACHABLE])).toEqual([
    "Kafka broker b:2 has been unreachable since 1970-01-01T00:00:05.000Z: no response",
  ]);
});

test("a producer's responses and repeated batches are counted", async () => {
  const metrics = createMetrics();
  const { onResponse, onRetried } = produceSignals(metrics);
  onResponse(40);
  onRetried("NOT_ENOUGH_REPLICAS");
  onRetried("NOT_ENOUGH_REPLICAS");
  const text = await metrics.text();
  expect(text).toContain("switchyard_produce_duration_seconds_sum 0.04\n");
  expect(text).toContain('switchyard_produce_errors_total{error="NOT_ENOUGH_REPLICAS"} 2\n');
});
