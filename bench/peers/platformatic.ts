/**
 * @platformatic/kafka and undici: one consumer per destination, with automatic commits and 16 requests at a time,
 * following "Concurrent processing" in the README of @platformatic/kafka.
 */

import { Consumer } from "@platformatic/kafka";

import { BROKERS, GROUP, post, ROUTES, SESSION_TIMEOUT_MS } from "./node-peer.ts";

const CONCURRENCY = 16;
const MESSAGE_ID = Buffer.from("switchyard-message-id");

for (const { topic, url } of ROUTES) {
  const consumer = new Consumer({
    groupId: GROUP + topic,
    clientId: "peer",
    bootstrapBrokers: BROKERS,
  });
  const stream = await consumer.consume({
    autocommit: true,
    topics: [topic],
    mode: "committed",
    fallbackMode: "earliest",
    sessionTimeout: SESSION_TIMEOUT_MS,
    heartbeatInterval: 500,
  });
  const messages = stream[Symbol.asyncIterator]();
  const work = async () => {
    for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
      const { headers, value } = next.value;
      const id = [...headers].find(([name]) => name.equals(MESSAGE_ID))?.[1];
      await post(url, `${id}`, value ?? Buffer.alloc(0), true);
    }
  };
  // This is what `forEach` of the package hwp does.
  for (let worker = 0; worker < CONCURRENCY; worker += 1) void work();
}
