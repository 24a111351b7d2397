// Pauses by a command while the deliver stage runs, on a Kafka in memory.

import { expect, test } from "vitest";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";
import { CRM, DeliverWorld, HOUR_MS, READ_MS } from "../../../support/worlds/deliver-world.ts";
import type { ScriptedResponse, Sent } from "../../../support/worlds/scripted-http.ts";

const OTHER = "other" as DestinationId;
const user = () => "u";

async function worldOf(respond: (sent: Sent, earlier: number) => ScriptedResponse = () => 200) {
  const crm = webhookDestination({ urls: ["http://crm.test/"], messageIdHeader: true });
  const other = webhookDestination({ id: OTHER, urls: ["http://other.test/"] });
  const world = new DeliverWorld({ destinations: [crm, other], respond });
  await world.control();
  return world;
}

test("a paused queue waits in order, others continue, and it resumes where it was", async () => {
  const world = await worldOf();
  const { deliver } = await world.run();
  world.calls(1, { user });
  await world.pause();
  world.calls(3, { user });
  world.calls(2, { user, destination: OTHER });
  await world.settle(HOUR_MS);
  expect(world.sent("crm.test")).toEqual(["m0"]);
  expect(world.sent("other.test")).toHaveLength(2);
  expect(await world.metrics.text()).toContain(
    `switchyard_destination_on_hold{destination="${CRM}",reason="paused"} 1\n`,
  );
  const [status] = deliver.destinations?.() ?? [];
  expect(status?.hold).toMatchObject({ reason: "paused", by: "command", until: null });
  expect(deliver.healthProblems()).toEqual([
    expect.stringMatching(/^destination crm: paused by command since 20\d\d-.*Z$/),
  ]);
  expect(world.lines.filter(({ msg }) => msg === "destination.paused")).toEqual([
    expect.objectContaining({ destination: "crm", by: "command", stage: "deliver" }),
  ]);
  await world.resume();
  await world.settle(2_000);
  expect(world.sent("crm.test")).toEqual(["m0", "m1", "m2", "m3"]);
  expect(deliver.healthProblems()).toEqual([]);
  expect(world.lines.some(({ msg }) => msg === "destination.resumed")).toBe(true);
  expect(world.deadLetters()).toEqual([]);
});

test("a pause with an end is over by itself, also for one who starts after it", async () => {
  const first = await worldOf();
  await first.run();
  await first.pause(60_000);
  first.calls(1);
  await first.settle(59_000 - READ_MS);
  expect(first.sent("crm.test")).toEqual([]);
  await first.settle(2_000);
  expect(first.sent("crm.test")).toEqual(["m0"]);

  const late = await worldOf();
  await late.pause(60_000);
  late.calls(1);
  await late.settle(120_000);
  await late.run();
  expect(late.sent("crm.test")).toEqual(["m0"]);
});

test("it stays paused over a restart, and no attempt is made at the start", async () => {
  const world = await worldOf();
  await world.pause();
  world.calls(2, { user });
  const { deliver } = await world.run();
  await world.settle(HOUR_MS);
  expect(world.sent("crm.test")).toEqual([]);
  await world.stop(deliver);
  await world.control();
  await world.run();
  expect(world.sent("crm.test")).toEqual([]);
  await world.resume();
  expect(world.sent("crm.test")).toEqual(["m0", "m1"]);
});

test("on hold for six days with a restart each day: the age counts from the oldest record, not from the restart", async () => {
  const paused = webhookDestination({ urls: ["http://crm.test/"], paused: true });
  const world = new DeliverWorld({ destinations: [paused], respond: () => 200 });
  world.append();
  const startMs = world.clock.nowMs();
  for (let day = 1; day <= 6; day += 1) {
    const deliver = await world.startDeliver();
    await world.settle(HOUR_MS);
    const ended = deliver[Symbol.asyncDispose]();
    await world.settle(23 * HOUR_MS);
    await ended;
    world.append();
  }
  await world.startDeliver();
  await world.settle(2_000);
  const age =
    /^switchyard_consumer_oldest_unprocessed_age_seconds\{stage="deliver",destination="crm"\} (\S+)$/m;
  const [, ageS] = age.exec(await world.metrics.text()) ?? [];
  const sinceStartS = (world.clock.nowMs() - startMs) / 1_000;
  expect(sinceStartS).toBeGreaterThan(6 * 24 * 3_600);
  expect(Number(ageS)).toBeGreaterThan(sinceStartS - 60);
});

test("one that was attempted keeps its window and expires; one that never was waits", async () => {
  const world = await worldOf(({ atMs: _ }, earlier) => (earlier === 0 ? 503 : 200));
  await world.run();
  world.calls(1, { user });
  await world.settle(1_000);
  await world.pause();
  world.calls(1, { user });
  await world.settle(5 * HOUR_MS);
  expect(world.sent("crm.test")).toEqual(["m0"]);
  expect(world.deadLetters()).toEqual([
    expect.objectContaining({
      "switchyard-reason": "expired",
      "switchyard-error": expect.stringContaining("the destination was paused") as string,
    }),
  ]);
  await world.resume();
  await world.settle(60_000);
  expect(world.sent("crm.test").filter((id) => id === "m1").length).toBeGreaterThan(0);
  expect(world.deadLetters()).toHaveLength(1);
});

test("configuration and command together: paused as long as either says so", async () => {
  const world = await worldOf();
  const { deliver } = await world.run();
  const [crm, other] = world.destinations;
  if (crm === undefined || other === undefined) throw new Error("there are two");
  await world.pause();
  world.calls(1, { user });
  const update = async (paused: boolean) => {
    const ended = world.update(deliver, [{ ...crm, paused }, other]);
    await world.settle(1_000);
    await ended;
  };
  await update(true);
  expect(deliver.destinations?.()[0]?.hold?.by).toBe("configuration and command");
  await world.resume();
  await world.settle(60_000);
  expect(deliver.destinations?.()[0]?.hold?.by).toBe("configuration");
  expect(world.sent("crm.test")).toEqual([]);
  await update(false);
  expect(world.sent("crm.test")).toEqual(["m0"]);
});
