// Processes with wrong clocks, and brokers with a correct clock.

import { type TestContext, test } from "vitest";

import { headerTexts } from "../support/build/calls.ts";
import { wrongClock } from "../support/clock/wrong-clock.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";

const HOUR_MS = 3_600_000;
const STAGES = "route,deliver,delay";

/** The program, and a receiver that responds to each call with these statuses in turn, and then with 200. */
async function world(
  { onTestFinished }: TestContext,
  statuses: readonly number[],
  retryDelays: readonly string[],
) {
  const hook = await useReceiver(({ earlier }) => statuses[earlier] ?? 200, onTestFinished);
  const own = useKafka("clock", { lifetime: onTestFinished });
  const program = useProgram(
    {
      kafka: { brokers: own.brokers, topicPrefix: own.prefix },
      destinations: { crm: `${hook.url}/hook` },
      delivery: { retryDelays },
    },
    onTestFinished,
  );
  return { ...own, ...program, hook };
}

test.concurrent("a process 5 h behind makes the first attempt, and one that is right keeps its window", async (context) => {
  const { expect } = context;
  const { begin, ready, hook, publish, recordsIn } = await world(context, [503], ["10s"]);
  const behind = await ready(STAGES, wrongClock(-5 * HOUR_MS));
  const warned = await behind.logged("clock.wrong");
  expect(warned.offsetMs).toBeLessThan(-5 * HOUR_MS + 2_000);
  expect(warned.offsetMs).toBeGreaterThan(-5 * HOUR_MS - 2_000);
  expect(await behind.sample("switchyard_clock_offset_seconds")).toBeCloseTo(-18_000, -1);
  await publish();
  await behind.logged("delivery.attempted");
  await behind.stop();
  const right = begin(STAGES);
  await expect.poll(() => hook.taken.length).toBe(2);
  const [returned] = await recordsIn("retries.crm");
  if (returned === undefined) throw new Error("nothing came back");
  const ageMs = Date.now() - Number(headerTexts(returned)["switchyard-first-attempt-at"]);
  expect(Math.abs(ageMs)).toBeLessThan(120_000);
  expect(await recordsIn("dead-letters")).toEqual([]);
  expect(right.lines.some(({ msg }) => msg === "clock.wrong")).toBe(false);
});

test.concurrent("a process 5 h behind takes over what a right one has attempted, and expires none", async (context) => {
  const { expect } = context;
  const { begin, ready, hook, publish, recordsIn } = await world(context, [503, 503], ["10s"]);
  const right = await ready(STAGES);
  await publish();
  await right.logged("delivery.attempted");
  await right.stop();
  const behind = begin(STAGES, wrongClock(-5 * HOUR_MS));
  await expect.poll(() => hook.taken.length).toBe(3);
  await expect.poll(() => behind.lines.some(({ msg }) => msg === "clock.wrong")).toBe(true);
  expect(await recordsIn("dead-letters")).toEqual([]);
});

test.concurrent("a process an hour ahead waits for retries that others have scheduled", async (context) => {
  const { expect } = context;
  const { ready, hook, publish, recordsIn } = await world(context, [503], ["20s"]);
  await ready("route,deliver");
  await ready("delay", wrongClock(HOUR_MS));
  await publish();
  await expect.poll(() => hook.taken.length).toBe(2);
  const [first, second] = hook.taken;
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(19_000);
  const [scheduled] = await recordsIn("delays.20s");
  const [returned] = await recordsIn("retries.crm");
  if (scheduled === undefined || returned === undefined) throw new Error("no retry was scheduled");
  expect(returned.timestampMs).toBeGreaterThanOrEqual(
    Number(headerTexts(scheduled)["switchyard-due-at"]) - 2_000,
  );
});

test.concurrent("brokers accept what a process 5 h ahead writes, and calls have the time of the brokers' clock", async (context) => {
  const { expect } = context;
  const { ready, hook, recordsIn } = await world(context, [], ["2s"]);
  const ahead = await ready("ingest,route,deliver,delay", wrongClock(5 * HOUR_MS));
  const track = () => ahead.post("/v1/track", { userId: "u1", event: "e", messageId: "m1" });
  // A client also sends a call again after a 503.
  await expect.poll(track).toBe(200);
  await expect.poll(() => hook.taken.length).toBeGreaterThan(0);
  const { timestamp } = JSON.parse(hook.taken[0]?.body ?? "{}") as { timestamp: string };
  expect(Math.abs(Date.parse(timestamp) - Date.now())).toBeLessThan(60_000);
  const [call] = await recordsIn("calls");
  expect(Math.abs((call?.timestampMs ?? 0) - Date.now())).toBeLessThan(60_000);
  expect(await ahead.sample("switchyard_clock_offset_seconds")).toBeCloseTo(18_000, -1);
});

test.concurrent("a process 5 h ahead that cannot see the brokers' clock reports why they reject its writes", async (context) => {
  const { expect } = context;
  const { begin, kafka, prefix } = await world(context, [], ["2s"]);
  await kafka.admin.create([
    {
      ...{ name: `${prefix}operator-actions`, partitions: 1, replicationFactor: 1 },
      config: { "message.timestamp.type": "CreateTime" },
    },
  ]);
  const ahead = begin("ingest,deliver", wrongClock(5 * HOUR_MS));
  const wrong: unknown = expect.stringContaining(
    "the clock of this process or of the broker is wrong (INVALID_TIMESTAMP)",
  );
  const { error } = await ahead.logged("process.unannounced");
  expect(error).toEqual(wrong);
  await ahead.logged("ready");
  ahead.post("/v1/track", { userId: "u1", event: "e", messageId: "m1" }).catch(() => undefined);
  const failing = () => ahead.lines.filter(({ msg }) => msg === "kafka.produce.failing");
  const ofCalls = { topic: `${prefix}calls`, error: wrong };
  await expect.poll(failing).toContainEqual(expect.objectContaining(ofCalls));
  await expect.poll(() => ahead.get("/readyz")).toContain("INVALID_TIMESTAMP");
  expect(await ahead.sample("switchyard_clock_offset_seconds")).toBeNaN();
  const ownS = await ahead.sample("switchyard_clock_timestamp_seconds");
  expect(ownS - Date.now() / 1_000).toBeCloseTo(18_000, -2);
});
