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

/** The deliveries that wait for a destination. Each of them is found once, even if it is in two topics. */
export class Backlog {
  readonly #looking: Looking;
  /** The deliveries that have been found in delay topics or in the retry topic. */
  readonly #seen = new Set<string>();

  constructor(looking: Looking) {
    this.#looking = looking;
  }

  /** Returns an empty list if there is no such topic. @throws Error if Kafka does not return the topic's offsets. */
  queueParts(): Promise<readonly UnfinishedPart[]> {
    return this.#partsOf("deliveries");
  }

  retryTopicParts(): Promise<readonly UnfinishedPart[]> {
    return this.#partsOf("retries");
  }

  /** The number of deliveries in the queue. Call this when the other topics have been read. */
  async queuedIn(parts: readonly UnfinishedPart[]): Promise<number> {
    const { kafka, signal } = this.#looking;
    const retried = (record: IncomingRecord) => wasRetried(record, this.#seen);
    const moved = this.#seen.size === 0 ? 0 : await countMoved(kafka, parts, retried, signal);
    return recordsIn(parts) - moved;
  }

  /** Finds the deliveries in the queue one by one. Call this when the other topics have been read. */
  async eachQueued(
    parts: readonly UnfinishedPart[],
    found: (delivery: Releasable) => void,
  ): Promise<void> {
    await this.#eachOf(parts, found, (record) => !wasRetried(record, this.#seen));
  }

  async eachDue(
    parts: readonly UnfinishedPart[],
    found: (delivery: Releasable) => void,
  ): Promise<void> {
    await this.#eachOf(parts, found, (record) => isFirstOf(record, this.#seen));
  }

  /** Resolves with true if everything was read. @throws Error if a part cannot be read. */
  async eachAwaitingRetry(
    operatorActions: KnownOperatorActions,
    found: (delivery: Releasable) => void,
    recordsMax = Number.POSITIVE_INFINITY,
  ): Promise<boolean> {
    const { kafka, config, destination, signal } = this.#looking;
    const topics = configuredTopics(config);
    const groups = groupNames(config.kafka.topicPrefix);
    // Kafka does not list topics that the principal may not describe, so the topic is requested by name.
    const delays = knownDelays(config, await kafka.admin.topics());
    const asked = { delays, topics, groups, operatorActions, recordsMax, signal };
    const read = await eachWaiting({ kafka, clock: systemClock }, asked, (waiting) => {
      if (waiting.kind !== "waiting" || waiting.destination !== destination) return;
      if (isFirstOf(waiting.record, this.#seen)) found(releasable(waiting));
    });
    const [error] = read.flatMap(({ errors }) => errors);
    if (error !== undefined) throw new Error(error);
    return isWhole(read);
  }

  async #partsOf(of: "deliveries" | "retries"): Promise<readonly UnfinishedPart[]> {
    const { kafka, config, destination } = this.#looking;
    const topic = configuredTopics(config)[of](destination);
    const groupId = groupNames(config.kafka.topicPrefix).deliver(destination);
    const found = (await unfinishedIn(kafka, [{ groupId, topic }])).get(topic);
    if (found?.kind === "unknown") throw new Error(found.error);
    return found?.kind === "known" ? found.parts : [];
  }

  async #eachOf(
    parts: readonly UnfinishedPart[],
    found: (delivery: Releasable) => void,
    isCounted: (record: IncomingRecord) => boolean,
  ): Promise<void> {
    const { kafka, destination, signal } = this.#looking;
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
}
