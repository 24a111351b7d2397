// The action runner on a Kafka in memory: the records that each action writes, and its text.

import { beforeEach, expect, test, vi } from "vitest";
import { type Delivery, deliveryHeaders } from "../../../../../src/domain/delivery.ts";
import { endpointKey } from "../../../../../src/domain/destination.ts";
import type { DestinationId, EndpointKey } from "../../../../../src/domain/ids.ts";
import { topicNames } from "../../../../../src/domain/topics.ts";
import type { Action } from "../../../../../src/operator/console/action-view.ts";
import type { ActionRunner } from "../../../../../src/operator/console/ports.ts";
import { createActionRunner } from "../../../../../src/operator/console/read/action-runner.ts";
import {
  goneRecord,
  type OperatorAction,
  pauseRecord,
  readOperatorAction,
} from "../../../../../src/router/control/operator-actions.ts";
import { config } from "../../../../support/build/config-source.ts";
import { deliveryOf } from "../../../../support/build/webhook-destination.ts";
import { clockDriver } from "../../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../../support/clock/prng.ts";
import { MemoryCluster } from "../../../../support/memory-kafka/memory-kafka.ts";

const CONFIG = config(`
kafka: { brokers: [kafka-1:9092], topicPrefix: sw. }
sources:
  - { id: web, writeKey: k1, destinations: [crm, held, off, lake] }
destinations:
  - { id: crm, type: webhook, endpoints: [{ url: "https://a.example.com/" }] }
  - { id: held, type: webhook, paused: true, endpoints: [{ url: "https://a.example.com/" }] }
  - { id: off, type: webhook, enabled: false, endpoints: [{ url: "https://a.example.com/" }] }
  - { id: lake, type: topic, name: Lake }
delivery: { retryDelays: [10s] }
`);
const topics = topicNames("sw.");
const NOW = "2026-03-01T09:00:00.000Z";
const LATER = "2030-03-01T09:00:00.000Z";

const PAUSE = {
  ...{ destination: "crm" as DestinationId, sinceMs: Date.parse(NOW) },
  ...{ by: "command", untilMs: null },
};

let cluster: MemoryCluster;
let finish: <Value>(promise: Promise<Value>) => Promise<Value>;
let runner: ActionRunner;

beforeEach(() => {
  // Actions apply to the past, by the system's clock.
  const clock = new ManualClock(Date.parse(NOW));
  finish = clockDriver(clock, { turns: 2 }).during;
  cluster = new MemoryCluster({ clock, random: createPrng(7) });
  const own = ["crm", "held"].flatMap((id) => [`sw.deliveries.${id}`, `sw.retries.${id}`]);
  const inner = [topics.operatorActions, topics.audiences, topics.audienceSyncs, topics.calls];
  for (const name of [...own, ...inner, "sw.delays.10s"]) cluster.createTopic(name, 1);
  const kafka = cluster.connect();
  const current = () => ({ config: CONFIG });
  runner = createActionRunner({ current, useKafka: (work) => work(kafka) });
});

async function act(action: Action) {
  const said: string[] = [];
  const work = runner.begin(action);
  const progressOutput = {
    follow: () => undefined,
    report: (sentence: string) => void said.push(sentence),
  };
  const outcome = await finish(work(progressOutput, new AbortController().signal));
  return { ...outcome, said: said.join(" ") };
}

function operations(): readonly (OperatorAction | { readonly kind: "refused" })[] {
  return cluster.records(topics.operatorActions).map((record) => readOperatorAction(record));
}

/** Adds a delivery that waits in the queue. */
function waits(given: Partial<Delivery> = {}): void {
  const headers = deliveryHeaders({ ...deliveryOf(given), attempt: 0 });
  const value = Buffer.from('{"type":"track"}');
  cluster.append({ topic: "sw.deliveries.crm", partition: 0, key: null, value, headers });
}

test.each<[string, Action, RegExp]>([
  [
    "of no destination",
    { action: "retry", destination: "gone" },
    /no destination has the ID "gone"\. Configured: crm/,
  ],
  [
    "of a topic",
    { action: "pause", destination: "lake", pauseForMs: null },
    /a topic destination: its consumers are outside/,
  ],
  ["of no id", { action: "resume", destination: "No Id" }, /not the ID of a destination/],
  ["to one that is disabled", replayTo("off"), /The destination off is disabled/],
  [
    "of too many events",
    { ...replayTo("crm"), events: ["x".repeat(4_000)] } as Action,
    /more events than/,
  ],
])("an action %s is rejected before anything is done", (_, action, why) => {
  expect(() => runner.begin(action)).toThrow(why);
  expect(operations()).toEqual([]);
});

