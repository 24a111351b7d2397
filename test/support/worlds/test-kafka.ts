/** Connections to Kafka. A test states only how its connection differs from the usual one. */

import { createLog } from "../../../src/base/telemetry/log.ts";
import { createKafka } from "../../../src/kafka/kafka.ts";
import type { ConsumeOptions, Consumer, Kafka, KafkaConnection } from "../../../src/kafka/port.ts";
import type { Taker } from "../contract/taker.ts";

export function testConnection(given: Partial<KafkaConnection> = {}): KafkaConnection {
  const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
  return {
    ...{ brokers, clientId: "test", tls: null, sasl: null },
    ...{ sessionTimeoutMs: 10_000, recordMaxBytes: () => 1_048_576 },
    ...given,
  };
}

export function testKafka(
  given: Partial<KafkaConnection> = {},
  log = createLog("error", { write: () => undefined }),
): Kafka {
  return createKafka(testConnection(given), log);
}

/** Reads topics with a taker, whose test fails if the consumer crashes. */
export function consumeWith(
  kafka: Kafka,
  taker: Taker,
  options: Pick<ConsumeOptions, "groupId" | "topics"> & Partial<ConsumeOptions>,
): Consumer {
  return kafka.consume({
    partitionRecordsMax: 100,
    maxBytes: 1_000_000,
    whenFull: "hold",
    drainLimitMs: 5_000,
    onAssigned: taker.onAssigned,
    onCrash: (error) => {
      throw error;
    },
    ...options,
  });
}

export function createTopics(
  kafka: Kafka,
  names: readonly string[],
  partitions = 1,
): Promise<void> {
  const more = { partitions, replicationFactor: null, config: {} };
  return kafka.admin.create(names.map((name) => ({ name, ...more })));
}

export async function deleteTopics(kafka: Kafka, prefix: string): Promise<void> {
  const names = await kafka.admin.topics();
  await kafka.admin.deleteTopics(names.filter((name) => name.startsWith(prefix)));
}
