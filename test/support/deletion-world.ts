/** The deletion stage with a Kafka in memory around it, whose clock tests move. */

import { startDeletion } from "../../src/deletion/stage.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import { groupNames, topicNames } from "../../src/domain/topics.ts";
import { aSource, aTopicDestination, aWebhook, headerTexts, valueBytes } from "./calls.ts";
import { clockDriver } from "./clock-driver.ts";
import { committedOffsets } from "./committed-offsets.ts";
import { ManualClock } from "./manual-clock.ts";
import { MemoryCluster, type MemoryKafka } from "./memory-kafka.ts";
import { createPrng } from "./prng.ts";
import { closing, stageProcess } from "./stage-process.ts";

export const topics = topicNames("sw.");
const groups = groupNames("sw.");
const SOURCES = [
  aSource("web", ["hook", "warehouse"]),
  aSource("ios", ["hook", "second"]),
  aSource("quiet", ["warehouse", "off"]),
];
const DESTINATIONS = [
  aWebhook("hook"),
  aWebhook("second"),
  aWebhook("off", { enabled: false }),
  aTopicDestination("warehouse"),
];
export const SYNC_PARTITIONS = 3;

export class DeletionWorld {
  readonly clock = new ManualClock();
  readonly #driver = clockDriver(this.clock);
  readonly until = this.#driver.until;
  readonly during = this.#driver.during;
  readonly cluster: MemoryCluster;
  readonly #connections: MemoryKafka[] = [];

  constructor(partitions = 1, recordBytesMax: (topic: string) => number = () => 1_048_576) {
    const random = createPrng(7);
    this.cluster = new MemoryCluster({ clock: this.clock, random, recordBytesMax });
    this.cluster.createTopic(topics.deletionRequests, partitions);
    this.cluster.createTopic(topics.audienceSyncs, SYNC_PARTITIONS);
    this.cluster.createTopic(topics.deadLetters, 1);
    for (const { id } of DESTINATIONS) this.cluster.createTopic(topics.deliveries(id), 2);
  }

  /** Starts the stage in a process of its own, with its sends counted. */
  async start() {
    const own = stageProcess(this.cluster, this.clock);
    this.#connections.push(own.kafka);
    const stage = await startDeletion(own.deps, {
      topics,
      groups,
      sources: SOURCES,
      destinations: DESTINATIONS,
      bytesMax: 4_000_000,
      drainLimitMs: 10_000,
    });
    const close = () => closing(stage, own.producer, this);
    return { ...own, stage, close };
  }

  /** @param value JSON, or text as it is. */
  append(value: unknown, partition = 0): IncomingRecord {
    const record = { topic: topics.deletionRequests, key: null, headers: [], partition };
    return this.cluster.append({ ...record, value: valueBytes(value) });
  }

  /** Requests of the users `u<from>` and on, for every source. */
  appendRequests(count: number, from = 0): void {
    for (let number = from; number < from + count; number += 1) {
      this.append({ userId: `u${number}` });
    }
  }

  /** What a destination is told: `<user> at <source>`, one for each record. */
  told(destination: string): readonly string[] {
    return this.#deliveries(destination).map(
      (record) => `${contentOf(record).userId} at ${headerTexts(record)["switchyard-source"]}`,
    );
  }

  /** Message ids of what a destination is told, one for each record. */
  messageIds(destination: string): readonly string[] {
    return this.#deliveries(destination).map((record) => `${contentOf(record).messageId}`);
  }

  /** Users to forget, one for each record, by partition. */
  forgotten(): readonly (readonly string[])[] {
    const records = this.cluster.records(topics.audienceSyncs);
    const partitions = Math.max(SYNC_PARTITIONS, ...records.map(({ partition }) => partition + 1));
    return Array.from({ length: partitions }, (_, partition) =>
      records
        .filter((record) => record.partition === partition)
        .map((record) => {
          const { type, userId } = contentOf(record);
          if (type !== "forget") throw new Error(`audience-syncs has a ${type}`);
          return `${userId}`;
        }),
    );
  }

  deadLetters(): readonly IncomingRecord[] {
    return this.cluster.records(topics.deadLetters);
  }

  async committed(): Promise<number> {
    const offsets = await committedOffsets(this, groups.deletion, topics.deletionRequests);
    return offsets.reduce((sum, offset) => sum + offset, 0);
  }

  kill(): void {
    for (const connection of this.#connections) connection.kill();
  }

  #deliveries(destination: string): readonly IncomingRecord[] {
    return this.cluster.records(topics.deliveries(destination as DestinationId));
  }
}

/** Tests look at all records again after each step. */
const known = new WeakMap<IncomingRecord, Readonly<Record<string, unknown>>>();

function contentOf(record: IncomingRecord): Readonly<Record<string, unknown>> {
  const content = known.get(record) ?? JSON.parse(`${record.value}`);
  known.set(record, content);
  return content;
}
