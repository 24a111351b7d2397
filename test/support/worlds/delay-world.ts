/** The delay stage with one retry delay on a Kafka in memory, and a destination whose topics exist. */

import type { Delivery } from "../../../src/domain/delivery.ts";
import { deliveryHeaders } from "../../../src/domain/delivery.ts";
import type { DestinationId, MessageId } from "../../../src/domain/ids.ts";
import { groupNames, topicNames } from "../../../src/domain/topics.ts";
import type { Kafka, Producer } from "../../../src/kafka/port.ts";
import { startDelay } from "../../../src/router/delay/stage.ts";
import { deliveryOf } from "../build/webhook-destination.ts";
import { clockDriver } from "../clock/clock-driver.ts";
import { ManualClock } from "../clock/manual-clock.ts";
import { createPrng } from "../clock/prng.ts";
import { MemoryCluster } from "../memory-kafka/memory-kafka.ts";
import { committedOffsets } from "./committed-offsets.ts";
import { stageProcess } from "./stage-process.ts";

export const topics = topicNames("sw.");
const groups = groupNames("sw.");
export const destination = "d1" as DestinationId;
export const DELAY_MS = 1_000;

const HOUR_MS = 3_600_000;

interface RetryScheduled {
  readonly delivery?: Partial<Delivery>;
  readonly value?: Buffer;
  readonly headers?: readonly (readonly [string, Buffer])[];
}

/**
 * @param recordMaxBytes the maximum record size of a topic, by default 1 MiB.
 * @param instead replacements of the producer's own methods.
 */
export async function delaying(
  recordMaxBytes: (topic: string) => number = () => 1_048_576,
  instead: Partial<Producer> = {},
) {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(7), recordMaxBytes });
  for (const name of [
    topics.delays(DELAY_MS),
    topics.deliveries(destination),
    topics.deadLetters,
  ]) {
    cluster.createTopic(name, 1);
  }
  /** The process owns its partitions while this is true. */
  const lease = { isOurs: true };
  const { deps, failures, lines, metrics } = stageProcess(cluster, clock);
  const kafka: Kafka = {
    ...deps.kafka,
    consume: (options) =>
      deps.kafka.consume({
        ...options,
        onAssigned: (assigned) =>
          options.onAssigned({ ...assigned, isOurs: async () => lease.isOurs }),
      }),
  };
  await startDelay(
    { ...deps, kafka, producer: { ...deps.producer, ...instead } },
    {
      topics,
      groups,
      delays: ["1s"],
      maxBytes: 1_000_000,
      drainLimitMs: 1_000,
      destinations: [destination],
      shownMax: Number.POSITIVE_INFINITY,
      retryWindowMs: 4 * HOUR_MS,
    },
  );
  const scheduleRetry = (
    messageId: string,
    { delivery, value, headers = [] }: RetryScheduled = {},
  ) => {
    const nowMs = clock.nowMs();
    const scheduled = deliveryOf({
      messageId: messageId as MessageId,
      destination,
      dueAtMs: nowMs + DELAY_MS,
      ...delivery,
    });
    cluster.append({
      topic: topics.delays(DELAY_MS),
      key: null,
      value: value ?? Buffer.from("{}"),
      headers: [...deliveryHeaders(scheduled), ...headers],
    });
  };
  return {
    clock,
    cluster,
    lease,
    scheduleRetry,
    failures,
    lines,
    metrics,
    committed: () =>
      committedOffsets(
        { cluster, during: clockDriver(clock).during },
        groups.delay("1s"),
        topics.delays(DELAY_MS),
      ),
    returned: () => cluster.records(topics.deliveries(destination)),
    deadLetters: () => cluster.records(topics.deadLetters),
  };
}
