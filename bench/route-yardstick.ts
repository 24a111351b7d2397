/**
 * The yardstick of `bench route`: a plain kafkajs loop that consumes calls, parses them, produces
 * the same copies and commits, without any product logic and without anything of Switchyard's.
 *
 *   node bench/route-yardstick.ts <brokers> <calls topic> <units> <warm-up units> <all|two> <destination topics...>
 */

import { randomUUID } from "node:crypto";

import { type IHeaders, Kafka, logLevel, Partitioners } from "kafkajs";

import { createMeter } from "./measure.ts";
import { wants } from "./route-work.ts";

const [brokers = "", topic = "", units = "", warmUp = "", , ...destinations] =
  process.argv.slice(2);
const total = Number(units);
const warmUpUnits = Number(warmUp);

const kafka = new Kafka({ brokers: brokers.split(","), logLevel: logLevel.ERROR });
const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
const consumer = kafka.consumer({ groupId: randomUUID(), maxWaitTimeInMs: 100 });
const meter = createMeter();
let done = 0;
let started = false;

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
      const copies = new Map<
        string,
        { key: Buffer | null; value: Buffer | null; headers: IHeaders }[]
      >();
      for (const message of part) {
        const call = JSON.parse(message.value?.toString() ?? "{}") as Parameters<typeof wants>[0];
        destinations.forEach((destination, index) => {
          if (!wants(call, index)) return;
          const list = copies.get(destination) ?? [];
          if (list.length === 0) copies.set(destination, list);
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
        topicMessages: [...copies].map(([name, list]) => ({ topic: name, messages: list })),
      });
      const last = part.at(-1);
      if (last !== undefined) resolveOffset(last.offset);
      await commitOffsetsIfNecessary(uncommittedOffsets());
      await heartbeat();
      done += part.length;
      if (!started && done >= warmUpUnits) {
        started = true;
        done = 0;
        meter.start();
      }
      if (started && done >= total) finished.resolve();
    }
  },
});
await finished.promise;
process.stdout.write(`${JSON.stringify(meter.stop(done))}\n`);
process.exit(0);
