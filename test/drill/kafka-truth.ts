/**
 * Reads the truth from Kafka with a client that shares no code with the program: log end offsets, commits of groups,
 * and the records of some topics.
 */

import { once } from "node:events";

import {
  Admin,
  Consumer,
  ListOffsetTimestamps,
  type MessagesStream,
  MessagesStreamModes,
  stringDeserializers,
} from "@platformatic/kafka";

import type { DestinationId } from "../../src/domain/ids.ts";
import { uniquePrefix } from "../support/build/prefix.ts";

/** Offsets by partition. */
export type Offsets = readonly number[];

/** A sample of all topics and groups of a prefix. */
export interface KafkaSample {
  readonly fromMs: number;
  readonly toMs: number;
  readonly ends: ReadonlyMap<string, Offsets>;
  /** By group, then by topic; 0 if nothing is committed. */
  readonly committed: ReadonlyMap<string, ReadonlyMap<string, Offsets>>;
}

export interface SeenRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly writtenAtMs: number;
  readonly seenAtMs: number;
  readonly headers: ReadonlyMap<string, string>;
}

/** True if the record is a delivery for the destination. */
export function isOf({ headers }: Pick<SeenRecord, "headers">, id: DestinationId): boolean {
  return headers.get("switchyard-destination") === id;
}

type Stream = MessagesStream<Buffer, Buffer, string, string>;

export class KafkaTruth implements AsyncDisposable {
  readonly #brokers: string[];
  readonly #prefix: string;
  readonly #admin: Admin;
  readonly #history: KafkaSample[] = [];
  readonly #records = new Map<string, SeenRecord>();
  #reader: {
    readonly consumer: Consumer<Buffer, Buffer, string, string>;
    readonly stream: Stream;
  } | null = null;

  constructor(brokers: readonly string[], prefix: string) {
    this.#brokers = [...brokers];
    this.#prefix = prefix;
    this.#admin = new Admin({
      clientId: "drill-truth",
      bootstrapBrokers: this.#brokers,
      retries: 3,
    });
  }

  /** The samples, the oldest first. */
  get history(): readonly KafkaSample[] {
    return this.#history;
  }

  /** The records of the topics that are followed. */
  get records(): readonly SeenRecord[] {
    return [...this.#records.values()];
  }

  /** Reads these topics from their start until this object is disposed. The topics must exist. */
  async follow(topics: readonly string[]): Promise<void> {
    const consumer = new Consumer({
      bootstrapBrokers: this.#brokers,
      clientId: "drill-truth",
      groupId: uniquePrefix("drill-truth"),
      deserializers: {
        headerKey: stringDeserializers.headerKey,
        headerValue: stringDeserializers.headerValue,
      },
    }) as unknown as Consumer<Buffer, Buffer, string, string>;
    const stream: Stream = await consumer.consume({
      topics: [...topics],
      mode: MessagesStreamModes.EARLIEST,
      maxWaitTime: 100,
      autocommit: false,
    });
    stream.on("data", ({ topic, partition, offset, timestamp, headers }) => {
      const record = {
        topic,
        partition,
        offset: Number(offset),
        writtenAtMs: Number(timestamp),
        seenAtMs: Date.now(),
        headers,
      };
      this.#records.set(`${topic}/${partition}/${offset}`, record);
    });
    // The consumer retries automatically. Records that it has not read are missing from the truth, and the comparisons
    // show that.
    stream.on("error", () => undefined);
    this.#reader = { consumer, stream };
  }

  /** Takes a sample and adds it to `history`. Rejects while Kafka does not respond. */
  async sample(): Promise<KafkaSample> {
    const fromMs = Date.now();
    const all = await this.#admin.listTopics();
    const names = all.filter((name) => name.startsWith(this.#prefix));
    const committed = await this.#committed();
    const ends = await this.#ends(names);
    const sample = { fromMs, toMs: Date.now(), ends, committed };
    this.#history.push(sample);
    return sample;
  }

  async #ends(names: readonly string[]): Promise<ReadonlyMap<string, Offsets>> {
    if (names.length === 0) return new Map();
    const { topics } = await this.#admin.metadata({ topics: [...names], forceUpdate: true });
    const asked = [...topics].map(([name, { partitionsCount }]) => ({
      name,
      partitions: Array.from({ length: partitionsCount }, (_, partitionIndex) => ({
        partitionIndex,
        timestamp: ListOffsetTimestamps.LATEST,
      })),
    }));
    const listed = await this.#admin.listOffsets({ topics: asked });
    return new Map(
      listed.map(({ name, partitions }) => [
        name,
        byPartition(partitions.map(({ partitionIndex, offset }) => [partitionIndex, offset])),
      ]),
    );
  }

  async #committed(): Promise<KafkaSample["committed"]> {
    const groups = [...(await this.#admin.listGroups()).keys()];
    const own = groups.filter((group) => group.startsWith(this.#prefix));
    if (own.length === 0) return new Map();
    const found = await this.#admin.listConsumerGroupOffsets({ groups: own });
    return new Map(
      found.map(({ groupId, topics }) => [
        groupId,
        new Map(
          topics.map(({ name, partitions }) => [
            name,
            byPartition(partitions.map((each) => [each.partitionIndex, each.committedOffset])),
          ]),
        ),
      ]),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#reader !== null) {
      const { consumer, stream } = this.#reader;
      // An outage may have ended the consumer before.
      const closed = stream.closed ? null : once(stream, "close");
      await consumer.close(true);
      await closed;
    }
    await this.#admin.close();
  }
}

function byPartition(pairs: readonly (readonly [partition: number, offset: bigint])[]): Offsets {
  const offsets: number[] = [];
  for (const [partition, offset] of pairs) offsets[partition] = Math.max(0, Number(offset));
  return Array.from(offsets, (offset) => offset ?? 0);
}
