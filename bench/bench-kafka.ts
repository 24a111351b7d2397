/** The Kafka port on the bench's broker, and the topics that benches fill beforehand. */

import { randomUUID } from "node:crypto";

import type { OutgoingRecord } from "../src/domain/record.ts";
import { createKafka } from "../src/kafka/kafka.ts";
import type { Kafka, Producer } from "../src/kafka/port.ts";
import { createLog } from "../src/telemetry/log.ts";

export const benchLog = createLog("warn");

/** The caller closes it. */
export function benchKafka(brokers: string): Kafka {
  return createKafka(
    {
      brokers: brokers.split(","),
      clientId: `bench-${randomUUID()}`,
      tls: null,
      sasl: null,
      sessionTimeoutMs: 10_000,
      recordMaxBytes: () => 1_024 * 1_024,
    },
    benchLog,
  );
}

export async function createTopics(
  kafka: Kafka,
  names: readonly string[],
  partitions: number,
): Promise<void> {
  await kafka.admin.create(
    names.map((name) => ({ name, partitions, replicationFactor: 1, config: {} })),
  );
}

/** Deletes what a bench has made: brokers may be somebody's own. */
export async function deleteTopics(brokers: string, prefix: string): Promise<void> {
  const kafka = benchKafka(brokers);
  const names = (await kafka.admin.topics()).filter((name) => name.startsWith(prefix));
  await kafka.admin.deleteTopics(names);
  await kafka.close();
}

/** The prefix of a run's topics and groups. */
export function newPrefix(): string {
  return `bench-${randomUUID().slice(0, 8)}.`;
}

const BATCH = 2_000;

/** Writes `count` records made by `record`, with progress on standard error. */
export async function fill(
  producer: Producer,
  count: number,
  record: (number: number) => OutgoingRecord,
): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const size = Math.min(BATCH, count - from);
    const refused = await producer.send(Array.from({ length: size }, (_, at) => record(from + at)));
    if (refused.length > 0) throw new Error(`the broker refused a record: ${refused[0]?.error}`);
    if ((from / BATCH) % 50 === 49) process.stderr.write(`  ${from + size} of ${count} written\n`);
  }
}

/** Deletes the groups, so that their next consumer begins at the start of its topic. */
export async function forgetGroups(
  brokers: string,
  groups: readonly (readonly [group: string, topic: string])[],
): Promise<void> {
  const kafka = benchKafka(brokers);
  for (const [group, topic] of groups) {
    const isKnown = (await kafka.admin.committed(group, topic)).length > 0;
    if (isKnown) await kafka.admin.deleteGroup(group);
  }
  await kafka.close();
}
