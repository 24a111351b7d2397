// Replays of calls on a Kafka in memory: complete, interrupted, killed, in outages, at a rate.

import { expect, test } from "vitest";

import { replayCalls } from "../../../../src/operator/replay/call-replay.ts";
import { encoded, framed } from "../../../support/build/avro.ts";
import { suppressionOf } from "../../../support/build/suppressions.ts";
import {
  type CallReplayPorts,
  CallReplayWorld,
  ids,
  topics,
} from "../../../support/worlds/call-replay-world.ts";
import { MemorySchemas, UNKNOWN } from "../../../support/worlds/memory-schemas.ts";

test("writes what is for the destination, and counts the rest with the reasons", async () => {
  const world = new CallReplayWorld({ partitions: 3 });
  await world.fill(1_203, (number) => {
    if (number % 3 === 1) return { integrations: { Webhooks: false } };
    return number % 3 === 2 ? { event: null } : {};
  });
  const one = world.process("one");
  expect(await world.finish(one.begin())).toBe("done");
  const wanted = ids(0, 1_203).filter((_, number) => number % 3 === 0);
  expect(new Set(world.written())).toEqual(new Set(wanted));
  expect(world.written()).toHaveLength(401);
  expect(world.counts).toEqual({
    written: 401,
    "skipped:named-false": 401,
    "invalid:invalid-call": 401,
  });
  expect(await world.finish(one.resume())).toBe("no such replay");
});

test("the range begins at its time, and ends where the topic ended when it began", async () => {
  const world = new CallReplayWorld();
  await world.fill(20);
  const sinceMs = world.cluster
    .records(topics.calls)
    .find(({ offset }) => offset === 5)?.timestampMs;
  const one = world.process("one");
  const asked = { sinceMs: sinceMs ?? 0, untilMs: null, types: [], events: [] };
  const running = one.begin({ asked, perSecond: 10 });
  await world.clock.advanceUntil(() => world.written().length > 0, 60_000);
  await world.fill(7, () => ({}), 20);
  expect(await world.finish(running)).toBe("done");
  expect(new Set(world.written())).toEqual(new Set(ids(10, 20)));
});

test("calls of a key keep their order", async () => {
  const world = new CallReplayWorld({ partitions: 3 });
  await world.fill(1_500, (number) => ({ userId: `u-${number % 3}` }));
  await world.finish(world.process("one").begin());
  for (const user of [0, 1, 2]) {
    const of = world.cluster.records(world.topic).filter(({ key }) => `${key}` === `u-${user}`);
    const offsets = of.map(({ offset }) => offset);
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
    expect(of).toHaveLength(500);
  }
});

test("interrupted, it commits what it has written; resumed, it repeats and omits nothing", async () => {
  const world = new CallReplayWorld({ partitions: 3 });
  await world.fill(900, (number) => (number % 9 === 0 ? { integrations: { All: false } } : {}));
  const stop = new AbortController();
  const running = world.process("one", { signal: stop.signal }).begin({ perSecond: 500 });
  await world.clock.advanceUntil(() => world.written().length > 200, 60_000);
  stop.abort();
  expect(await world.finish(running)).toBe("interrupted");
  expect(world.counts.written).toBe(world.written().length);
  expect(world.written().length).toBeLessThan(800);
  expect(await world.finish(world.process("two").resume())).toBe("done");
  expect(world.written()).toHaveLength(800);
  expect(new Set(world.written()).size).toBe(800);
  expect(world.counts).toEqual({ written: 800, "skipped:all-false": 100 });
});

test("killed, it repeats at most the batch in flight", async () => {
  const world = new CallReplayWorld({ partitions: 3 });
  await world.fill(700);
  const first = world.process("one");
  void first.begin({ perSecond: 1_000 }).catch(() => undefined);
  await world.clock.advanceUntil(() => world.written().length >= 250, 60_000);
  first.kafka.kill();
  expect(await world.finish(world.process("two").resume())).toBe("done");
  expect(new Set(world.written())).toEqual(new Set(ids(0, 700)));
  expect(world.written().length - 700).toBeLessThanOrEqual(500);
  expect(world.counts.written).toBe(700);
});

test("another process that takes it over stops the first one", async () => {
  const world = new CallReplayWorld();
  await world.fill(600);
  const first = world.process("one").begin({ perSecond: 200 });
  await world.clock.advanceUntil(() => world.written().length > 100, 60_000);
  const second = world.process("two").resume();
  await expect(world.finish(first)).rejects.toThrow("another process has taken the replay over");
  expect(await world.finish(second)).toBe("done");
  expect(new Set(world.written())).toEqual(new Set(ids(0, 600)));
});

