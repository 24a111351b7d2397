// Deliveries that are canceled in the queue and while they await retry, on a Kafka in memory.

import { expect, test } from "vitest";
import { deliveryHeaders } from "../../../../src/domain/delivery.ts";
import type { DestinationId, MessageId } from "../../../../src/domain/ids.ts";
import { encoded, framed } from "../../../support/build/avro.ts";
import { suppress, suppressing } from "../../../support/build/suppressions.ts";
import { deliveryOf, webhookDestination } from "../../../support/build/webhook-destination.ts";
import {
  DeliverWorld,
  HOUR_MS,
  topics,
  type WorldOptions,
} from "../../../support/worlds/deliver-world.ts";
import { MemorySchemas } from "../../../support/worlds/memory-schemas.ts";
import type { ScriptedResponse } from "../../../support/worlds/scripted-http.ts";

const user = () => "u";
const other = { user: () => "v" };

async function worldOf(
  respond: () => ScriptedResponse = () => 200,
  order: "loose" | "strict" = "loose",
  given: Partial<WorldOptions> = {},
) {
  const crm = webhookDestination({ urls: ["http://crm.test/"], messageIdHeader: true, order });
  const world = new DeliverWorld({ destinations: [crm], respond, ...given });
  await world.control();
  await world.run();
  const cancelled = () =>
    world
      .deadLetters()
      .filter((deadLetter) => deadLetter["switchyard-reason"] === "cancelled")
      .map((deadLetter) => deadLetter["switchyard-message-id"]);
  return { world, cancelled };
}

test("a queue on hold is cancelled, also behind what is in flight, and new deliveries go", async () => {
  const { world, cancelled } = await worldOf();
  await world.pause();
  world.calls(1_000, { user });
  world.calls(200, other);
  await world.cancel();
  expect(cancelled()).toHaveLength(1_200);
  world.calls(2, { user });
  await world.resume();
  expect(world.sent()).toEqual(["m1200", "m1201"]);
  expect(new Set(cancelled()).size).toBe(1_200);
});

test("only what was received before its time; the rest keeps its order", async () => {
  const { world, cancelled } = await worldOf();
  const oldMs = world.clock.nowMs() - HOUR_MS;
  await world.pause();
  world.calls(2, { user, receivedAtMs: oldMs });
  world.calls(2, { user });
  world.calls(2, { ...other, receivedAtMs: oldMs });
  world.calls(2, other);
  await world.cancel(oldMs + 1);
  expect(new Set(cancelled())).toEqual(new Set(["m0", "m1", "m4", "m5"]));
  await world.resume();
  expect(new Set(world.sent())).toEqual(new Set(["m2", "m3", "m6", "m7"]));
  expect(world.sent().indexOf("m2")).toBeLessThan(world.sent().indexOf("m3"));
  expect(world.sent().indexOf("m6")).toBeLessThan(world.sent().indexOf("m7"));
});

test("retries that are due again while it is paused are cancelled", async () => {
  const { world, cancelled } = await worldOf(() => 503);
  world.calls(1, { user });
  await world.settle(1_000);
  await world.pause();
  // It is returned, and waits.
  await world.settle(60_000);
  await world.cancel();
  expect(cancelled()).toEqual(["m0"]);
  expect(world.sent()).toHaveLength(1);
  await world.settle(6 * HOUR_MS);
  expect(world.deadLetters()).toHaveLength(1);
});

test("a replay of what was cancelled is delivered", async () => {
  const { world, cancelled } = await worldOf();
  const receivedMs = world.clock.nowMs();
  await world.pause();
  world.calls(1, { receivedAtMs: receivedMs });
  await world.cancel();
  expect(cancelled()).toEqual(["m0"]);
  world.append({ messageId: "m0" as MessageId, receivedAtMs: receivedMs });
  await world.resume();
  expect(world.sent()).toEqual(["m0"]);
});

async function suppressedTotal(world: DeliverWorld, stage: string): Promise<number> {
  const lines = (await world.metrics.text()).split("\n");
  const start = `switchyard_suppressed_total{stage="${stage}",destination="crm"} `;
  return Number(lines.find((line) => line.startsWith(start))?.slice(start.length) ?? 0);
}

/** One delivery awaits retry, and two are on hold in the queue. With a strict order, these wait for it, too. */
async function waitingWorld(order: "loose" | "strict") {
  const suppressions = suppressing();
  let status: ScriptedResponse = 503;
  const made = await worldOf(() => status, order, { suppressions });
  const { world } = made;
  world.calls(1, { user });
  await world.settle(1_000);
  await world.pause();
  world.calls(2, { user });
  await world.settle(1_000);
  status = 200;
  return { ...made, suppressions };
}

test.each(["loose", "strict"] as const)(
  "what was canceled of a suppressed user, with a %s order, ends without a dead letter",
  async (order) => {
    const { world, suppressions } = await waitingWorld(order);
    suppress(suppressions, "u");
    await world.cancel();
    await world.settle(HOUR_MS);
    await world.resume();
    await world.settle(HOUR_MS);
    expect(world.sent()).toEqual(["m0"]);
    expect(world.deadLetters()).toEqual([]);
    expect(await suppressedTotal(world, "deliver")).toBe(2);
    expect(await suppressedTotal(world, "delay")).toBe(1);
  },
);

test.each(["loose", "strict"] as const)(
  "that of others, with a %s order, becomes dead letters while somebody is suppressed",
  async (order) => {
    const { world, cancelled, suppressions } = await waitingWorld(order);
    suppress(suppressions, "somebody");
    await world.cancel();
    await world.resume();
    await world.settle(HOUR_MS);
    expect(world.sent()).toEqual(["m0"]);
    expect(cancelled().toSorted()).toEqual(["m0", "m1", "m2"]);
  },
);

const GONE = "gone" as DestinationId;
const CALL = {
  type: "record",
  name: "Call",
  fields: ["type", "user_id", "event"].map((name) => ({ name, type: "string" })),
};

/** A retry of a destination whose topics were deleted. */
function appendGone(world: DeliverWorld, value: Buffer): void {
  const nowMs = world.clock.nowMs();
  const due = { destination: GONE, dueAtMs: nowMs + 10_000, firstAttemptAtMs: nowMs, attempt: 1 };
  const headers = deliveryHeaders(deliveryOf({ ...due, receivedAtMs: nowMs }));
  world.cluster.append({ topic: topics.delays(10_000), key: Buffer.from("u"), value, headers });
}

test.each([
  ["u", []],
  ["somebody", ["unknown-destination"]],
])("what awaits retry for a removed destination, while %s is suppressed", async (who, reasons) => {
  const { world } = await worldOf(() => 200, "loose", { suppressions: suppressing(who) });
  appendGone(world, Buffer.from('{"type":"track","event":"e","userId":"u"}'));
  await world.settle(30_000);
  expect(world.deadLetters().map((headers) => headers["switchyard-reason"])).toEqual(reasons);
});

test("if the user can only be seen with a schema, nothing becomes a dead letter before it is known", async () => {
  const schemas = new MemorySchemas();
  const { world } = await worldOf(() => 200, "loose", {
    schemas,
    suppressions: suppressing("u"),
  });
  for (const id of ["u", "v"])
    appendGone(world, framed(7, encoded(CALL, { type: "track", user_id: id, event: "e" })));
  await world.settle(60_000);
  expect(world.deadLetters()).toEqual([]);
  schemas.learnAvro(7, CALL);
  await world.settle(60_000);
  expect(world.deadLetters()).toHaveLength(1);
});
