// The table in the header of schemas.ts, with a stopped clock and a scripted source.

import { afterEach, beforeEach, expect, test } from "vitest";
import { createMetrics } from "../../../src/base/telemetry/instruments.ts";
import type { KnownSchema, ReadValue, SchemaRef } from "../../../src/domain/known-schemas.ts";
import type { FoundSchema, Lookup } from "../../../src/registry/port.ts";
import {
  ConcurrencyLimit,
  createSchemas,
  type SchemasLimits,
} from "../../../src/registry/schemas.ts";
import { ManualClock } from "../../support/clock/manual-clock.ts";
import { LogLines } from "../../support/log/log-lines.ts";

const never = new AbortController().signal;
const OUTAGE: Lookup = { kind: "outage", error: "http://r:8081 refuses connections" };
const UNKNOWN: Lookup = { kind: "unknown", error: "not known" };

let clock = new ManualClock();
let lines = new LogLines();
let metrics = createMetrics();
/** The result of a lookup, by schema. */
let responses = new Map<SchemaRef, Lookup>();
let asked: SchemaRef[] = [];
/** Lookups that hang until they are released. */
let held: (() => void)[] = [];
let isHeld = false;
let isClosed = false;
let chance = 0;
let compiled: FoundSchema[] = [];

beforeEach(() => {
  clock = new ManualClock();
  lines = new LogLines();
  metrics = createMetrics();
  responses = new Map();
  [asked, held, compiled] = [[], [], []];
  [isHeld, isClosed, chance] = [false, false, 0];
});

afterEach(() => {
  isHeld = false;
});

function found(text: string): Lookup {
  return { kind: "found", schema: { type: "AVRO", text, references: [] } };
}

function json(text: string): ReadValue {
  return { kind: "json", bytes: Buffer.from(text) };
}

function readsAs(text: string): KnownSchema {
  return { kind: "schema", read: () => json(text) };
}

/** Returns the result of reading a value. */
function reading(known: KnownSchema | null): unknown {
  if (known === null) return null;
  return known.kind === "schema" ? known.read(Buffer.alloc(0)) : known.error;
}

