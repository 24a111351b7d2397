/**
 * The floor of `bench everyday`: the same calls by kafkajs and `undici.request` alone, in one loop.
 * It parses a call, posts it to all destinations with a signature, and commits each second. It has no
 * topics of deliveries between, no log, no metrics, and it gives up at the first trouble.
 *
 *   node bench/everyday-plain.ts <brokers> <calls topic> <group> <url> <destinations>
 */

import { Kafka, logLevel } from "kafkajs";
import { Agent } from "undici";

import { plainRequest } from "./plain-request.ts";

const CALLS_AT_ONCE = 64;

const [brokers = "", topic = "", groupId = "", url = "", destinations = ""] = process.argv.slice(2);
const agents = Array.from({ length: Number(destinations) }, () => new Agent({ connections: 64 }));
const kafka = new Kafka({ brokers: brokers.split(","), logLevel: logLevel.ERROR });
const consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 1_000 });

async function post(value: string, dispatcher: Agent): Promise<void> {
  const call = JSON.parse(value) as { readonly messageId: string };
  await plainRequest(url, dispatcher, call, { "X-Switchyard-Message-Id": call.messageId });
}

await consumer.connect();
await consumer.subscribe({ topics: [topic], fromBeginning: true });
const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
await consumer.run({
  autoCommitInterval: 1_000,
  partitionsConsumedConcurrently: 3,
  eachBatch: async ({
    batch: { messages },
    resolveOffset,
    commitOffsetsIfNecessary,
    heartbeat,
  }) => {
    for (let from = 0; from < messages.length; from += CALLS_AT_ONCE) {
      const part = messages.slice(from, from + CALLS_AT_ONCE);
      await Promise.all(
        part.flatMap(({ value }) => agents.map((agent) => post(`${value}`, agent))),
      );
      resolveOffset(part.at(-1)?.offset ?? "");
      await commitOffsetsIfNecessary();
      await heartbeat();
    }
  },
});
await joined;
process.stdout.write("ready\n");
process.on("SIGTERM", () => void consumer.disconnect().then(() => process.exit(0)));
