// Gauges of the records that wait in delay topics during an outage of Kafka. Most of these records are not in flight.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type FrontedKafka, frontedKafka } from "../support/worlds/fronted-kafka.ts";
import { AWAITING, waitingWorld } from "../support/worlds/waiting-world.ts";

let fronted: FrontedKafka;
beforeAll(async () => {
  fronted = await frontedKafka();
});
afterAll(() => fronted?.[Symbol.asyncDispose]());

test("with Kafka unreachable the counts are absent and shown as such; they are never 0, and come back", async () => {
  const { broker, proxy } = fronted;
  const { startProcess } = await waitingWorld([proxy.address]);
  const process = await startProcess();
  await expect.poll(process.waiting).toEqual(AWAITING);
  await broker.kill();
  proxy.cut();
  const seen = new Set<string>();
  const watched = async () => {
    const waiting = await process.waiting();
    seen.add(JSON.stringify(waiting));
    return waiting;
  };
  await expect.poll(watched).toEqual({});
  expect(Object.values(await process.unknown()).every((count) => count > 0)).toBe(true);
  for (const each of seen) {
    for (const count of Object.values(JSON.parse(each) as Record<string, number>)) {
      expect(count).toBeGreaterThan(0);
    }
  }
  await broker.restart();
  await expect.poll(process.waiting).toEqual(AWAITING);
  expect(await process.unknown()).toEqual({ "10m": 0, "60m": 0 });
  await process.stop();
});
