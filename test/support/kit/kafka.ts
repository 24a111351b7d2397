/** The tests' Kafka: a client, topics with a prefix that no other test has, and what is written to them and read. */

import { onTestFinished } from "vitest";

import type { Log } from "../../../src/base/telemetry/log.ts";
import { DELIVERY_HEADER } from "../../../src/domain/delivery.ts";
import type { IncomingRecord, RecordHeaders } from "../../../src/domain/record.ts";
import { groupNames, topicNames } from "../../../src/domain/topics.ts";
import type { ConsumeOptions, Kafka, KafkaConnection } from "../../../src/kafka/port.ts";
import { headerTexts } from "../build/calls.ts";
import { uniquePrefix } from "../build/prefix.ts";
import { Taker } from "../contract/taker.ts";
import { consumeWith, testKafka } from "../worlds/test-kafka.ts";
import type { Lifetime } from "./lifetime.ts";

/** The addresses of the Kafka that tests share. */
export const BROKERS = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");

const READ_MAX_BYTES = 1_048_576;

export interface KafkaOptions {
  /** How the connection differs from the usual one. */
  readonly connection?: Partial<KafkaConnection>;
  readonly log?: Log;
  readonly lifetime?: Lifetime;
}

/**
 * At the end, readers and producers are stopped, the topics with the prefix are deleted, and the client is closed.
 *
 * @param name the start of the prefix.
 */
export function useKafka(name: string, options: KafkaOptions = {}) {
  const { connection, log, lifetime = onTestFinished } = options;
  const prefix = uniquePrefix(name);
  const brokers = connection?.brokers ?? BROKERS;
  const kafka = testKafka(connection, log);
  lifetime(async () => {
    const names = await kafka.admin.topics();
    await kafka.admin.deleteTopics(names.filter((topic) => topic.startsWith(prefix)));
    await kafka.close();
  });
  const producer = kafka.producer();
  lifetime(() => producer.close(1_000));
  /** Writes values to a topic with the prefix. Fails if one is rejected. */
  const write = async (topic: string, values: readonly Written[]): Promise<void> => {
    const refused = await producer.send(values.map((value) => recordOf(prefix + topic, value)));
    if (refused[0] !== undefined) throw new Error(refused[0].error);
  };
  /** Reads topics from their start, in a separate group. */
  const read = (topics: readonly string[], more: Partial<ConsumeOptions> = {}): Taker => {
    const taker = new Taker({ finishesAtOnce: true });
    const reader = consumeWith(kafka, taker, {
      groupId: uniquePrefix(`${prefix}read`),
      topics: topics.map((topic) => prefix + topic),
      ...{ partitionRecordsMax: 10_000, maxBytes: 50_000_000, drainLimitMs: 1_000 },
      ...more,
    });
    // It would crash when its topics are deleted.
    lifetime(() => reader.stop());
    return taker;
  };
  return {
    ...{ prefix, brokers, kafka, producer, write, read },
    ...{ topics: topicNames(prefix), groups: groupNames(prefix), publish: publishing(write) },
    /** All current records of a topic with the prefix, one partition at a time. */
    recordsIn: (topic: string) => readTopic(kafka, prefix + topic),
    /** Message IDs of the deliveries that are in a topic now. */
    idsIn: async (topic: string): Promise<readonly string[]> =>
      (await readTopic(kafka, prefix + topic)).map(
        (record) => headerTexts(record)[DELIVERY_HEADER.messageId] ?? "",
      ),
    /** How many records were ever written to a topic. */
    writtenTo: async (topic: string): Promise<number> =>
      sumOf(await kafka.admin.offsets(prefix + topic), ({ end }) => end),
    /** How many records of a topic a group has committed. */
    committedBy: async (group: string, topic: string): Promise<number> =>
      sumOf(await kafka.admin.committed(group, prefix + topic), ({ offset }) =>
        Math.max(0, offset),
      ),
  };
}

export type UsedKafka = ReturnType<typeof useKafka>;

/** A value, or a record with it; an object is written as JSON. */
export type Written =
  | Buffer
  | {
      readonly value: Buffer | object | null;
      readonly key?: string | null;
      readonly partition?: number;
      readonly headers?: RecordHeaders;
    };

function recordOf(topic: string, written: Written) {
  const one = Buffer.isBuffer(written) ? { value: written } : written;
  const { value, key = null, partition, headers = [] } = one;
  return {
    ...{ topic, headers, key: key === null ? null : Buffer.from(key) },
    value: value === null || Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value)),
    ...(partition === undefined ? {} : { partition }),
  };
}

/** Publishes track calls. The IDs count on from m0, and users take turns from u0. */
function publishing(write: (topic: string, values: readonly Written[]) => Promise<void>) {
  let published = 0;
  return async (count = 1, { users = Number.POSITIVE_INFINITY, ...more }: Published = {}) => {
    const calls = Array.from({ length: count }, () => {
      const user = users === Number.POSITIVE_INFINITY ? published : published % users;
      const call = { type: "track", userId: `u${user}`, event: "e", messageId: `m${published}` };
      published += 1;
      return { ...call, ...more };
    });
    await write(
      "calls",
      calls.map((call) => ({ key: call.userId, value: call })),
    );
    return calls.map(({ messageId }) => messageId);
  };
}

/** How many users there are, by default one for each call; and other fields of the calls. */
type Published = { readonly users?: number } & Readonly<Record<string, unknown>>;

/** All current records of a topic, one partition at a time. */
export async function readTopic(
  kafka: Kafka,
  topic: string,
  maxBytes = READ_MAX_BYTES,
): Promise<readonly IncomingRecord[]> {
  const found: IncomingRecord[] = [];
  const { signal } = new AbortController();
  for (const { partition, first, end } of await kafka.admin.offsets(topic)) {
    if (first === end) continue;
    const range = { topic, partition, from: first, to: end, maxBytes, signal };
    for await (const records of kafka.read(range)) found.push(...records);
  }
  return found;
}

function sumOf<Each>(all: readonly Each[], of: (each: Each) => number): number {
  return all.reduce((sum, each) => sum + of(each), 0);
}