function create(limits?: SchemasLimits) {
  const source = {
    lookup: async (ref: SchemaRef, signal: AbortSignal): Promise<Lookup> => {
      asked.push(ref);
      if (isHeld) {
        await new Promise<void>((resolve) => {
          held.push(resolve);
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
      }
      return responses.get(ref) ?? UNKNOWN;
    },
    [Symbol.asyncDispose]: () => {
      isClosed = true;
      return Promise.resolve();
    },
  };
  const compile = (schema: FoundSchema) => {
    compiled.push(schema);
    if (schema.text === "throws") throw new Error("boom");
    return readsAs(schema.text);
  };
  const { log } = lines;
  return createSchemas({ source, compile, clock, random: () => chance, log, metrics }, limits);
}

/** Returns the lines of these metrics that are not 0. */
async function counted(): Promise<readonly string[]> {
  const text = await metrics.text();
  return text.split("\n").filter((line) => /^switchyard_registry.* [^0]/.test(line));
}

test("found: kept, compiled once", async () => {
  responses.set(7, found("seven"));
  const schemas = create();
  expect(schemas.get(7)).toBeNull();
  await schemas.ready([7, 7], never);
  await schemas.ready([7], never);
  expect(reading(schemas.get(7))).toEqual(json("seven"));
  expect(asked).toEqual([7]);
  expect(compiled).toHaveLength(1);
  expect(await counted()).toEqual(["switchyard_registry_schemas 1"]);
});

test("unusable, and a schema that cannot be compiled: rejected, and not asked for again", async () => {
  responses.set(7, { kind: "unusable", error: "too large" });
  responses.set(8, found("throws"));
  const schemas = create();
  await schemas.ready([7, 8], never);
  await clock.advance(60_000);
  await schemas.ready([7, 8], never);
  expect(schemas.get(7)).toEqual({ kind: "refused", reason: "undecodable", error: "too large" });
  expect(schemas.get(8)).toMatchObject({ kind: "refused", reason: "undecodable" });
  expect(asked).toEqual([7, 8]);
});

test("unknown: refused for 10 s, then asked for again", async () => {
  const schemas = create();
  await schemas.ready([7], never);
  const refused = { kind: "refused", reason: "unknown-schema", error: "not known" };
  await clock.advance(9_999);
  expect(schemas.get(7)).toEqual(refused);
  await schemas.ready([7], never);
  expect(asked).toEqual([7]);
  await clock.advance(1);
  expect(schemas.get(7)).toBeNull();
  responses.set(7, found("seven"));
  await schemas.ready([7], never);
  expect(reading(schemas.get(7))).toEqual(json("seven"));
});

test("one request for a schema, whoever waits for it", async () => {
  isHeld = true;
  responses.set(7, found("seven"));
  const schemas = create();
  const ready = [schemas.ready([7], never), schemas.ready([7, 7], never)];
  expect(asked).toEqual([7]);
  for (const letGo of held) letGo();
  await Promise.all(ready);
  expect(asked).toEqual([7]);
});

test("an outage is waited out: 0.1 s, doubling to 10 s", async () => {
  responses.set(7, OUTAGE);
  const schemas = create();
  const ready = schemas.ready([7], never);
  const atMs: number[] = [];
  for (let tries = 0; tries < 10; tries += 1) {
    atMs.push(clock.nowMs());
    await clock.advanceToNext();
  }
  const waits = atMs.slice(1).map((ms, index) => ms - (atMs[index] ?? 0));
  expect(waits).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
  expect(schemas.get(7)).toBeNull();
  responses.set(7, found("seven"));
  await clock.advance(10_000);
  await ready;
  expect(reading(schemas.get(7))).toEqual(json("seven"));
});

test("chance takes up to half of a wait away", async () => {
  chance = 0.999;
  responses.set(7, OUTAGE);
  const schemas = create();
  const ready = schemas.ready([7], never);
  await clock.advance(60);
  expect(asked).toHaveLength(2);
  responses.set(7, UNKNOWN);
  await clock.advance(200);
  await ready;
});

test("during an outage what is known is read by, and another schema is not held up", async () => {
  responses.set(1, found("one"));
  const schemas = create();
  await schemas.ready([1], never);
  responses.set(7, OUTAGE);
  const ready = schemas.ready([7], never);
  await clock.advance(5_000);
  await schemas.ready([1], never);
  expect(reading(schemas.get(1))).toEqual(json("one"));
  responses.set(8, found("eight"));
  await schemas.ready([8], never);
  expect(reading(schemas.get(8))).toEqual(json("eight"));
  responses.set(7, UNKNOWN);
  await clock.advance(10_000);
  await ready;
});

test("an outage is said: lines, metrics, a sentence for /readyz", async () => {
  responses.set(7, OUTAGE);
  const beganAtMs = clock.nowMs();
  const schemas = create();
  const ready = schemas.ready([7], never);
  await clock.advance(30_000);
  expect(lines.seen).toEqual(["registry.unreachable"]);
  expect(lines.lines[0]?.fields).toMatchObject({ error: OUTAGE.error, waiting: 1 });
  expect(schemas.healthProblems()).toEqual([
    "1 schema has been unavailable for 30 s: http://r:8081 refuses connections",
  ]);
  expect(await counted()).toEqual([
    "switchyard_registry_pending_schemas 1",
    `switchyard_registry_unreachable_since_timestamp_seconds ${beganAtMs / 1_000}`,
  ]);
  await clock.advance(45_000);
  expect(lines.seen).toEqual(["registry.unreachable", "registry.unreachable"]);
  responses.set(7, found("seven"));
  await clock.advance(10_000);
  await ready;
  expect(lines.seen.at(-1)).toBe("registry.reachable");
  expect(lines.lines.at(-1)?.fields.unreachableForMs).toBeGreaterThan(70_000);
  expect(schemas.healthProblems()).toEqual([]);
  expect((await counted()).join()).not.toMatch(/waiting|since/);
});

const UNAVAILABLE: Lookup = {
  kind: "unavailable",
  error: "http://r:8081 forbids the lookup (403)",
};

test("unavailable: looked up for 30 s, then rejected; after 10 s one more lookup, without another wait", async () => {
  responses.set(7, UNAVAILABLE);
  const schemas = create();
  const ready = schemas.ready([7], never);
  await clock.advance(29_999);
  expect(schemas.get(7)).toBeNull();
  expect(schemas.healthProblems()).toEqual([
    expect.stringMatching(/^records wait up to 30 s .*: 7$/),
  ]);
  await clock.advance(1);
  await ready;
  expect(schemas.get(7)).toEqual({
    kind: "refused",
    reason: "unknown-schema",
    error: expect.stringMatching(/has not returned schema 7 for 30 s, .*forbids the lookup/),
  });
  expect(schemas.healthProblems()).toEqual([]);
  expect(lines.seen).toEqual([]);
  await clock.advance(10_000);
  expect(schemas.get(7)).toBeNull();
  const before = asked.length;
  await schemas.ready([7], never);
  expect(asked).toHaveLength(before + 1);
  expect(schemas.get(7)?.kind).toBe("refused");
  await clock.advance(10_000);
  responses.set(7, found("seven"));
  await schemas.ready([7], never);
  expect(reading(schemas.get(7))).toEqual(json("seven"));
});

test("an outage in between: the 30 s start again, and it is reported", async () => {
  responses.set(7, UNAVAILABLE);
  const schemas = create();
  const ready = schemas.ready([7], never);
  await clock.advance(20_000);
  responses.set(7, OUTAGE);
  await clock.advance(60_000);
  expect(lines.seen[0]).toBe("registry.unreachable");
  responses.set(7, UNAVAILABLE);
  await clock.advance(30_000);
  expect(schemas.get(7)).toBeNull();
  expect(lines.seen.at(-1)).toBe("registry.reachable");
  await clock.advance(10_000);
  await ready;
  expect(schemas.get(7)?.kind).toBe("refused");
});

test("a request ends after one lookup, whatever its result, and counts for those 30 s", async () => {
  for (const ref of [7, 8, 9]) responses.set(ref, UNAVAILABLE);
  responses.set(6, found("six"));
  const schemas = create();
  await Promise.all([6, 7, 8, 9].map((ref) => schemas.request(ref, never)));
  expect(asked).toEqual([6, 7, 8, 9]);
  expect(reading(schemas.get(6))).toEqual(json("six"));
  expect(schemas.get(7)).toBeNull();
  expect(schemas.healthProblems()).toEqual([]);
  await clock.advance(30_000);
  expect(asked).toHaveLength(4);
  await schemas.ready([7, 8, 9], never);
  expect(schemas.get(9)?.kind).toBe("refused");
  const gone = AbortSignal.abort(new Error("gone"));
  await expect(schemas.request(5, gone)).rejects.toThrow("gone");
});

test("who gives up rejects at once; a lookup that nobody waits for is abandoned", async () => {
  responses.set(7, OUTAGE);
  const schemas = create();
  const [one, other] = [new AbortController(), new AbortController()];
  const first = schemas.ready([7], one.signal);
  const second = schemas.ready([7], other.signal);
  one.abort(new Error("revoked"));
  await expect(first).rejects.toThrow("revoked");
  const before = asked.length;
  await clock.advance(1_000);
  expect(asked.length).toBeGreaterThan(before);
  other.abort(new Error("stopped"));
  await expect(second).rejects.toThrow("stopped");
  const after = asked.length;
  await clock.advance(60_000);
  expect(asked).toHaveLength(after);
  expect(schemas.healthProblems()).toEqual([]);
  await expect(schemas.ready([7], AbortSignal.abort(new Error("late")))).rejects.toThrow("late");
});

test("a lookup is asked for again by one who comes after it was given up", async () => {
  isHeld = true;
  const schemas = create();
  const gone = new AbortController();
  const first = schemas.ready([7], gone.signal);
  await clock.advance(0);
  gone.abort(new Error("gone"));
  await expect(first).rejects.toThrow("gone");
  isHeld = false;
  responses.set(7, found("seven"));
  await schemas.ready([7], never);
  expect(reading(schemas.get(7))).toEqual(json("seven"));
});

test("eight lookups at once, the others in turn", async () => {
  isHeld = true;
  const schemas = create();
  const refs = Array.from({ length: 20 }, (_, index) => index);
  const ready = schemas.ready(refs, never);
  await clock.advance(0);
  expect(asked).toHaveLength(8);
  held[0]?.();
  await clock.advance(0);
  expect(asked).toHaveLength(9);
  isHeld = false;
  for (const letGo of held) letGo();
  await ready;
  expect(asked).toEqual(refs);
});

test("kept within bounds: the ones used last stay, others are asked for again", async () => {
  const limits = { schemas: 4, characters: 1_000, unknown: 4, maxLookups: 8 };
  const schemas = create(limits);
  for (let ref = 0; ref < 50; ref += 1) {
    responses.set(ref, found(`${ref}`));
    await schemas.ready([ref], never);
    expect(schemas.get(0)).not.toBeNull();
  }
  expect(schemas.get(25)).toBeNull();
  expect(schemas.get(49)).not.toBeNull();
  expect(await counted()).toContainEqual(
    expect.stringMatching(/^switchyard_registry_schemas [234]$/),
  );
});

test("kept within bounds by size too", async () => {
  const limits = { schemas: 1_000, characters: 1_000, unknown: 4, maxLookups: 8 };
  const schemas = create(limits);
  for (let ref = 0; ref < 50; ref += 1) {
    responses.set(ref, found("x".repeat(300)));
    await schemas.ready([ref], never);
  }
  expect(await counted()).toContainEqual(
    expect.stringMatching(/^switchyard_registry_schemas [23]$/),
  );
});

test("a flood of unknown schemas pushes no known one out", async () => {
  const schemas = create({ schemas: 4, characters: 1_000, unknown: 4, maxLookups: 8 });
  responses.set(1, found("one"));
  await schemas.ready([1], never);
  await schemas.ready(
    Array.from({ length: 100 }, (_, index) => 1_000 + index),
    never,
  );
  expect(schemas.get(1)).not.toBeNull();
});

test("a schema that changes under its id is named, and the new one counts", async () => {
  const schemas = create({ schemas: 2, characters: 1_000, unknown: 4, maxLookups: 8 });
  responses.set(7, found("before"));
  for (const ref of [7, 8, 9, 10]) {
    if (ref !== 7) responses.set(ref, found(`${ref}`));
    await schemas.ready([ref], never);
  }
  expect(schemas.get(7)).toBeNull();
  await schemas.ready([7], never);
  expect(lines.seen).toEqual([]);
  for (const ref of [8, 9, 10]) await schemas.ready([ref], never);
  responses.set(7, found("after"));
  await schemas.ready([7], never);
  expect(lines.seen).toEqual(["registry.schema.changed"]);
  expect(lines.lines[0]?.fields).toMatchObject({ schema: 7 });
  expect(reading(schemas.get(7))).toEqual(json("after"));
});

test("closing gives up what is in progress, and closes the source", async () => {
  responses.set(7, OUTAGE);
  const schemas = create();
  const stopped = new AbortController();
  const ready = schemas.ready([7], stopped.signal);
  await clock.advance(500);
  stopped.abort(new Error("stopped"));
  await expect(ready).rejects.toThrow("stopped");
  await schemas[Symbol.asyncDispose]();
  expect(isClosed).toBe(true);
});

test("so many at once, the others in turn, also after one that failed", async () => {
  const limit = new ConcurrencyLimit(2);
  const began: number[] = [];
  const ends: PromiseWithResolvers<number>[] = [];
  const work = [0, 1, 2, 3].map((index) =>
    limit.during(() => {
      began.push(index);
      const end = Promise.withResolvers<number>();
      ends.push(end);
      return end.promise;
    }, never),
  );
  expect(began).toEqual([0, 1]);
  ends[1]?.reject(new Error("failed"));
  await expect(work[1]).rejects.toThrow("failed");
  expect(began).toEqual([0, 1, 2]);
  for (const end of ends) end.resolve(5);
  await work[2];
  ends[3]?.resolve(6);
  expect(await Promise.all([work[0], work[2], work[3]])).toEqual([5, 5, 6]);
});

test("work that was given up before its turn is not begun, and gives its turn on", async () => {
  const limit = new ConcurrencyLimit(1);
  const end = Promise.withResolvers<string>();
  const gone = new AbortController();
  const first = limit.during(() => end.promise, never);
  const second = limit.during(() => Promise.resolve("second"), gone.signal);
  const third = limit.during(() => Promise.resolve("third"), never);
  gone.abort();
  end.resolve("first");
  expect(await Promise.all([first, second, third])).toEqual(["first", null, "third"]);
});
