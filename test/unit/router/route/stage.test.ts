// The stage on a Kafka in memory: the written records, the commits, and failures.

import { afterEach, expect, test } from "vitest";
import type { Metrics } from "../../../../src/base/telemetry/instruments.ts";
import type { DestinationId, SourceId } from "../../../../src/domain/ids.ts";
import type { IncomingRecord, OutgoingRecord } from "../../../../src/domain/record.ts";
import { aSource, aTopicDestination, headerTexts } from "../../../support/build/calls.ts";
import { listsOf } from "../../../support/build/lists.ts";
import { rulesOf } from "../../../support/build/ruled-call.ts";
import {
  trackCall as call,
  DESTINATIONS,
  RouteWorld,
} from "../../../support/worlds/route-world.ts";
import { topics } from "../../../support/worlds/stage-world.ts";

const messageIds = (records: readonly IncomingRecord[]) =>
  records.map((record) => headerTexts(record)["switchyard-message-id"]);
const numbered = (count: number) => Array.from({ length: count }, (_, number) => `m${number}`);

let world = new RouteWorld();
afterEach(() => world.kill());

const sample = async ({ metrics }: { readonly metrics: Metrics }, start: string) =>
  (await metrics.text()).split("\n").find((line) => line.startsWith(start));

test("calls become copies, what is none becomes a dead letter, and the partition moves on", async () => {
  world = new RouteWorld();
  const route = await world.start(["d0", "d1", "d2"]);
  world.append(call(0));
  world.append("no call");
  world.append(call(1, { integrations: { All: false, d1: true } }));
  world.append(call(2, { integrations: { All: false } }));
  world.append(call(3, { writeKey: "unknown" }));
  world.append(call(4));
  await world.during(route.stage.joined);
  await world.until(() => world.deliveries("d0").length === 2);
  await route.close();

  expect(messageIds(world.deliveries("d0"))).toEqual(["m0", "m4"]);
  expect(messageIds(world.deliveries("d1"))).toEqual(expect.arrayContaining(["m0", "m1", "m4"]));
  expect(world.deliveries("d3")).toEqual([]);
  const deadLetters = world.deadLetters().map((record) => headerTexts(record));
  expect(deadLetters).toMatchObject([
    { "switchyard-reason": "undecodable", "switchyard-stage": "route", "switchyard-offset": "1" },
    { "switchyard-reason": "unknown-source", "switchyard-offset": "4" },
  ]);
  expect(world.deadLetters()[0]?.value?.toString()).toBe("no call");
  expect(await world.committed()).toBe(6);

  expect(await sample(route, "switchyard_records_in_total")).toMatch(/ 6$/);
  expect(await sample(route, "switchyard_records_out_total")).toMatch(/ 9$/);
  expect(await sample(route, 'switchyard_route_deliveries_total{destination="d1"}')).toMatch(/ 3$/);
  expect(
    await sample(route, 'switchyard_route_calls_without_destination_total{source="web"}'),
  ).toMatch(/ 1$/);
  expect(
    await sample(
      route,
      'switchyard_dead_letters_total{stage="route",reason="undecodable",destination=""}',
    ),
  ).toMatch(/ 1$/);
  // Calls are counted, not records: two of the records are not calls.
  const skipped = "switchyard_route_calls_skipped_total";
  expect(await sample(route, `${skipped}{destination="d3",reason="not-connected"}`)).toMatch(/ 4$/);
  expect(await sample(route, `${skipped}{destination="d1",reason="all-false"}`)).toMatch(/ 1$/);
  expect(route.lines).toMatchObject([
    { level: "warn", msg: "record.dead-lettered", reason: "undecodable", offset: 1 },
    { level: "warn", msg: "record.dead-lettered", reason: "unknown-source", offset: 4 },
  ]);
  expect(route.failures).toEqual([]);
});

test("times that cannot be read are counted by source, and one line per second names a call", async () => {
  world = new RouteWorld();
  const route = await world.start(["d0"]);
  world.append(call(0, { timestamp: "yesterday" }));
  world.append(call(1, { timestamp: 1_772_357_415 }));
  world.append(call(2, { originalTimestamp: 5 }));
  await world.until(() => world.deliveries("d0").length === 3);
  await route.close();
  const counted = 'switchyard_route_calls_with_unread_time_total{source="web"}';
  expect(await sample(route, counted)).toMatch(/ 2$/);
  expect(route.lines).toMatchObject([
    {
      ...{ level: "warn", msg: "call.time-unread", source: "web", offset: 0 },
      error: "timestamp cannot be read as a time",
    },
  ]);
});

