/** The connections and separate topics that all tests of the contract use. */

import { randomUUID } from "node:crypto";

import type { IncomingRecord, OutgoingRecord } from "../../../src/domain/record.ts";
import type { ConsumeOptions, Consumer, Kafka } from "../../../src/kafka/port.ts";
import { consumeWith } from "../worlds/test-kafka.ts";
import type { Taker } from "./taker.ts";

/** Maximum size of a record in the connections' settings. */
export const RECORD_MAX_BYTES = 200_000;

/** The implementation under test. */
export interface KafkaUnderTest {
  /** Another process's connection, with a record limit of `RECORD_MAX_BYTES`. */
  connect(): Kafka;
  close(): Promise<void>;
}

export class Bench {
  #underTest: KafkaUnderTest | null = null;
  #connections: Kafka[] = [];
  #topics: string[] = [];

  open(underTest: KafkaUnderTest): void {
    this.#underTest = underTest;
  }

  async close(): Promise<void> {
    const [first] = this.#connections;
    if (first !== undefined && this.#topics.length > 0) {
      const existing = new Set(await first.admin.topics());
      const left = this.#topics.filter((topic) => existing.has(topic));
      await Promise.all(this.#connections.slice(1).map((kafka) => kafka.close()));
      if (left.length > 0) await first.admin.deleteTopics(left);
      await first.close();
    }
    this.#connections = [];
    this.#topics = [];
    await this.#underTest?.close();
  }

  connect(): Kafka {
    if (this.#underTest === null) throw new Error("no implementation is under test");
    const kafka = this.#underTest.connect();
    this.#connections.push(kafka);
    return kafka;
  }

  /** A name that no other test has, for a topic or a group. */
  name(): string {
    return `contract-${randomUUID()}`;
  }

  async topic(
    kafka: Kafka,
    partitions: number,
    config: Readonly<Record<string, string>> = {},
    name = this.name(),
  ): Promise<string> {
    this.#topics.push(name);
    await kafka.admin.create([{ name, partitions, replicationFactor: null, config }]);
    return name;
  }

  /** Writes `count` records to a partition, with their numbers as values. */
  async fill(kafka: Kafka, topic: string, count: number, partition = 0): Promise<void> {
    const refused = await kafka
      .producer()
      .send(Array.from({ length: count }, (_, number) => record(topic, `${number}`, partition)));
    if (refused.length > 0) throw new Error(refused[0]?.error);
  }

  consume(
    kafka: Kafka,
    taker: Taker,
    options: Pick<ConsumeOptions, "groupId" | "topics"> & Partial<ConsumeOptions>,
  ): Consumer {
    return consumeWith(kafka, taker, options);
  }
}

export function record(topic: string, value: string, partition?: number): OutgoingRecord {
  const base = { topic, key: null, value: Buffer.from(value), headers: [] };
  return partition === undefined ? base : { ...base, partition };
}

export function values(records: readonly IncomingRecord[]): (string | undefined)[] {
  return records.map(({ value }) => value?.toString());
}
