// Deliveries that are canceled in the queue and while they await retry, on a Kafka in memory.

import { expect, test } from "vitest";
import type { MessageId } from "../../../../src/domain/ids.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DeliverWorld, HOUR_MS } from "../../../support/worlds/deliver-world.ts";
import type { ScriptedResponse } from "../../../support/worlds/scripted-http.ts";

const user = () => "u";
const other = { user: () => "v" };

async function worldOf(respond: () => ScriptedResponse = () => 200) {
  const crm = webhookDestination({ urls: ["http://crm.test/"], messageIdHeader: true });
  const world = new DeliverWorld({ destinations: [crm], respond });
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
