/**
 * kafkajs and undici: one consumer per destination, and one request at a time for each partition, following
 * "Partition-aware concurrency" in the documentation of kafkajs.
 */

import { Kafka, logLevel } from "kafkajs";

import { BROKERS, GROUP, post, ROUTES, SESSION_TIMEOUT_MS } from "./node-peer.ts";

const kafka = new Kafka({ brokers: BROKERS, clientId: "peer", logLevel: logLevel.NOTHING });

for (const { topic, url } of ROUTES) {
  const consumer = kafka.consumer({ groupId: GROUP + topic, sessionTimeout: SESSION_TIMEOUT_MS });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    partitionsConsumedConcurrently: 3,
    eachMessage: async ({ message: { headers, value } }) => {
      const id = `${headers?.["switchyard-message-id"]}`;
      // If this throws, kafkajs reads the record again, after an increasing delay.
      await post(url, id, value ?? Buffer.alloc(0), false);
    },
  });
}
