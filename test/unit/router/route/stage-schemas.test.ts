// The stage with a schema registry: values with and without schemas, and outages of the registry.

import { afterEach, expect, test } from "vitest";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import type { SchemaRef } from "../../../../src/domain/known-schemas.ts";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { compileSchema } from "../../../../src/registry/compile.ts";
import type { Lookup } from "../../../../src/registry/port.ts";
import { createSchemas } from "../../../../src/registry/schemas.ts";
import { parseContent } from "../../../../src/router/stage/content.ts";
import { encoded, framed, varint } from "../../../support/build/avro.ts";
import { headerTexts } from "../../../support/build/calls.ts";
import { LogLines } from "../../../support/log/log-lines.ts";
import { MemorySchemas, UNKNOWN } from "../../../support/worlds/memory-schemas.ts";
import { RouteWorld, trackCall } from "../../../support/worlds/route-world.ts";

const CALL = {
  type: "record",
  name: "Call",
  fields: [
    { name: "type", type: "string" },
    { name: "user_id", type: "string" },
    { name: "event", type: "string" },
    { name: "message_id", type: "string" },
    { name: "properties", type: { type: "map", values: ["null", "long", "string"] } },
  ],
};
const avroCall = (number: number, properties: object = {}) =>
  encoded(CALL, {
    ...{ type: "track", user_id: `u${number % 7}`, event: "e", message_id: `m${number}` },
    properties,
  });
const jsonOf = (record: IncomingRecord | undefined) => JSON.parse(`${record?.value}`) as unknown;
const idsOf = (records: readonly IncomingRecord[]) =>
  records.map((record) => headerTexts(record)["switchyard-message-id"]);

let world = new RouteWorld();
afterEach(() => world.kill());

test("values with and without a schema become the same copies", async () => {
  world = new RouteWorld();
  const schemas = new MemorySchemas();
  schemas.learnAvro(7, CALL);
  schemas.learn(9, UNKNOWN);
  const route = await world.start(["d0"], schemas);
  world.append(trackCall(0, { properties: { n: 1 } }));
  world.append(framed(7, avroCall(1, { n: { long: 1 }, s: { string: "x" } })));
  world.append(avroCall(2), 0, [
    ["__value_schema_id", Buffer.of(0, 0, 0, 0, 7)],
    ["trace", Buffer.from("t")],
  ]);
  world.append(framed(9, avroCall(3)));
  world.append(framed(7, Buffer.concat([avroCall(4), Buffer.of(1)])));
  world.append('{"type":"track" , "userId":"u5","event":"e","messageId":"m5"}');
  await world.until(() => world.deadLetters().length === 2 && world.deliveries("d0").length === 4);
  await route.close();

  const copies = new Map(
    world.deliveries("d0").map((each) => [headerTexts(each)["switchyard-message-id"], each]),
  );
  expect(jsonOf(copies.get("m0"))).toEqual(trackCall(0, { properties: { n: 1 } }));
  expect(jsonOf(copies.get("m1"))).toEqual(trackCall(1, { properties: { n: 1, s: "x" } }));
  expect(jsonOf(copies.get("m2"))).toEqual(trackCall(2, { properties: {} }));
  // JSON without a schema is passed on byte for byte.
  expect(`${copies.get("m5")?.value}`).toContain('"track" , "userId"');
  const names = copies.get("m2")?.headers.map(([name]) => name);
  expect(names).toContain("trace");
  expect(names).not.toContain("__value_schema_id");

  const [unknown, cut] = world.deadLetters();
  expect(unknown?.value).toEqual(framed(9, avroCall(3)));
  expect(headerTexts(unknown as IncomingRecord)).toMatchObject({
    "switchyard-reason": "unknown-schema",
    "switchyard-error": UNKNOWN.kind === "refused" ? UNKNOWN.error : "",
  });
  expect(cut?.value?.at(-1)).toBe(1);
  expect(headerTexts(cut as IncomingRecord)).toMatchObject({
    "switchyard-reason": "undecodable",
    "switchyard-error": "the value has 1 more byte than its schema describes (schema 7)",
  });
});

test("ids that are Avro longs keep their digits, in the key, the headers and the webhook", async () => {
  world = new RouteWorld();
  const schemas = new MemorySchemas();
  const ids = ["user_id", "message_id", "group_id"].map((name) => ({ name, type: "long" }));
  schemas.learnAvro(7, {
    type: "record",
    name: "G",
    fields: [{ name: "type", type: "string" }, ...ids],
  });
  const route = await world.start(["d0"], schemas);
  const digits = [157963456373623802n, -9223372036854775808n, 9223372036854775807n];
  const type = Buffer.concat([varint(5n), Buffer.from("group")]);
  world.append(framed(7, Buffer.concat([type, ...digits.map(varint)])));
  await world.until(() => world.deliveries("d0").length === 1);
  await route.close();
  const [copy] = world.deliveries("d0");
  expect(`${copy?.key}`).toBe("157963456373623802");
  expect(idsOf(world.deliveries("d0"))).toEqual(["-9223372036854775808"]);
  expect(parseContent(copy as IncomingRecord)).toMatchObject({
    content: { userId: "157963456373623802", groupId: "9223372036854775807" },
  });
});

test("a dead letter keeps the header that names the schema, so that it can be replayed", async () => {
  world = new RouteWorld();
  const schemas = new MemorySchemas();
  schemas.learn(9, UNKNOWN);
  const route = await world.start(["d0"], schemas);
  const header = ["__value_schema_id", Buffer.of(0, 0, 0, 0, 9)] as const;
  world.append(avroCall(3), 0, [header]);
  await world.until(() => world.deadLetters().length === 1);
  await route.close();
  const [deadLetter] = world.deadLetters();
  expect(deadLetter?.value).toEqual(avroCall(3));
  expect(deadLetter?.headers).toContainEqual(header);
});