test("a schema is waited for through an outage; an unknown one is unusable", async () => {
  const schemas = new MemorySchemas();
  const world = new CallReplayWorld({ schemas, partitions: 1 });
  const schema = {
    type: "record",
    name: "Call",
    fields: ["type", "user_id", "event"].map((name) => ({ name, type: "string" })),
  };
  const value = framed(7, encoded(schema, { type: "track", user_id: "u", event: "E" }));
  const record = { topic: topics.calls, partition: 0, key: null, headers: [] };
  world.cluster.append({ ...record, value });
  world.cluster.append({ ...record, value: framed(8, Buffer.of(1)) });
  schemas.learn(8, UNKNOWN);
  const running = world.process("one").begin();
  await world.clock.advance(60_000);
  expect(world.written()).toEqual([]);
  expect(world.waits).toEqual(["schema 7 from the registry"]);
  schemas.learnAvro(7, schema);
  expect(await world.finish(running)).toBe("done");
  // The same ID as in the route stage, from the record's position.
  expect(world.written()).toEqual([`${topics.calls}/0/0`]);
  const [copy] = world.cluster.records(world.topic);
  expect(JSON.parse(`${copy?.value}`)).toMatchObject({ event: "E", userId: "u" });
  expect(world.counts).toEqual({ written: 1, "invalid:unknown-schema": 1 });
});

test("interrupted while it waits for a schema, it can be resumed", async () => {
  const schemas = new MemorySchemas();
  const world = new CallReplayWorld({ schemas, partitions: 1 });
  await world.fill(3);
  const value = framed(7, Buffer.of(2));
  world.cluster.append({ topic: topics.calls, partition: 0, key: null, headers: [], value });
  const stop = new AbortController();
  const running = world.process("one", { signal: stop.signal }).begin();
  await world.clock.advance(1_000);
  stop.abort();
  expect(await world.finish(running)).toBe("interrupted");
  expect(world.written()).toEqual(ids(0, 3));
  schemas.learn(7, UNKNOWN);
  expect(await world.finish(world.process("two").resume())).toBe("done");
  expect(world.counts).toEqual({ written: 3, "invalid:unknown-schema": 1 });
});

test("what the brokers find too large is counted as refused", async () => {
  const world = new CallReplayWorld({
    recordMaxBytes: (topic) => (topic === topics.calls ? 10_000 : 1_000),
  });
  await world.fill(3, (number) => (number === 1 ? { properties: { x: "x".repeat(2_000) } } : {}));
  await world.finish(world.process("one").begin());
  expect(world.written().toSorted()).toEqual(["m-0", "m-2"]);
  expect(world.counts).toEqual({ written: 2, refused: 1 });
});

test("a topic that is not writable is tried again; one that is missing fails, to be resumed", async () => {
  const world = new CallReplayWorld();
  await world.fill(4);
  let responses: ("unavailable" | "forbidden" | "missing" | null)[] = [
    "unavailable",
    "unavailable",
    null,
  ];
  const changed = ({ kafka, producer }: CallReplayPorts) => ({
    kafka,
    producer: {
      send: (...[records, options]: Parameters<typeof producer.send>) => {
        if (records[0]?.topic === topics.ledger) return producer.send(records, options);
        const blocked = responses.shift() ?? null;
        if (blocked === null) return producer.send(records, options);
        return Promise.resolve(records.map((record) => ({ record, error: "no leader", blocked })));
      },
      close: (limitMs: number) => producer.close(limitMs),
    },
  });
  expect(await world.finish(world.process("one", { changed }).begin())).toBe("done");
  expect(world.written()).toHaveLength(4);
  expect(world.waits.at(0)).toContain("which is not writable: no leader");
  expect(world.waits.at(-1)).toBeNull();
  responses = ["missing"];
  await world.fill(1, () => ({}), 4);
  const failing = world.finish(world.process("two", { changed }).begin());
  await expect(failing).rejects.toThrow(/is missing\. Create it: switchyard topics --apply/);
  responses = ["forbidden"];
  const forbidden = world.finish(world.process("three", { changed }).resume());
  await expect(forbidden).rejects.toThrow(/cannot be written: no leader/);
  expect(await world.finish(world.process("four").resume())).toBe("done");
  expect(new Set(world.written())).toEqual(new Set(ids(0, 5)));
});

function suppress(world: CallReplayWorld, userId: string): void {
  world.cluster.append(suppressionOf(userId));
}