test("a batch of input is one send, however many destinations there are", async () => {
  world = new RouteWorld();
  world.appendCalls(2_500);
  world.append("no call");
  const route = await world.start(DESTINATIONS);
  await world.until(() => world.deadLetters().length === 1);
  await route.close();
  for (const id of DESTINATIONS) expect(world.deliveries(id)).toHaveLength(2_500);
  expect(route.counts.takes).toBeGreaterThanOrEqual(3);
  expect(route.counts.sends).toBeLessThanOrEqual(route.counts.takes);
});

test("calls of one key stay in order, over many batches", async () => {
  world = new RouteWorld();
  const route = await world.start(["d0"]);
  for (let from = 0; from < 3_000; from += 300) {
    world.appendCalls(300, from);
    await world.clock.advance(2);
  }
  await world.until(() => world.deliveries("d0").length === 3_000);
  await route.close();
  for (let user = 0; user < 7; user += 1) {
    const own = world.deliveries("d0").filter(({ key }) => key?.toString() === `u${user}`);
    const expected = numbered(3_000).filter((_, number) => number % 7 === user);
    expect(messageIds(own)).toEqual(expected);
  }
});

test("a graceful stop in the middle repeats nothing and loses nothing", async () => {
  world = new RouteWorld();
  world.appendCalls(6_000);
  const first = await world.start(["d0", "d1"]);
  await world.until(() => world.deliveries("d0").length > 0);
  await first.close();
  const before = world.deliveries("d0").length;
  expect(before).toBeLessThan(6_000);
  expect(await world.committed()).toBe(before);

  const second = await world.start(["d0", "d1"]);
  await world.until(() => world.deliveries("d0").length >= 6_000);
  await second.close();
  for (const id of ["d0", "d1"]) {
    expect(messageIds(world.deliveries(id)).toSorted()).toEqual(numbered(6_000).toSorted());
  }
});

test("a process that dies loses nothing", async () => {
  world = new RouteWorld();
  world.appendCalls(6_000);
  const first = await world.start(["d0", "d1"]);
  await world.until(() => world.deliveries("d0").length > 0);
  first.kafka.kill();
  const second = await world.start(["d0", "d1"]);
  await world.until(() => new Set(messageIds(world.deliveries("d1"))).size === 6_000);
  await second.close();
  expect(new Set(messageIds(world.deliveries("d0"))).size).toBe(6_000);
  expect(await world.committed()).toBe(6_000);
});

test("acknowledgements that are lost lose nothing", async () => {
  world = new RouteWorld();
  world.cluster.loseAcknowledgements(0.5);
  world.appendCalls(2_000);
  const route = await world.start(["d0"]);
  await world.until(() => new Set(messageIds(world.deliveries("d0"))).size === 2_000);
  world.cluster.loseAcknowledgements(0);
  await route.close();
  expect(await world.committed()).toBe(2_000);
});

test("a copy the brokers reject is a dead letter, and the other destinations get theirs", async () => {
  world = new RouteWorld(1, (topic) => (topic === "sw.deliveries.d1" ? 400 : 1_048_576));
  const route = await world.start(["d0", "d1"]);
  world.append(call(0, { properties: { text: "x".repeat(500) } }));
  world.append(call(1));
  await world.until(() => world.deliveries("d1").length === 1);
  await route.close();
  expect(messageIds(world.deliveries("d0"))).toEqual(["m0", "m1"]);
  expect(messageIds(world.deliveries("d1"))).toEqual(["m1"]);
  const [deadLetter, ...others] = world.deadLetters();
  expect(others).toEqual([]);
  expect(headerTexts(deadLetter ?? { headers: [] })).toMatchObject({
    "switchyard-reason": "too-large",
    "switchyard-error": expect.stringContaining("too large for sw.deliveries.d1: "),
  });
  expect(await world.committed()).toBe(2);
  expect(await sample(route, 'switchyard_route_deliveries_total{destination="d1"}')).toMatch(/ 1$/);
});

test.each([
  ["a dead letter the brokers refuse", [topics.deadLetters], "x".repeat(1_000), "undecodable"],
  [
    "the dead letter of a call whose copy they refuse, too,",
    [topics.deadLetters, topics.deliveries("d0" as DestinationId)],
    call(0, { properties: { text: "x".repeat(1_000) } }),
    "too-large",
  ],
])("%s is written without its value", async (_name, small, value, reason) => {
  world = new RouteWorld(1, (topic) => (small.includes(topic) ? 600 : 1_048_576));
  const route = await world.start(["d0"]);
  world.append(value);
  world.append(call(1));
  await world.until(() => world.deliveries("d0").length === 1);
  await route.close();
  const [deadLetter, ...others] = world.deadLetters();
  expect(others).toEqual([]);
  expect(deadLetter).toMatchObject({ value: null });
  expect(headerTexts(deadLetter ?? { headers: [] })).toMatchObject({
    "switchyard-reason": reason,
    "switchyard-topic": topics.calls,
    "switchyard-offset": "0",
  });
  expect(await world.committed()).toBe(2);
});

