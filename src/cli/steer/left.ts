/**
 * The deliveries of a destination that wait, wherever they do, as Kafka alone tells.
 *
 *   where                      read from                          counted
 *   its line                   what is not committed              by offsets, or one by one
 *   its topic of returns       the same                           one by one
 *   tiers                      the same, of all destinations      one by one, but those that were
 *                                                                 pulled and lie there still
 */

import type { Config } from "../../config/config.ts";
import { eachWaiting } from "../../delay/each-waiting.ts";
import { readDelivery } from "../../domain/delivery.ts";
import type { DestinationId } from "../../domain/ids.ts";
import { OPERATIONS_PARTITION, readOperation } from "../../domain/operations.ts";
import type { Pullable } from "../../domain/pull.ts";
import { KnownOperations } from "../../domain/steering.ts";
import { groupNames, tierDelayMs, tierName } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import { systemClock } from "../../runtime/clock.ts";
import { configuredTopics } from "../connection.ts";
import { type Part, unfinishedOf } from "./unfinished.ts";

const STEP_BYTES = 1_048_576;

export interface Looking {
  readonly kafka: Kafka;
  readonly config: Config;
  readonly destination: DestinationId;
  readonly signal: AbortSignal;
}

/** All that the topic says now. */
export async function readOperations(
  { kafka, config }: Pick<Looking, "kafka" | "config">,
  signal: AbortSignal,
): Promise<KnownOperations> {
  const { operations: topic } = configuredTopics(config);
  const [log] = await kafka.admin.offsets(topic);
  const known = new KnownOperations();
  const place = { topic, partition: OPERATIONS_PARTITION, maxBytes: STEP_BYTES, signal };
  for await (const records of kafka.read({ ...place, from: log?.first ?? 0, to: log?.end ?? 0 })) {
    for (const record of records) {
      const operation = readOperation(record);
      if (operation.kind !== "refused") known.apply(operation);
    }
  }
  return known;
}

export function lineParts({ kafka, config, destination }: Looking): Promise<readonly Part[]> {
  const group = groupNames(config.kafka.topicPrefix).deliver(destination);
  return unfinishedOf(kafka, group, configuredTopics(config).deliveries(destination));
}

export function returnsParts({ kafka, config, destination }: Looking): Promise<readonly Part[]> {
  const group = groupNames(config.kafka.topicPrefix).deliver(destination);
  return unfinishedOf(kafka, group, configuredTopics(config).returns(destination));
}

/** One by one. */
export async function eachOf(
  { kafka, destination, signal }: Looking,
  parts: readonly Part[],
  found: (delivery: Pullable) => void,
): Promise<void> {
  for (const part of parts) {
    for await (const records of kafka.read({ ...part, maxBytes: STEP_BYTES, signal })) {
      for (const record of records) {
        const read = readDelivery(record);
        if (read.kind === "invalid") continue;
        const { receivedAtMs, attempt, firstAttemptAtMs } = read.delivery;
        const { timestampMs } = record;
        const attempted = { firstAttemptAtMs: attempt > 0 ? firstAttemptAtMs : null };
        found({ destination, timestampMs, receivedAtMs, ...attempted });
      }
    }
  }
}

/** Whether all of it was read. */
export async function eachInTiers(
  { kafka, config, destination, signal }: Looking,
  operations: KnownOperations,
  found: (delivery: Pullable) => void,
  recordsMax = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const topics = configuredTopics(config);
  const groups = groupNames(config.kafka.topicPrefix);
  const tiers = await tiersOf(kafka, config);
  const destinations = new Set([destination]);
  const asked = { tiers, topics, groups, destinations, operations, recordsMax, signal };
  return await eachWaiting({ kafka, clock: systemClock }, asked, (waiting) => {
    const { receivedAtMs, firstAttemptAtMs } = waiting;
    found({ destination, timestampMs: waiting.record.timestampMs, receivedAtMs, firstAttemptAtMs });
  });
}

/** Those of the configuration, and others in which something may wait. */
async function tiersOf(kafka: Kafka, config: Config): Promise<readonly string[]> {
  const start = `${configuredTopics(config).prefix}delays.`;
  const existing = (await kafka.admin.topics())
    .filter((topic) => topic.startsWith(start))
    .map((topic) => topic.slice(start.length))
    .filter((tier) => tierDelayMs(tier) !== null);
  const configured = config.delivery.delaysMs.map(tierName);
  return [...new Set([...configured, ...existing])].filter((tier) => existing.includes(tier));
}