function replayTo(destination: string): Action {
  const range = { since: NOW, until: LATER };
  const asked = { types: [], events: [], perSecond: null, dryRun: true };
  return { action: "replay", destination, ...range, ...asked };
}

test("a pause is written with its author and its end, and says who waits", async () => {
  waits();
  const { said, isDone } = await act({ action: "pause", destination: "crm", pauseForMs: 900_000 });
  expect([isDone, said]).toEqual([
    true,
    expect.stringMatching(/^Paused: crm until .* 1 delivery is queued\./),
  ]);
  const [written] = operations();
  if (written?.kind !== "pause") throw new Error("no pause was written");
  const { destination, by, sinceMs, untilMs } = written.pause;
  expect([destination, by, (untilMs ?? 0) - sinceMs]).toEqual(["crm", "console", 900_000]);
});

test("a second pause without an end keeps the end of the first one, and says so", async () => {
  await act({ action: "pause", destination: "crm", pauseForMs: 7_200_000 });
  const again = await act({ action: "pause", destination: "crm", pauseForMs: null });
  expect(again.said).toMatch(/^Already paused: crm until .* It has been paused by console since/);
  expect(operations()).toHaveLength(1);
  const shorter = await act({ action: "pause", destination: "crm", pauseForMs: 60_000 });
  expect(shorter.said).toMatch(
    /^Paused: crm until .* Previously, it was paused by console until .*/,
  );
  const [first, last] = operations();
  if (first?.kind !== "pause" || last?.kind !== "pause") throw new Error("no pause was written");
  expect(last.pause.sinceMs).toBe(first.pause.sinceMs);
  expect(last.pause.untilMs).toBeLessThan(first.pause.untilMs ?? 0);
});

test("a resume says why nothing is posted all the same, and whether there was anything to resume", async () => {
  const pause = (destination: string) => act({ action: "pause", destination, pauseForMs: null });
  const resume = async (destination: string) => (await act({ action: "resume", destination })).said;
  const none =
    "An operator has not paused it, and no endpoint is gone, so there is nothing to resume.";
  const file = "held is still paused: the configuration has `paused: true`.";
  expect(await resume("crm")).toBe(`Not paused: crm. ${none}`);
  expect(await resume("held")).toBe(`Not paused: held. ${none} ${file}`);
  await expect(resume("crn")).rejects.toThrow(
    /^no destination has the ID "crn"\. Configured: crm, .*\. Did you mean crm\?$/,
  );
  expect(operations()).toEqual([]);
  await pause("crm");
  expect(await resume("crm")).toBe("Resumed: crm.");
  await pause("held");
  expect(await resume("held")).toBe(`Resumed: held. ${file}`);
  expect(operations().map(({ kind }) => kind)).toEqual(["pause", "resume", "pause", "resume"]);
});

test("a resume says which endpoints get requests again", async () => {
  const destination = "crm" as DestinationId;
  const endpoint = endpointKey("https://a.example.com/");
  const gone = (key: EndpointKey) => {
    const of = { destination, endpoint: key, id: "1", atMs: Date.parse(NOW) };
    cluster.append(goneRecord(topics.operatorActions, of));
  };
  gone(endpoint);
  gone(endpointKey("https://removed.example.com/"));
  const resume = async () => (await act({ action: "resume", destination })).said;
  expect(await resume()).toBe(
    "Resumed: crm. These endpoints had responded 410, and get requests again: crm[1] a.example.com.",
  );
  expect(operations().map(({ kind }) => kind)).toEqual([
    ...["gone", "gone", "resume", "forget-gone", "forget-gone"],
  ]);
  expect(await resume()).toMatch(/^Not paused: crm\./);
});

test("if the operator actions cannot be read, a resume removes what there may be", async () => {
  const kafka = cluster.connect();
  vi.spyOn(kafka, "read").mockImplementation(() => {
    throw new Error("unreadable");
  });
  const current = () => ({ config: CONFIG });
  runner = createActionRunner({ current, useKafka: (work) => work(kafka) });
  cluster.append(pauseRecord(topics.operatorActions, PAUSE));
  expect((await act({ action: "resume", destination: "crm" })).said).toBe("Resumed: crm.");
  expect(operations().map(({ kind }) => kind)).toEqual(["pause", "resume", "forget-gone"]);
});

test("a retry or a cancel of nothing says so", async () => {
  expect((await act({ action: "retry", destination: "crm" })).said).toBe(
    "No deliveries await retry.",
  );
  const cancel = { action: "cancel", destination: "crm", dryRun: false } as const;
  const before = new Date().toISOString();
  expect((await act({ ...cancel, before })).said).toBe("Nothing was queued or awaiting retry.");
});