test("while the registry is unreachable a partition that needs it waits, and the others continue", async () => {
  world = new RouteWorld(3);
  const schemas = new MemorySchemas();
  const route = await world.start(["d0"], schemas);
  // This is more than a partition may have in flight.
  for (let number = 0; number < 6_000; number += 1) world.append(framed(7, avroCall(number)), 0);
  for (let number = 6_000; number < 12_000; number += 1) world.append(trackCall(number), 1);
  await world.until(() => world.deliveries("d0").length === 6_000);
  for (let number = 12_000; number < 18_000; number += 1) world.append(trackCall(number), 2);
  await world.until(() => world.deliveries("d0").length === 12_000);
  expect(schemas.waiting).toBe(1);
  expect(await world.committed()).toBeLessThanOrEqual(12_000);
  schemas.learnAvro(7, CALL);
  await world.until(() => world.deliveries("d0").length === 18_000);
  await route.close();
  expect(await world.committed()).toBe(18_000);
  expect(world.deadLetters()).toEqual([]);
  expect(route.failures).toEqual([]);
});

test("a stop while the registry is unreachable ends at once, and loses and repeats nothing", async () => {
  world = new RouteWorld();
  const unavailable = new MemorySchemas();
  const first = await world.start(["d0"], unavailable);
  world.append(trackCall(0));
  world.append(framed(7, avroCall(1)));
  world.append(trackCall(2));
  await world.until(() => unavailable.waiting === 1 && world.deliveries("d0").length === 1);
  await first.close();
  expect(await world.committed()).toBe(1);
  expect(unavailable.waiting).toBe(0);

  const there = new MemorySchemas();
  there.learnAvro(7, CALL);
  const second = await world.start(["d0"], there);
  await world.until(() => world.deliveries("d0").length === 3);
  await second.close();
  expect(idsOf(world.deliveries("d0")).toSorted()).toEqual(["m0", "m1", "m2"]);
  expect([...first.failures, ...second.failures]).toEqual([]);
});

test("much JSON of few bytes is written in parts, as is memory for it", async () => {
  const filler = Array.from({ length: 500 }, (_, at) => ({
    name: `a_field_with_a_long_name_that_is_null_${at}`,
    type: "null",
  }));
  const wide = {
    ...CALL,
    fields: [
      ...CALL.fields.slice(0, 4),
      { name: "properties", type: { type: "record", name: "Wide", fields: filler } },
    ],
  };
  world = new RouteWorld();
  const schemas = new MemorySchemas();
  schemas.learnAvro(7, wide);
  for (let number = 0; number < 900; number += 1) {
    const value = avroCall(number);
    world.append(framed(7, value.subarray(0, value.length - varint(0n).length)));
  }
  const route = await world.start(["d0"], schemas);
  await world.until(() => world.deliveries("d0").length === 900);
  await route.close();
  const sizes = world.deliveries("d0").map(({ value }) => value?.length ?? 0);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeGreaterThan(16_000_000);
  // Each send has at most 4 MiB, and one record more.
  expect(route.counts.sends).toBeGreaterThanOrEqual(Math.floor(bytes / 4_300_000));
  expect(route.counts.takes).toBeLessThanOrEqual(2);
});

/** Lookups that take 10 ms on the clock of the world. All IDs have the same result, except for ID 7. */
function slowRegistry(others: Lookup) {
  const { clock } = world;
  const counts = { lookups: 0, atOnce: 0, inProgress: 0 };
  const lookup = async (ref: SchemaRef, signal: AbortSignal): Promise<Lookup> => {
    counts.lookups += 1;
    counts.inProgress += 1;
    counts.atOnce = Math.max(counts.atOnce, counts.inProgress);
    await clock.sleep(10, signal);
    counts.inProgress -= 1;
    const schema = { type: "AVRO", text: JSON.stringify(CALL), references: [] };
    return ref === 7 ? { kind: "found", schema } : others;
  };
  const source = { lookup, [Symbol.asyncDispose]: () => Promise.resolve() };
  const { log, metrics } = { log: new LogLines().log, metrics: createMetrics() };
  const schemas = createSchemas({
    source,
    compile: compileSchema,
    clock,
    random: () => 0,
    log,
    metrics,
  });
  return { schemas, counts };
}

test.each<[Lookup["kind"], number]>([
  ["unknown", 4_000],
  ["unavailable", 38_000],
])(
  "2,000 schemas that are %s hold up a call behind them for at most %i ms",
  async (kind, limitMs) => {
    world = new RouteWorld();
    const { schemas, counts } = slowRegistry({ kind, error: "no" } as Lookup);
    for (let id = 1_001; id <= 3_000; id += 1) world.append(framed(id, avroCall(id)));
    world.append(framed(7, avroCall(0)));
    const startedAtMs = world.clock.nowMs();
    const route = await world.start(["d0"], schemas);
    await world.until(() => world.deliveries("d0").length === 1);
    expect(world.clock.nowMs() - startedAtMs).toBeLessThan(limitMs);
    await world.until(() => world.deadLetters().length === 2_000);
    await route.close();
    expect(counts.atOnce).toBe(8);
    const [first] = world.deadLetters();
    expect(headerTexts(first as IncomingRecord)["switchyard-reason"]).toBe("unknown-schema");
    expect(first?.value).toEqual(framed(1_001, avroCall(1_001)));
    expect(await world.committed()).toBe(2_001);
    expect(route.failures).toEqual([]);
  },
);
