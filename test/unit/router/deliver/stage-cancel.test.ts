// Deliveries that are canceled in the queue and while they await retry, on a Kafka in memory.

import { expect, test } from "vitest";
import type { DestinationId, MessageId } from "../../../../src/domain/ids.ts";
import {
  earlyReleaseRecord,
  pauseRecord,
  resumeRecord,
} from "../../../../src/router/control/operator-actions.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DeliverWorld, HOUR_MS, topics } from "../../../support/worlds/deliver-world.ts";
import type { ScriptedResponse, Sent } from "../../../support/worlds/scripted-http.ts";

const CRM = "crm" as DestinationId;
const idOf = ({ headers }: Sent) => headers["X-Switchyard-Message-Id"];

async function worldOf(respond: (sent: Sent, earlier: number) => ScriptedResponse = () => 200) {
  const crm = webhookDestination({ urls: ["http://crm.test/"], messageIdHeader: true });
  const world = new DeliverWorld({ destinations: [crm], respond });
  await world.control();
  await world.startDeliver();
  await world.startDelay();
  await world.settle(2_000);
  let number = 0;
  const append = (count: number, receivedAtMs = world.clock.nowMs(), user = "u") => {
    for (const last = number + count; number < last; number += 1) {
      const key = Buffer.from(user);
      world.append({ messageId: `m${number}` as MessageId, receivedAtMs }, { key });
    }
  };
  const pause = async () => {
    const sinceMs = world.clock.nowMs();
    const asked = { destination: CRM, sinceMs, by: "command", untilMs: null };
    world.cluster.append(pauseRecord(topics.operatorActions, asked));
    await world.settle(1_000);
  };
  const resume = async () => {
    world.cluster.append(resumeRecord(topics.operatorActions, CRM));
    await world.settle(2_000);
  };
  const cancel = async (receivedBeforeMs = world.clock.nowMs() + 1) => {
    const atMs = world.clock.nowMs() + 1;
    const asked = { kind: "cancel", destination: CRM, id: `c-${atMs}`, atMs } as const;
    const record = earlyReleaseRecord(topics.operatorActions, {
      ...asked,
      by: "command",
      receivedBeforeMs,
    });
    world.cluster.append(record);
    await world.settle(5_000);
  };
  const sent = () => world.http.sent.map(idOf);
  const cancelled = () =>
    world
      .deadLetters()
      .filter((deadLetter) => deadLetter["switchyard-reason"] === "cancelled")
      .map((deadLetter) => deadLetter["switchyard-message-id"]);
  return { world, append, pause, resume, cancel, sent, cancelled };
}

test("a queue on hold is cancelled, also behind what is in flight, and new deliveries go", async () => {
  const { append, pause, resume, cancel, sent, cancelled } = await worldOf();
  await pause();
  append(1_000);
  append(200, undefined, "v");
  await cancel();
  expect(cancelled()).toHaveLength(1_200);
  append(2);
  await resume();
  expect(sent()).toEqual(["m1200", "m1201"]);
  expect(new Set(cancelled()).size).toBe(1_200);
});

test("only what was received before its time; the rest keeps its order", async () => {
  const { world, append, pause, resume, cancel, sent, cancelled } = await worldOf();
  const oldMs = world.clock.nowMs() - HOUR_MS;
  await pause();
  append(2, oldMs);
  append(2);
  append(2, oldMs, "v");
  append(2, undefined, "v");
  await cancel(oldMs + 1);
  expect(new Set(cancelled())).toEqual(new Set(["m0", "m1", "m4", "m5"]));
  await resume();
  expect(new Set(sent())).toEqual(new Set(["m2", "m3", "m6", "m7"]));
  expect(sent().indexOf("m2")).toBeLessThan(sent().indexOf("m3"));
  expect(sent().indexOf("m6")).toBeLessThan(sent().indexOf("m7"));
});

test("retries that are due again while it is paused are cancelled", async () => {
  const { world, append, pause, cancel, sent, cancelled } = await worldOf(() => 503);
  append(1);
  await world.settle(1_000);
  await pause();
  // It is returned, and waits.
  await world.settle(60_000);
  await cancel();
  expect(cancelled()).toEqual(["m0"]);
  expect(sent()).toHaveLength(1);
  await world.settle(6 * HOUR_MS);
  expect(world.deadLetters()).toHaveLength(1);
});

test("a replay of what was cancelled is delivered", async () => {
  const { world, append, pause, resume, cancel, sent, cancelled } = await worldOf();
  const receivedMs = world.clock.nowMs();
  await pause();
  append(1, receivedMs);
  await cancel();
  expect(cancelled()).toEqual(["m0"]);
  world.append({ messageId: "m0" as MessageId, receivedAtMs: receivedMs });
  await resume();
  expect(sent()).toEqual(["m0"]);
});
