// Saves the record batches of topics as the broker sends them; see README.md.
// node capture.ts <broker> <topic prefix> <file prefix>

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type * as Kafkajs from "kafkajs";

import { loadKafkajs, type Replacement } from "../../../src/kafka/kafkajs/load-kafkajs.ts";

const [broker = "", topicPrefix = "", filePrefix = ""] = process.argv.slice(2);

let records = Promise.withResolvers<Buffer>();

const capture: Replacement = {
  name: "capture",
  module: "src/protocol/requests/fetch/v4/decodeMessages.js",
  replace: () => async (decoder: { buffer: Buffer; offset: number }) => {
    const bytes = Math.max(0, decoder.buffer.readInt32BE(decoder.offset));
    const start = decoder.offset + 4;
    decoder.offset = start + bytes;
    if (bytes > 0) records.resolve(Buffer.from(decoder.buffer.subarray(start, start + bytes)));
    return [];
  },
};

const { Kafka } = loadKafkajs("2.2.4", [capture]).exports as typeof Kafkajs;
const kafka = new Kafka({ brokers: [broker], clientId: "capture" });
for (const codec of ["none", "gzip", "snappy", "lz4", "zstd"]) {
  records = Promise.withResolvers<Buffer>();
  const consumer = kafka.consumer({ groupId: `${topicPrefix}${codec}`, maxWaitTimeInMs: 100 });
  await consumer.subscribe({ topics: [topicPrefix + codec], fromBeginning: true });
  await consumer.run({ autoCommit: false, eachBatch: async () => {} });
  writeFileSync(join(import.meta.dirname, `${filePrefix}${codec}.bin`), await records.promise);
  await consumer.disconnect();
}
