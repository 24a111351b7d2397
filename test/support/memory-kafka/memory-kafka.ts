/**
 * Kafka in memory, behind the same port as the real one: a cluster, and processes that use it.
 *
 * All time comes from a manual clock and all randomness from a seed, so that a run can be repeated. Possible faults:
 * processes crash, the coordinator removes live members, and brokers are unreachable or slow, or accept records and
 * lose the acknowledgment.
 */

import type { IncomingRecord, OutgoingRecord } from "../../../src/domain/record.ts";
import {
  type ClusterView,
  type ConsumeOptions,
  type Consumer,
  type Kafka,
  type ProducerOptions,
  type ReadRange,
  TopicGoneError,
  type WatchedProducer,
} from "../../../src/kafka/port.ts";
import { MemoryAdmin } from "./admin.ts";
import { MemoryBroker, type MemoryBrokerOptions } from "./broker.ts";
import { MemoryConsumer } from "./consumer.ts";
import type { Latency } from "./network.ts";
import { MemoryProducer } from "./producer.ts";
import { followLog, readRange } from "./read.ts";

export class MemoryCluster {
  readonly #broker: MemoryBroker;
  readonly #processes = new Set<MemoryKafka>();
  #downSinceMs = 0;

  constructor(options: MemoryBrokerOptions) {
    this.#broker = new MemoryBroker(options);
  }

  /** A process's connection to the cluster. */
  connect(): MemoryKafka {
    const process = new MemoryKafka(this.#broker, (topic) => {
      for (const other of this.#processes) other.topicDeleted(topic);
    });
    this.#processes.add(process);
    return process;
  }

  createTopic(name: string, partitions: number): void {
    this.#broker.topics.create({ name, partitions, replicationFactor: null, config: {} });
  }

  /** Consumers get the partitions in the next rebalance. */
  addPartitions(topic: string, count: number): void {
    this.#broker.topics.get(topic).addPartitions(count);
  }

  /** Writes a record immediately, like a foreign producer. */
  append(record: OutgoingRecord): IncomingRecord {
    const topic = this.#broker.topics.get(record.topic);
    return topic.append(record, topic.place(record), this.#broker.clock.nowMs());
  }

  /** Leaves offsets without a record, as compaction and transactions do. */
  skipOffsets(topic: string, partition: number, count: number): void {
    this.#broker.topics.get(topic).partition(partition).end += count;
  }

  /** All records of the topic, partition by partition. */
  records(topic: string): readonly IncomingRecord[] {
    return this.#broker.topics.get(topic).partitions.flatMap(({ records }) => records);
  }

  /** The offset of the record that is written next. */
  endOf(topic: string, partition: number): number {
    return this.#broker.topics.get(topic).partition(partition).end;
  }

  /** No broker responds until `comeUp` is called. */
  goDown(): void {
    this.#downSinceMs = this.#broker.clock.nowMs();
    this.#broker.network.goDown();
  }

  /** If this was longer than the session timeout, the coordinators have removed all members. */
  comeUp(): void {
    const { clock, network, sessionTimeoutMs } = this.#broker;
    const isLong = clock.nowMs() - this.#downSinceMs > sessionTimeoutMs;
    network.comeUp();
    if (!isLong) return;
    for (const group of this.#broker.groups()) {
      for (const member of group.members()) group.expire(member);
    }
  }

  setLatency(latency: Latency): void {
    this.#broker.network.latency = latency;
  }

  /** Additional time of writes. Other requests are not slowed down. */
  delayWrites(ms: number): void {
    this.#broker.writeDelayMs = ms;
  }

  /** @param probability the probability for each produce request. The records of such a request are written again. */
  loseAcknowledgements(probability: number): void {
    this.#broker.lostAcknowledgements = probability;
  }
}

/** The connection of one process to the cluster. */
export class MemoryKafka implements Kafka {
  readonly admin: MemoryAdmin;
  readonly #broker: MemoryBroker;
  readonly #consumers = new Set<MemoryConsumer>();
  readonly #producers = new Set<MemoryProducer>();
  #alive = true;

  constructor(broker: MemoryBroker, onTopicDeleted: (topic: string) => void) {
    this.#broker = broker;
    this.admin = new MemoryAdmin(broker, this, onTopicDeleted);
  }

  get alive(): boolean {
    return this.#alive;
  }

  consume(options: ConsumeOptions): Consumer {
    const consumer = new MemoryConsumer(this.#broker, this, options);
    this.#consumers.add(consumer);
    return consumer;
  }

  producer({ onMissing }: ProducerOptions = {}): WatchedProducer {
    const producer = new MemoryProducer(this.#broker, this, onMissing);
    this.#producers.add(producer);
    return producer;
  }

  read(range: ReadRange): AsyncGenerator<readonly IncomingRecord[], void, undefined> {
    return readRange(this.#broker, this, range);
  }

  follow(range: Omit<ReadRange, "to">): AsyncGenerator<readonly IncomingRecord[], void, undefined> {
    return followLog(this.#broker, this, range);
  }

  /** There are no corrupt batches here. */
  corruptionAt(): Promise<null> {
    return Promise.resolve(null);
  }

  /** Only needed after `corruptionAt`. */
  commitAsMember(): Promise<void> {
    return Promise.reject(new Error("there are no corrupt batches here"));
  }

  /** The log end offsets of consumers are always current while the brokers are up. */
  watch(): ClusterView {
    const { network, clock } = this.#broker;
    const outage = { sinceMs: 0, error: "the brokers are down" };
    const endsAtMs = () => (network.isUp ? clock.nowMs() : null);
    return {
      endsAtMs,
      throttledMs: () => new Map(),
      brokers: () => [{ broker: "memory:9092", outage: network.isUp ? null : outage }],
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#consumers].map((consumer) => consumer.stop()));
    await Promise.all([...this.#producers].map((producer) => producer.close(0)));
  }

  /** Kills the process: nothing is drained or committed, and its sends never get a response. */
  kill(): void {
    this.#alive = false;
    this.#broker.clock.schedule(this.#broker.sessionTimeoutMs, () => {
      for (const group of this.#broker.groups()) {
        for (const member of group.members()) if (member.party === this) group.remove(member);
      }
    });
  }

  /** Makes the coordinators remove this process, which continues until it detects that. */
  expire(): void {
    for (const group of this.#broker.groups()) {
      for (const member of group.members()) if (member.party === this) group.expire(member);
    }
  }

  topicDeleted(topic: string): void {
    for (const consumer of this.#consumers) {
      if (consumer.topics.includes(topic)) {
        this.#broker.network.toClient(this, () =>
          consumer.crash(new TopicGoneError(`the topic ${topic} does not exist`)),
        );
      }
    }
  }
}
