/**
 * The dependencies of a stage in tests, as in a separate process. Its sends and batches are counted.
 */

import { createMetrics } from "../../../src/base/telemetry/instruments.ts";
import type { Producer } from "../../../src/kafka/port.ts";
import type { StageDeps } from "../../../src/router/stage/running-stage.ts";
import type { ClockDriver } from "../clock/clock-driver.ts";
import type { ManualClock } from "../clock/manual-clock.ts";
import { parsedLog } from "../log/parsed-log.ts";
import type { MemoryCluster } from "../memory-kafka/memory-kafka.ts";
import { countingTakes } from "./counting-takes.ts";

/** Connects to the cluster; `closing` closes the producer, and killing `kafka` ends the rest. */
export function stageProcess(cluster: MemoryCluster, clock: ManualClock) {
  const kafka = cluster.connect();
  const counts = { sends: 0, takes: 0, valueBytes: 0, mostValueBytes: 0 };
  const failures: Error[] = [];
  const metrics = createMetrics();
  const producer = countingSends(kafka.producer(), counts);
  const { log, lines } = parsedLog();
  const deps: StageDeps = {
    kafka: countingTakes(kafka, counts),
    producer,
    clock,
    log,
    metrics,
    onFatal: (error) => failures.push(error),
  };
  return { kafka, counts, lines, failures, metrics, producer, deps };
}

/** Stops in the same order as the program: first the stage, then its producer. */
export async function closing(
  stage: AsyncDisposable,
  producer: Producer,
  { during }: Pick<ClockDriver, "during">,
): Promise<void> {
  await during(Promise.resolve(stage[Symbol.asyncDispose]()));
  await during(producer.close(1_000));
}

interface SendCounts {
  sends: number;
  /** Bytes of the values that are being sent. A value that several records share counts once. */
  valueBytes: number;
  mostValueBytes: number;
}

function countingSends(producer: Producer, counts: SendCounts): Producer {
  return {
    send: async (records, options) => {
      counts.sends += 1;
      const values = new Set(records.map(({ value }) => value));
      const bytes = [...values].reduce((sum, value) => sum + (value?.length ?? 0), 0);
      counts.valueBytes += bytes;
      counts.mostValueBytes = Math.max(counts.mostValueBytes, counts.valueBytes);
      const rejected = await producer.send(records, options);
      counts.valueBytes -= bytes;
      return rejected;
    },
    close: (limitMs) => producer.close(limitMs),
  };
}
