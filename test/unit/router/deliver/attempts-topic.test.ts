// The topic of attempts with the real stage: its records, and that no delivery depends on it.

import { expect, test } from "vitest";

import { parseAttemptRecord } from "../../../../src/domain/attempt-record.ts";
import type { MessageId } from "../../../../src/domain/ids.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DeliverWorld, topics } from "../../../support/worlds/deliver-world.ts";
import type { ScriptedResponse } from "../../../support/worlds/scripted-http.ts";

const URLS = ["http://a.test/secret"];

async function worldOf(respond: (earlier: number) => ScriptedResponse) {
  const world = new DeliverWorld({
    destinations: [webhookDestination({ urls: URLS })],
    respond: (_sent, earlier) => respond(earlier),
    attempts: { responseBytes: null },
  });
  const deliver = await world.startDeliver();
  await world.startDelay();
  return { world, deliver };
}

function attemptsIn(world: DeliverWorld) {
  return world.cluster.records(topics.attempts).map(({ key, value }) => {
    return { key: key?.toString(), ...parseAttemptRecord(value) };
  });
}

async function counted(world: DeliverWorld, outcome: string): Promise<number> {
  const line = `switchyard_attempt_records_total{outcome="${outcome}"} `;
  const found = (await world.metrics.text()).split("\n").find((each) => each.startsWith(line));
  return Number(found?.slice(line.length));
}

test("each attempt has a record under its call's id, as its log line says it", async () => {
  const { world } = await worldOf((earlier) => (earlier === 0 ? 503 : 200));
  world.append({ messageId: "m-7" as MessageId });
  await world.settle(60_000);
  const logged = world.attempts();
  expect(logged).toHaveLength(2);
  const [first, second, ...rest] = attemptsIn(world);
  expect(rest).toEqual([]);
  expect(first).toMatchObject({
    ...{ key: "m-7", messageId: "m-7", destination: "crm", attempt: 1, decision: "retry" },
    requests: [{ endpoint: "crm[1] a.test", outcome: "retry", status: 503 }],
    next: [{ retryDelay: logged[0]?.retryDelay, atMs: Date.parse(String(logged[0]?.retryAt)) }],
  });
  expect(second).toMatchObject({ key: "m-7", attempt: 2, decision: "accepted", next: [] });
  expect(second?.firstAttemptAtMs).toBe(first?.firstAttemptAtMs);
  expect(await counted(world, "written")).toBe(2);
});

test("what is not written yet is written when the stage stops", async () => {
  const { world, deliver } = await worldOf(() => 200);
  world.append();
  // The response arrives after a millisecond, and the next flush is after five hundred.
  await world.settle(60);
  const stopping = deliver[Symbol.asyncDispose]();
  await world.settle(5_000);
  await stopping;
  expect(world.http.sent).toHaveLength(1);
  expect(attemptsIn(world)).toMatchObject([{ messageId: "m-1", decision: "accepted" }]);
});

test("while the topic is gone deliveries continue, attempts are dropped, and a line says so now and then", async () => {
  const { world } = await worldOf(() => 200);
  const deleted = world.kafka.admin.deleteTopics([topics.attempts]);
  await world.settle(1_000);
  await deleted;
  for (let round = 0; round < 20; round += 1) {
    world.append({ messageId: `m-${round}` as MessageId });
    await world.settle(1_000);
  }
  expect(world.http.sent).toHaveLength(20);
  expect(await counted(world, "dropped")).toBeGreaterThan(10);
  const said = world.lines.filter(({ msg }) => msg === "attempts.records-dropped");
  expect(said).toMatchObject([{ level: "warn", topic: topics.attempts, stage: "deliver" }]);
  await world.settle(60_000);
  world.append({ messageId: "m-late" as MessageId });
  await world.settle(5_000);
  expect(world.lines.filter(({ msg }) => msg === "attempts.records-dropped")).toHaveLength(2);
});

test("when the topic is there again its records are written again", async () => {
  const { world } = await worldOf(() => 200);
  const deleted = world.kafka.admin.deleteTopics([topics.attempts]);
  await world.settle(1_000);
  await deleted;
  world.append({ messageId: "m-lost" as MessageId });
  await world.settle(10_000);
  world.cluster.createTopic(topics.attempts, 1);
  await world.settle(5_000);
  world.append({ messageId: "m-there" as MessageId });
  await world.settle(10_000);
  expect(attemptsIn(world).map(({ key }) => key)).toContain("m-there");
});

test("while the brokers take nothing, no more than 8 MiB wait and deliveries end all the same", async () => {
  const { world } = await worldOf(() => 200);
  await world.settle(2_000);
  // This is longer than the test: nothing is acknowledged, and the records that are read already exist.
  world.cluster.delayWrites(3_600_000);
  const total = 12_000;
  const long = "i".repeat(400);
  for (let at = 0; at < total; at += 1) world.append({ messageId: `m-${at}-${long}` as MessageId });
  await world.settle(60_000);
  expect(world.http.sent).toHaveLength(total);
  const dropped = await counted(world, "dropped");
  expect(dropped).toBeGreaterThan(0);
  expect(dropped).toBeLessThan(total);
  const [said] = world.lines.filter(({ msg }) => msg === "attempts.records-dropped");
  expect(said?.error).toBe("8 MiB of attempt records are not acknowledged yet");
});
