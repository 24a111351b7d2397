// Replays on a Kafka in memory: complete, interrupted, killed, or at a limited rate.
// test/unit/program/cli/dead-letters/take-over.test.ts tests replays that are taken over.

import { expect, test } from "vitest";

import { ids } from "../../../support/worlds/call-replay-world.ts";
import { ReplayWorld, topics } from "../../../support/worlds/replay-world.ts";

test("replays what passes, the oldest first over all partitions, and forgets the replay", async () => {
  const world = new ReplayWorld({ partitions: 3 });
  await world.fill(1_200, (number) => ({ reason: number % 2 === 0 ? "rejected" : "expired" }));
  const one = world.process("one");
  const end = await world.finish(one.begin("replay-1", {}, { reasons: ["rejected"] }));
  expect(end).toBe("done");
  expect(world.delivered()).toEqual(ids(0, 1_200).filter((_, number) => number % 2 === 0));
  expect(world.progress.at(-1)).toEqual({ replayed: 600, refused: 0 });
  expect(await world.finish(one.resume("replay-1"))).toBe("no such replay");
});

test("reads up to the ends that it found: what a replay causes is not replayed", async () => {
  const world = new ReplayWorld();
  await world.fill(600);
  const one = world.process("one");
  const running = one.begin("replay-1", { perSecond: 1_000 });
  await world.clock.advanceUntil(() => world.progress.length > 1, 60_000);
  await world.fill(5);
  expect(await world.finish(running)).toBe("done");
  expect(world.delivered()).toEqual(ids(0, 600));
});

test("a limit counts what is rejected too, and the rest is left", async () => {
  const world = new ReplayWorld();
  await world.fill(10, (number) => (number === 1 ? { reason: "invalid-sync" } : {}));
  await world.finish(world.process("one").begin("replay-1", { limit: 3 }));
  expect(world.delivered()).toEqual(["m-0", "m-2"]);
  expect(world.refused).toEqual(["a sync cannot be replayed. Send it again."]);
  expect(world.progress.at(-1)).toEqual({ replayed: 2, refused: 1 });
});

test("what the brokers find too large is rejected, and the others are replayed", async () => {
  const world = new ReplayWorld({
    recordMaxBytes: (topic) => (topic === topics.deadLetters ? 10_000 : 1_000),
  });
  await world.fill(3, (number) => (number === 1 ? { value: "x".repeat(2_000) } : {}));
  await world.finish(world.process("one").begin("replay-1"));
  expect(world.delivered()).toEqual(["m-0", "m-2"]);
  expect(world.refused).toEqual([expect.stringContaining("too large")]);
  expect(world.progress.at(-1)).toEqual({ replayed: 2, refused: 1 });
});

test("interrupted, it commits what it has sent; resumed, it repeats and omits nothing", async () => {
  const world = new ReplayWorld({ partitions: 3 });
  await world.fill(900);
  const stop = new AbortController();
  const running = world.process("one", stop.signal).begin("replay-1", { perSecond: 500 });
  await world.clock.advanceUntil(() => world.delivered().length > 200, 60_000);
  stop.abort();
  expect(await world.finish(running)).toBe("interrupted");
  const before = world.delivered().length;
  expect(before).toBeLessThan(900);
  expect(world.progress.at(-1)?.replayed).toBe(before);

  await world.fill(5);
  expect(await world.finish(world.process("two").resume("replay-1"))).toBe("done");
  expect(world.delivered()).toEqual(ids(0, 900));
  expect(world.progress.at(-1)).toEqual({ replayed: 900, refused: 0 });
});

test("a resumed replay keeps its filters and its limit", async () => {
  const world = new ReplayWorld();
  await world.fill(400, (number) => ({ reason: number % 2 === 0 ? "rejected" : "expired" }));
  const stop = new AbortController();
  const plan = { perSecond: 50, limit: 100 };
  const running = world
    .process("one", stop.signal)
    .begin("replay-1", plan, { reasons: ["expired"] });
  await world.clock.advanceUntil(() => world.delivered().length > 20, 60_000);
  stop.abort();
  await world.finish(running);
  await world.finish(world.process("two").resume("replay-1"));
  expect(world.delivered()).toEqual(
    ids(0, 400)
      .filter((_, number) => number % 2 === 1)
      .slice(0, 100),
  );
});

test.each([40, 90, 200, 333])(
  "killed after %i were written, it repeats at most what was in flight",
  async (killAt) => {
    const world = new ReplayWorld({ partitions: 3 });
    await world.fill(700);
    const first = world.process("one");
    void first.begin("replay-1", { perSecond: 1_000 }).catch(() => undefined);
    await world.clock.advanceUntil(() => world.delivered().length >= killAt, 60_000);
    first.kafka.kill();
    const committed = world.progress.at(-1)?.replayed ?? 0;
    await world.finish(world.process("two").resume("replay-1"));
    const delivered = world.delivered();
    expect(new Set(delivered)).toEqual(new Set(ids(0, 700)));
    // Committed dead letters were not sent again.
    for (const id of ids(0, committed)) {
      expect(delivered.filter((other) => other === id)).toHaveLength(1);
    }
    expect(delivered.length - 700).toBeLessThanOrEqual(500);
  },
);

test("never more in a second than asked for", async () => {
  const world = new ReplayWorld();
  await world.fill(300);
  const startMs = world.clock.nowMs();
  await world.finish(world.process("one").begin("replay-1", { perSecond: 100 }));
  const atMs = world.cluster
    .records(topics.deliveries(world.destinations[0]?.id as never))
    .map(({ timestampMs }) => timestampMs - startMs);
  expect(atMs).toHaveLength(300);
  for (const [index, at] of atMs.entries()) {
    // A batch is written up to 200 ms after the turn of its first dead letter.
    expect((atMs[index + 120] ?? Number.POSITIVE_INFINITY) - at).toBeGreaterThan(1_000);
  }
  expect(atMs.at(-1)).toBeLessThan(4_000);
});

test("interrupted in an outage, it gives up after a while", async () => {
  const world = new ReplayWorld();
  await world.fill(600);
  const stop = new AbortController();
  const running = world.process("one", stop.signal).begin("replay-1", { perSecond: 500 });
  await world.clock.advanceUntil(() => world.delivered().length > 100, 60_000);
  world.cluster.delayWrites(1_000_000);
  await world.clock.advance(1_000);
  stop.abort();
  expect(await world.finish(running)).toBe("interrupted");
  world.cluster.delayWrites(0);
  await world.finish(world.process("two").resume("replay-1"));
  expect(new Set(world.delivered())).toEqual(new Set(ids(0, 600)));
});

test("dead letters since a time are found although their stage's clock ran ahead of the brokers'", async () => {
  const world = new ReplayWorld();
  const aheadMs = 60_000;
  await world.fill(3, () => ({ failedAtMs: world.clock.nowMs() + aheadMs }));
  const sinceMs = world.clock.nowMs() + aheadMs / 2;
  await world.finish(world.process("one").begin("replay-1", {}, { sinceMs }));
  expect(world.delivered()).toEqual(ids(0, 3));
});
