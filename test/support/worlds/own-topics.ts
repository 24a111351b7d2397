/** A client of the tests' Kafka, and topics with a prefix that no other test has. */

import { onTestFinished } from "vitest";

import { DELIVERY_HEADER } from "../../../src/domain/delivery.ts";
import type { IncomingRecord } from "../../../src/domain/record.ts";
import type { Kafka } from "../../../src/kafka/port.ts";
import { headerTexts } from "../build/calls.ts";
import { uniquePrefix } from "../build/prefix.ts";
import { deleteTopics, testKafka } from "./test-kafka.ts";

const RECORD_MAX_BYTES = 1_048_576;

/**
 * At the end of the test, the topics are deleted and the client is closed.
 *
 * @param finished `onTestFinished` of the context in a test that runs in parallel, or the cleanup of a whole file.
 */
export function ownTopics(
  name: string,
  finished: (work: () => Promise<void>) => void = onTestFinished,
) {
  const prefix = uniquePrefix(name);
  const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
  const kafka = testKafka({ recordMaxBytes: () => RECORD_MAX_BYTES });
  finished(async () => {
    await deleteTopics(kafka, prefix);
    await kafka.close();
  });
  /** All current records of a topic with the prefix, one partition at a time. */
  const recordsIn = (topic: string) => recordsOf(kafka, prefix + topic);
  return { prefix, brokers, kafka, recordsIn };
}

/** All current records of a topic, one partition at a time. */
async function recordsOf(kafka: Kafka, topic: string): Promise<readonly IncomingRecord[]> {
  const found: IncomingRecord[] = [];
  const { signal } = new AbortController();
  for (const { partition, first, end } of await kafka.admin.offsets(topic)) {
    if (first === end) continue;
    const range = { topic, partition, from: first, to: end, maxBytes: RECORD_MAX_BYTES, signal };
    for await (const records of kafka.read(range)) found.push(...records);
  }
  return found;
}

/** Message IDs of the deliveries that are in a topic now. */
export async function messageIdsOf(kafka: Kafka, topic: string): Promise<readonly string[]> {
  const records = await recordsOf(kafka, topic);
  return records.map((record) => headerTexts(record)[DELIVERY_HEADER.messageId] ?? "");
}