test("a dead-letter topic that takes nothing at all ends the stage: nothing is lost silently", async () => {
  world = new RouteWorld(1, (topic) => (topic === topics.deadLetters ? 10 : 1_048_576));
  const route = await world.start(["d0"]);
  world.append("no call");
  world.append("no call either");
  await world.until(() => route.failures.length > 0);
  await route.close();
  expect(route.failures).toHaveLength(1);
  expect(route.failures[0]?.message).toContain("Raise the topic's max.message.bytes");
  expect(await world.committed()).toBe(0);
});

test("a flood of bad records is counted whole and logged in part", async () => {
  world = new RouteWorld();
  for (let number = 0; number < 3_000; number += 1) world.append(`bad ${number}`);
  const route = await world.start(["d0"]);
  await world.until(() => world.deadLetters().length === 3_000);
  await route.close();
  const reason = 'switchyard_records_rejected_total{stage="route",reason="undecodable"}';
  expect(await sample(route, reason)).toMatch(/ 3000$/);
  expect(route.lines.length).toBeGreaterThan(0);
  expect(route.lines.length).toBeLessThanOrEqual(30);
});

test("a consumer that fails for good ends the stage, once", async () => {
  world = new RouteWorld();
  const route = await world.start(["d0"]);
  await world.during(route.stage.joined);
  await world.during(world.cluster.connect().admin.deleteTopics([topics.calls]));
  await world.until(() => route.failures.length > 0);
  expect(route.failures[0]?.message).toContain("does not exist");
  await route.close();
  expect(route.failures).toHaveLength(1);
});

test("an outage of the brokers is reported as a problem, and passes", async () => {
  world = new RouteWorld();
  const route = await world.start(["d0"]);
  await world.during(route.stage.joined);
  expect(route.stage.healthProblems()).toEqual([]);
  world.appendCalls(10);
  await world.until(() => route.counts.sends === 1);
  world.cluster.goDown();
  await world.clock.advance(7_000);
  expect(route.stage.healthProblems()).toEqual([
    "the brokers have not acknowledged a write for 7 s",
  ]);
  world.cluster.comeUp();
  await world.until(() => world.deliveries("d0").length >= 10);
  await world.until(() => route.stage.healthProblems().length === 0);
  await route.close();
  expect(await world.committed()).toBe(10);
});

test("a producer that is closed too early is no failure: the records are read again", async () => {
  world = new RouteWorld();
  const route = await world.start(["d0"]);
  await world.during(route.stage.joined);
  await route.producer.close(0);
  world.appendCalls(10);
  await world.until(() => route.counts.sends > 0);
  await route.close();
  expect(route.failures).toEqual([]);
  expect(await world.committed()).toBe(0);
});

test("headers of a record to write are what the next reader finds", async () => {
  world = new RouteWorld();
  const route = await world.start(["d0"]);
  const record: OutgoingRecord = {
    topic: topics.calls,
    key: Buffer.from("other"),
    value: Buffer.from(JSON.stringify(call(0))),
    headers: [
      ["trace", Buffer.from("t1")],
      ["switchyard-destination", Buffer.from("forged")],
    ],
  };
  world.cluster.append(record);
  await world.until(() => world.deliveries("d0").length === 1);
  await route.close();
  const [copy] = world.deliveries("d0");
  expect(copy?.key?.toString()).toBe("u0");
  expect(headerTexts(copy ?? { headers: [] })).toMatchObject({
    trace: "t1",
    "switchyard-destination": "d0",
    "switchyard-source": "web",
  });
});

