// The deliver stage when brokers reject the records that replace a delivery.

import { expect, test } from "vitest";

import { deliveryHeaders } from "../../../../src/domain/delivery.ts";
import type { MessageId } from "../../../../src/domain/ids.ts";
import { deliveryOf, webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DeliverWorld, topics } from "../../../support/worlds/deliver-world.ts";

/** Creates one destination. `letters` has the maximum size in `dead-letters`, which can be changed. */
async function worldOf(status: number, delayMaxBytes = 1_048_576) {
  const deadLetters = { maxBytes: 1_048_576 };
  const world = new DeliverWorld({
    destinations: [webhookDestination({ urls: ["http://a.test/"] })],
    respond: () => status,
    recordMaxBytes: (topic) => {
      if (topic === topics.deadLetters) return deadLetters.maxBytes;
      return topic.includes("delays") ? delayMaxBytes : 1_048_576;
    },
  });
  const stage = await world.startDeliver();
  return { world, deadLetters, stage };
}

test("what is too large for a delay topic is a dead letter, and what is too large for that keeps its headers", async () => {
  const { world, deadLetters, stage } = await worldOf(500, 200);
  const record = world.append();
  await world.settle(2_000);
  expect(world.cluster.records(topics.deadLetters)[0]?.value).toEqual(record.value);
  deadLetters.maxBytes = 1_200;
  world.append(
    { messageId: "large" as MessageId },
    {
      value: Buffer.from(
        `{"type":"track","event":"e","userId":"u","properties":{"a":"${"x".repeat(2_000)}"}}`,
      ),
    },
  );
  await world.settle(2_000);
  expect(world.deadLetters()).toMatchObject([
    { "switchyard-reason": "too-large", "switchyard-message-id": "m-1" },
    {
      "switchyard-reason": "too-large",
      "switchyard-message-id": "large",
      "switchyard-offset": "1",
    },
  ]);
  expect(world.cluster.records(topics.deadLetters)[1]?.value).toBeNull();
  expect(stage.healthProblems()).toEqual([]);
});

test("a dead letter without a value that is too large for its headers goes without the producer's", async () => {
  const { world, deadLetters, stage } = await worldOf(200);
  deadLetters.maxBytes = 1_200;
  const headers = [["trace", Buffer.alloc(2_000)] as const, ...deliveryHeaders(deliveryOf())];
  world.append({}, { value: null, headers });
  world.append({ messageId: "next" as MessageId });
  await world.settle(2_000);
  const [deadLetter, ...others] = world.deadLetters();
  expect(others).toEqual([]);
  expect(deadLetter).toMatchObject({
    "switchyard-reason": "undecodable",
    "switchyard-offset": "0",
  });
  expect(deadLetter).not.toHaveProperty("trace");
  expect(world.http.sent).toHaveLength(1);
  expect(stage.healthProblems()).toEqual([]);
});

test("a dead letter that is too large keeps the call, and loses the largest of its headers", async () => {
  const { world, stage } = await worldOf(404);
  const foreign = [["big", Buffer.alloc(3_000_000)] as const, ["trace", Buffer.from("t")] as const];
  const record = world.append({}, { headers: [...foreign, ...deliveryHeaders(deliveryOf())] });
  await world.settle(2_000);
  const [deadLetter] = world.deadLetters();
  expect(deadLetter).toMatchObject({ "switchyard-reason": "rejected", trace: "t" });
  expect(deadLetter).not.toHaveProperty("big");
  expect(deadLetter?.["switchyard-error"]).toContain('without the header "big" (3000003 bytes)');
  const [written] = world.cluster.records(topics.deadLetters);
  expect([written?.value, written?.key]).toEqual([record.value, record.key]);
  expect(stage.healthProblems()).toEqual([]);
});

test("what can be written nowhere is not done: its consumer starts again, until it can", async () => {
  const { world, deadLetters, stage } = await worldOf(404);
  deadLetters.maxBytes = 10;
  world.append();
  await world.settle(10_000);
  expect(world.deadLetters()).toEqual([]);
  expect(world.lines).toContainEqual(
    expect.objectContaining({ msg: "destination.consumer-restarting", level: "error" }),
  );
  deadLetters.maxBytes = 1_048_576;
  await world.settle(120_000);
  expect(world.deadLetters()).toMatchObject([
    { "switchyard-reason": "rejected", "switchyard-message-id": "m-1" },
  ]);
  expect(stage.healthProblems()).toEqual([]);
});
