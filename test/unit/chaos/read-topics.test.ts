// The chaos suite reads topics while brokers fail: it reads each record once, and omits none.

import { expect, test } from "vitest";

import type { IncomingRecord } from "../../../src/domain/record.ts";
import type { Kafka, ReadRange } from "../../../src/kafka/port.ts";
import type { Journal } from "../../chaos/journal.ts";
import { TopicReader } from "../../chaos/read-topics.ts";
import { topics } from "../../chaos/setup.ts";

const TOPIC = topics.deadLetters;
const NO_LEADER = new Error("there is no leader for this partition");

/**
 * Creates one partition with ten records, two in each response. Every third response fails, and so does the first
 * check.
 */
function world() {
  const seen: number[] = [];
  let [looks, responses] = [0, 0];
  const read = async function* ({ from, to }: ReadRange) {
    for (let offset = from; offset < to; offset += 2) {
      responses += 1;
      if (responses % 3 === 0) throw NO_LEADER;
      const pair = [offset, offset + 1].filter((each) => each < to);
      yield pair.map((each) => ({ topic: TOPIC, partition: 0, offset: each }) as IncomingRecord);
    }
  };
  const admin = {
    topics: async () => [TOPIC],
    deleteTopics: async () => undefined,
    offsets: async () => {
      looks += 1;
      if (looks === 1) throw NO_LEADER;
      return [{ partition: 0, first: 0, end: 10 }];
    },
  };
  const journal = { read: ({ offset }: IncomingRecord) => seen.push(offset) };
  const kafka = { admin, read } as unknown as Kafka;
  return { seen, reader: new TopicReader(kafka, journal as unknown as Journal, []) };
}

const ALL = Array.from({ length: 10 }, (_, offset) => offset);

test("brokers that fail in between have nothing read twice, and nothing omitted", async () => {
  const { seen, reader } = world();
  await reader.read();
  await reader.read();
  expect(seen).toEqual(ALL);
});

test("a topic that is recreated is read from its beginning, by a look that was asked for before, too", async () => {
  const { seen, reader } = world();
  await reader.read();
  const deleted = reader.delete(TOPIC);
  await Promise.all([deleted, reader.read()]);
  expect(seen).toEqual([...ALL, ...ALL]);
});