test("while the lists are swapped each call goes by one of them, none is lost and none twice", async () => {
  world = new RouteWorld();
  const [even, odd] = [
    ["d0", "d1", "d2"],
    ["d3", "d4"],
  ];
  const route = await world.start(even);
  await world.during(route.stage.joined);
  const count = 2_000;
  let swaps = 0;
  for (let from = 0; from < count; from += 100) {
    world.appendCalls(100, from);
    await world.until(() => world.deliveries("d0").length + world.deliveries("d3").length > from);
    swaps += 1;
    route.stage.update?.(listsFrom(swaps % 2 === 0 ? even : odd));
  }
  await world.until(() => world.deliveries("d0").length + world.deliveries("d3").length === count);
  await route.close();
  const of = (id: string) => messageIds(world.deliveries(id)).toSorted();
  expect(of("d1")).toEqual(of("d0"));
  expect(of("d2")).toEqual(of("d0"));
  expect(of("d4")).toEqual(of("d3"));
  expect([...of("d0"), ...of("d3")].toSorted()).toEqual(numbered(count).toSorted());
  // Both had a turn.
  expect(Math.min(of("d0").length, of("d3").length)).toBeGreaterThan(100);
  expect(await world.committed()).toBe(count);
});

test("a new write key and another name count from the next batch", async () => {
  world = new RouteWorld();
  const route = await world.start(["d0"]);
  await world.during(route.stage.joined);
  const named = { ...aTopicDestination("d0"), name: "Other" };
  route.stage.update?.(
    listsOf({
      sources: [aSource("ios", ["d0"], { writeKeys: ["new-key"] })],
      destinations: [named],
    }),
  );
  world.append(call(0, { writeKey: "new-key", integrations: { All: false, Other: true } }));
  world.append(call(1));
  await world.until(() => world.deliveries("d0").length + world.deadLetters().length === 2);
  await route.close();
  expect(world.deliveries("d0").map((record) => headerTexts(record))).toMatchObject([
    { "switchyard-source": "ios", "switchyard-message-id": "m0" },
  ]);
  expect(world.deadLetters().map((record) => headerTexts(record))).toMatchObject([
    { "switchyard-reason": "unknown-source" },
  ]);
});

function listsFrom(connectedTo: readonly string[]) {
  const destinations = DESTINATIONS.map((id) => aTopicDestination(id));
  const sources = [aSource("web", connectedTo)];
  return listsOf({ sources, destinations, defaultSource: "web" as SourceId });
}

test("a rule that cannot be evaluated makes a dead letter without anything of the call, and nothing is sent", async () => {
  world = new RouteWorld();
  const route = await world.start(["d0", "d1"]);
  await world.during(route.stage.joined);
  const { map = [] } = rulesOf("map: [{ hash: odd }]");
  const ruled = aTopicDestination("d0", { map });
  route.stage.update?.({
    ...listsOf({ destinations: [ruled, aTopicDestination("d1")] }),
    ...{ sources: [aSource("web", ["d0", "d1"])], defaultSource: "web" as SourceId },
  });
  const deep = `${"[".repeat(200_000)}"canary"${"]".repeat(200_000)}`;
  const text = `{"type":"track","userId":"canary","event":"E","messageId":"m0","odd":${deep}}`;
  world.append(text, 0, [["x-canary", Buffer.from("canary")]]);
  world.append(call(1));
  await world.until(() => world.deliveries("d0").length === 1);
  await route.close();

  expect(messageIds(world.deliveries("d0"))).toEqual(["m1"]);
  expect(messageIds(world.deliveries("d1"))).toEqual(expect.arrayContaining(["m0", "m1"]));
  const [deadLetter] = world.deadLetters();
  expect(deadLetter).toMatchObject({ key: null, value: null });
  const headers = headerTexts(deadLetter as IncomingRecord);
  expect(headers).toMatchObject({
    ...{ "switchyard-reason": "rule-failed", "switchyard-destination": "d0" },
    ...{ "switchyard-source": "web", "switchyard-offset": "0" },
  });
  expect(JSON.stringify([headers, route.lines])).not.toContain("canary");
  expect(await world.committed()).toBe(2);
});

test("deliveries that rules create are bounded for all partitions together, and a stop forgets none", async () => {
  world = new RouteWorld(3);
  const filler = "x".repeat(100_000);
  for (let number = 0; number < 60; number += 1) {
    world.append(call(number, { properties: { filler } }), number % 3);
  }
  const route = await world.start(DESTINATIONS, undefined, (id) => ({
    map: [{ action: "set", path: "properties.for", value: id, sources: null, if: null }],
  }));
  await world.until(() => world.deliveries("d0").length === 60);
  await route.close();
  // All of them have 120 MB. One more call than fits is created: 2 MB.
  expect(route.counts.mostValueBytes).toBeGreaterThan(20_000_000);
  expect(route.counts.mostValueBytes).toBeLessThanOrEqual(32 * 1_024 * 1_024 + 2_100_000);
  expect(await world.committed()).toBe(60);
  const [{ value } = { value: null }] = world.deliveries("d7");
  expect(JSON.parse(`${value}`)).toMatchObject({ properties: { for: "d7" } });
});