test("a user who is suppressed while the replay runs gets no more calls within 3 s", async () => {
  const world = new CallReplayWorld({ partitions: 1 });
  world.cluster.createTopic(topics.suppressions, 1);
  await world.fill(400, (number) => ({ userId: `u-${number % 2}` }));
  const running = world.process("one").begin({ perSecond: 20 });
  await world.clock.advanceUntil(() => world.written().length > 20, 60_000);
  suppress(world, "u-1");
  await world.clock.advance(3_000);
  const before = world.written();
  expect(await world.finish(running)).toBe("done");
  const after = world.written().slice(before.length);
  expect(after.filter((id) => Number(id.slice(2)) % 2 === 1)).toEqual([]);
  expect(new Set(world.written()).size + (world.counts["skipped:suppressed"] ?? 0)).toBe(400);
  expect(world.counts.written).toBe(world.written().length);
  expect(after.length).toBeGreaterThan(100);
});

test.each([true, false])(
  "a batch in memory is decided again after a long wait for a schema; interrupted: %j",
  async (isInterrupted) => {
    const schemas = new MemorySchemas();
    const world = new CallReplayWorld({ schemas, partitions: 1 });
    world.cluster.createTopic(topics.suppressions, 1);
    await world.fill(3);
    const value = framed(7, Buffer.of(2));
    world.cluster.append({ topic: topics.calls, partition: 0, key: null, headers: [], value });
    const stop = new AbortController();
    const running = world.process("one", { signal: stop.signal }).begin();
    await world.clock.advance(3_600_000);
    suppress(world, "u-1");
    if (isInterrupted) {
      stop.abort();
      expect(await world.finish(running)).toBe("interrupted");
      expect(world.written()).toEqual([]);
    }
    schemas.learn(7, UNKNOWN);
    const ended = isInterrupted ? world.process("two").resume() : running;
    expect(await world.finish(ended)).toBe("done");
    expect(world.written()).toEqual(["m-0", "m-2"]);
    expect(world.counts).toEqual({
      written: 2,
      "skipped:suppressed": 1,
      "invalid:unknown-schema": 1,
    });
  },
);

test("the command reads the suppressions again when it starts to write", async () => {
  const world = new CallReplayWorld();
  world.cluster.createTopic(topics.suppressions, 1);
  await world.fill(2);
  const { clock, sources, crm } = world;
  const outcome = replayCalls(
    world.cluster.connect(),
    {
      chosen: { kind: "new", plan: world.plan() },
      config: {
        sources,
        defaultSource: sources[0]?.id ?? null,
        registry: null,
        audit: { enabled: true },
      },
      topics,
      destinationOf: () => crm,
      dryRun: false,
      signal: new AbortController().signal,
      resumeArguments: "",
      clock,
    },
    {
      follow: () => ({
        say: () => suppress(world, "u-1"),
        end: () => undefined,
        [Symbol.dispose]: () => undefined,
      }),
      err: () => undefined,
    },
  );
  expect(await world.finish(outcome)).toMatchObject({ end: "done", counts: { written: 1 } });
  expect(world.written()).toEqual(["m-0"]);
});

test("a batch that the topic rejects is decided again before it is tried again", async () => {
  const world = new CallReplayWorld({ partitions: 1 });
  world.cluster.createTopic(topics.suppressions, 1);
  await world.fill(2);
  let isWritable = false;
  const changed = ({ kafka, producer }: CallReplayPorts) => ({
    kafka,
    producer: {
      send: (...[records, options]: Parameters<typeof producer.send>) => {
        if (isWritable || records[0]?.topic !== world.topic) return producer.send(records, options);
        const rejected = { error: "no leader", blocked: "unavailable" } as const;
        return Promise.resolve(records.map((record) => ({ record, ...rejected })));
      },
      close: (limitMs: number) => producer.close(limitMs),
    },
  });
  const running = world.process("one", { changed }).begin();
  await world.clock.advance(60_000);
  for (const userId of ["u-0", "u-1"]) suppress(world, userId);
  await world.clock.advance(3_000);
  isWritable = true;
  expect(await world.finish(running)).toBe("done");
  expect([world.written(), world.counts]).toEqual([[], { written: 0, "skipped:suppressed": 2 }]);
});

test("never more in a second than asked for", async () => {
  const world = new CallReplayWorld();
  await world.fill(300);
  const startMs = world.clock.nowMs();
  await world.finish(world.process("one").begin({ perSecond: 100 }));
  const atMs = world.cluster.records(world.topic).map(({ timestampMs }) => timestampMs - startMs);
  expect(Math.max(...atMs)).toBeGreaterThan(2_500);
});

test("counting writes and commits nothing", async () => {
  const world = new CallReplayWorld();
  await world.fill(30, (number) => (number < 10 ? { integrations: { All: false } } : {}));
  const { count, resume } = world.process("one");
  expect(await world.finish(count())).toBe(true);
  expect(world.counts).toEqual({ written: 20, "skipped:all-false": 10 });
  expect(world.written()).toEqual([]);
  expect(await world.finish(resume())).toBe("no such replay");
});
