/**
 * The yardstick of `bench route`: a simple kafkajs loop that consumes calls, parses them, produces the same copies and
 * commits, without any product logic and without any code of Switchyard.
 *
 *   node bench/route-yardstick.ts <brokers> <copies> <warm-up copies> <calls topic> <destination topics...>
 */

import { randomUUID } from "node:crypto";

import { type IHeaders, Kafka, logLevel, Partitioners } from "kafkajs";

import { createMeter } from "./measure.ts";
import { wants } from "./work.ts";

const [brokers = "", copies = "", warmUp = "", topic = "", ...destinations] = process.argv.slice(2);
const warmUpCopies = Number(warmUp);
const allCopies = Number(copies) + warmUpCopies;

const kafka = new Kafka({ brokers: brokers.split(","), logLevel: logLevel.ERROR });
const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
const consumer = kafka.consumer({ groupId: randomUUID(), maxWaitTimeInMs: 100 });
const meter = createMeter();
let done = 0;
let startedAt = 0;

await producer.connect();
await consumer.connect();
await consumer.subscribe({ topics: [topic], fromBeginning: true });
const finished = Promise.withResolvers<void>();
await consumer.run({
  eachBatchAutoResolve: false,
  autoCommit: false,
  eachBatch: async ({
    batch,
    resolveOffset,
    commitOffsetsIfNecessary,
    heartbeat,
    uncommittedOffsets,
  }) => {
    const { messages } = batch;
    for (let from = 0; from < messages.length; from += 1_000) {
      const part = messages.slice(from, from + 1_000);
      const copiesOf = new Map<
        string,
        { key: Buffer | null; value: Buffer | null; headers: IHeaders }[]
      >();
      for (const message of part) {
        const call = JSON.parse(message.value?.toString() ?? "{}") as Parameters<typeof wants>[0];
        destinations.forEach((destination, index) => {
          if (!wants(call, index)) return;
          const list = copiesOf.get(destination) ?? [];
          if (list.length === 0) copiesOf.set(destination, list);
          list.push({
            key: message.key,
            value: message.value,
            headers: {
              "switchyard-message-id": call.messageId,
              "switchyard-source": "bench",
              "switchyard-destination": `d${index + 1}`,
              "switchyard-timestamp": message.timestamp,
              "switchyard-received-at": message.timestamp,
            },
          });
        });
      }
      await producer.sendBatch({
        acks: -1,
        topicMessages: [...copiesOf].map(([name, list]) => ({ topic: name, messages: list })),
      });
      const last = part.at(-1);
      if (last !== undefined) resolveOffset(last.offset);
      await commitOffsetsIfNecessary(uncommittedOffsets());
      await heartbeat();
      for (const list of copiesOf.values()) done += list.length;
      if (startedAt === 0 && done >= warmUpCopies) {
        startedAt = done;
        meter.start();
      }
      if (done >= allCopies) finished.resolve();
    }
  },
});
await finished.promise;
process.stdout.write(`${JSON.stringify(meter.stop(done - startedAt))}\n`);
process.exit(0);
