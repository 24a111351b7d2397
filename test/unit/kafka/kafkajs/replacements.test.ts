// kafkajs' own runner. Without the replacement the process would do nothing else from here on.

import { EventEmitter } from "node:events";
import { expect, test } from "vitest";

import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";

const Runner = loadInternal("src/consumer/runner.js") as new (
  options: object,
) => { start(): Promise<void>; stop(): Promise<void> };

test("a stop while the fetch loops are recreated ends all of them", async () => {
  const silent = () => undefined;
  const logger: object = { namespace: () => logger, debug: silent, info: silent, warn: silent };
  const [fetching, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<[]>()];
  let brokers = ["1", "2"];
  let hasLeft = false;
  const consumerGroup = {
    groupId: "g",
    memberId: "m",
    connect: silent,
    joinAndSync: silent,
    heartbeat: async () => undefined,
    getNodeIds: () => brokers,
    // The loop of the second broker hears that the brokers have changed while the first one's waits.
    fetch: async (nodeId: string) => {
      if (nodeId === "2") return [];
      fetching.resolve();
      return await answered.promise;
    },
    leave: async () => {
      hasLeft = true;
    },
  };
  const runner = new Runner({
    logger,
    consumerGroup,
    instrumentationEmitter: new EventEmitter(),
    heartbeatInterval: 1_000,
    autoCommit: false,
    onCrash: silent,
  });
  await runner.start();
  await fetching.promise;
  brokers = ["1"];
  await new Promise((resolve) => setImmediate(resolve));
  const stopped = runner.stop();
  answered.resolve([]);
  await stopped;
  expect(hasLeft).toBe(true);
});

test("a loop that fails ends the fetches of the others, which may last for minutes", async () => {
  const silent = () => undefined;
  const logger: object = { namespace: () => logger, debug: silent, info: silent, error: silent };
  const waiting = Promise.withResolvers<[]>();
  const crashed = Promise.withResolvers<Error>();
  const failure = Object.assign(new Error("of one broker"), { name: "KafkaJSNotImplemented" });
  const runner = new Runner({
    logger,
    consumerGroup: {
      groupId: "g",
      memberId: "m",
      connect: silent,
      joinAndSync: silent,
      getNodeIds: () => ["1", "2"],
      fetch: async (nodeId: string) => {
        if (nodeId === "2") throw failure;
        return await waiting.promise;
      },
      heartbeat: async () => undefined,
      endFetches: () => waiting.resolve([]),
    },
    instrumentationEmitter: new EventEmitter(),
    heartbeatInterval: 1_000,
    autoCommit: false,
    onCrash: crashed.resolve,
  });
  await runner.start();
  expect(await crashed.promise).toBe(failure);
});
