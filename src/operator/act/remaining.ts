/**
 * Finds the deliveries that wait for a destination, using only what is stored in Kafka.
 *
 *   location          read                                   counted
 *   its queue         unprocessed records                    by offsets, or one by one
 *   its retry topic   unprocessed records                    one by one
 *   delay topics      unprocessed records of all             one by one, except records that were taken out early
 *                     destinations
 */

import { systemClock } from "../../base/runtime/clock.ts";
import type { Config } from "../../config/config.ts";
import { readDelivery } from "../../domain/delivery.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { groupNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import {
  readUnfinished,
  recordsIn,
  type UnfinishedPart,
  unfinishedIn,
} from "../../kafka/uncommitted-ranges.ts";
import type { Releasable } from "../../router/control/early-release.ts";
import type { KnownOperatorActions } from "../../router/control/operator-action-state.ts";
import { releasable } from "../../router/delay/released-ahead.ts";
import {
  countMoved,
  eachWaiting,
  isFirstOf,
  isWhole,
  wasRetried,
} from "../../router/delay/scan-awaiting-retry.ts";
import { configuredTopics, knownDelays } from "../connect/connection.ts";
import { readKnownOperatorActions } from "../connect/known-operations.ts";

const STEP_BYTES = 1_048_576;

export interface Looking {
  readonly kafka: Kafka;
  readonly config: Config;
  readonly destination: DestinationId;
  readonly signal: AbortSignal;
}

/** All current operator actions. */
export function readOperatorActions(
  { kafka, config }: Pick<Looking, "kafka" | "config">,
  signal: AbortSignal,
): Promise<KnownOperatorActions> {
  return readKnownOperatorActions(kafka, configuredTopics(config).operatorActions, signal);
}

export function queueParts(looking: Looking): Promise<readonly UnfinishedPart[]> {
  return partsOf(looking, configuredTopics(looking.config).deliveries(looking.destination));
}

/** The number of deliveries in the queue, except those that were counted elsewhere. */
export async function queuedIn(
  { kafka, signal }: Looking,
  parts: readonly UnfinishedPart[],
  seen: ReadonlySet<string>,
): Promise<number> {
  const retried = (record: IncomingRecord) => wasRetried(record, seen);
  const moved = seen.size === 0 ? 0 : await countMoved(kafka, parts, retried, signal);
  return recordsIn(parts) - moved;
}

export function retryTopicParts(looking: Looking): Promise<readonly UnfinishedPart[]> {
  return partsOf(looking, configuredTopics(looking.config).retries(looking.destination));
}

/** Returns an empty list if there is no such topic. @throws Error if Kafka does not return the topic's offsets. */
async function partsOf({ kafka, config, destination }: Looking, topic: string) {
  const groupId = groupNames(config.kafka.topicPrefix).deliver(destination);
  const found = (await unfinishedIn(kafka, [{ groupId, topic }])).get(topic);
  if (found?.kind === "unknown") throw new Error(found.error);
  return found?.kind === "known" ? found.parts : [];
}

/** @param isCounted returns false for a record whose delivery was counted before. */
export async function eachOf(
  { kafka, destination, signal }: Looking,
  parts: readonly UnfinishedPart[],
  found: (delivery: Releasable) => void,
  isCounted: (record: IncomingRecord) => boolean,
): Promise<void> {
  for (const part of parts) {
    for await (const records of readUnfinished(kafka, part, { maxBytes: STEP_BYTES, signal })) {
      for (const record of records) {
        const read = readDelivery(record);
        if (read.kind === "invalid" || !isCounted(record)) continue;
        const { receivedAtMs, attempt, firstAttemptAtMs } = read.delivery;
        const { timestampMs } = record;
        const attempted = { firstAttemptAtMs: attempt > 0 ? firstAttemptAtMs : null };
        found({ destination, timestampMs, receivedAtMs, ...attempted });
      }
    }
  }
}

/** Resolves with true if everything was read. @param seen the deliveries that were counted before. @throws Error if a part cannot be read. */
export async function eachAwaitingRetry(
  { kafka, config, destination, signal }: Looking,
  operatorActions: KnownOperatorActions,
  found: (delivery: Releasable) => void,
  seen: Set<string>,
  recordsMax = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const topics = configuredTopics(config);
  const groups = groupNames(config.kafka.topicPrefix);
  // Kafka does not list topics that the principal may not describe, so the topic is requested by name.
  const delays = knownDelays(config, await kafka.admin.topics());
  const asked = { delays, topics, groups, operatorActions, recordsMax, signal };
  const read = await eachWaiting({ kafka, clock: systemClock }, asked, (waiting) => {
    if (waiting.kind !== "waiting" || waiting.destination !== destination) return;
    if (isFirstOf(waiting.record, seen)) found(releasable(waiting));
  });
  const [error] = read.flatMap(({ errors }) => errors);
  if (error !== undefined) throw new Error(error);
  return isWhole(read);
}