test("nothing is returned of a destination that is paused", async () => {
  await expect(act({ action: "retry", destination: "held" })).rejects.toThrow(
    "Cannot retry deliveries for held: the destination is paused by the configuration.",
  );
  expect(operations()).toEqual([]);
  const { said } = await act({ action: "retry", destination: "crm" });
  expect(said).toBe("No deliveries await retry.");
  expect(operations()).toMatchObject([
    { kind: "release", earlyRelease: { kind: "retry", by: "console" } },
  ]);
});

test("a cancel is counted and changes nothing, then done for the same calls", async () => {
  const before = "2026-02-01T00:00:00.000Z";
  waits({ receivedAtMs: Date.parse(before) - 1 });
  waits({ receivedAtMs: Date.parse(before) + 1 });
  const cancel: Action = { action: "cancel", destination: "crm", before, dryRun: true };
  expect(await act(cancel)).toMatchObject({ count: 1, said: "1 delivery would be cancelled." });
  expect(operations()).toEqual([]);
  const done = await act({ ...cancel, dryRun: false });
  expect(done).toMatchObject({ count: null, isDone: true });
  expect(done.said).toBe("Cancelled: 1 delivery. They become dead letters.");
  expect(operations()).toMatchObject([
    { earlyRelease: { kind: "cancel", by: "console", receivedBeforeMs: Date.parse(before) } },
  ]);
});

test("a replay speaks of times as the dialog does, and of no option", async () => {
  const value = Buffer.from('{"type":"track","event":"E","userId":"u","writeKey":"k1"}');
  cluster.append({ topic: topics.calls, partition: 0, key: null, value, headers: [] });
  const range = { since: "2026-03-01T08:00:00.000Z", until: NOW };
  const { said, count } = await act({ ...replayTo("crm"), ...range } as Action);
  expect(said).toBe("1 filtered: received before the range, or after it.");
  expect(count).toBe(0);
});

test("one call is sent again: counted, then written to the queue of one destination", async () => {
  for (const messageId of ["m-1", "m-2", "m-3"]) {
    const call = { type: "track", userId: "u", event: "e", messageId };
    const value = Buffer.from(JSON.stringify(call));
    cluster.append({
      ...{ topic: topics.calls, partition: 0, key: null, value },
      headers: [["source-id", Buffer.from("web")]],
    });
  }
  const action = { action: "send-again", destination: "crm", partition: 0, offset: 1 } as const;
  const counted = await act({ ...action, dryRun: true });
  expect(counted).toMatchObject({ isDone: true, count: 1 });
  expect(cluster.records("sw.deliveries.crm")).toEqual([]);
  expect(await act({ ...action, dryRun: false })).toMatchObject({ isDone: true, unfinished: null });
  const written = cluster.records("sw.deliveries.crm").map(({ value }) => `${value}`);
  expect(written).toEqual([expect.stringContaining('"m-2"')]);
  await expect(act({ ...action, offset: 3, dryRun: true })).rejects.toThrow(/no longer exists/);
  await expect(act({ ...action, partition: 9, dryRun: true })).rejects.toThrow(/no longer exists/);
  const disabled: Action = { ...action, destination: "off", dryRun: false };
  expect(() => runner.begin(disabled)).toThrow(/The destination off is disabled/);
});

test("nothing left is drained at once", async () => {
  expect(await act({ action: "wait", destination: "crm" })).toMatchObject({
    isDone: true,
    said: "Nothing is left.",
  });
});

test("a sync that awaits approval is approved, and no other", async () => {
  const vip = { id: "vip", name: "VIP", key: "vip", partition: 0, first: 0, claim: null };
  const awaitingApproval = { syncId: "s-2", removals: 9, sinceMs: 0 };
  const claim = { ...vip, members: 20, openSyncId: null, last: null, awaitingApproval };
  const value = Buffer.from(JSON.stringify(claim));
  cluster.append({ topic: topics.audiences, key: Buffer.from("vip"), value, headers: [] });
  const approve = (syncId: string) => act({ action: "approve", audience: "vip", syncId });
  await expect(approve("s-1")).rejects.toThrow("This sync no longer awaits approval.");
  expect(cluster.records(topics.audienceSyncs)).toEqual([]);
  expect((await approve("s-2")).said).toBe("Approved: 9 users will be removed.");
  const [written] = cluster.records(topics.audienceSyncs);
  expect(JSON.parse(`${written?.value}`)).toEqual({
    type: "approve",
    audienceId: "vip",
    syncId: "s-2",
  });
});
