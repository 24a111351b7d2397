// Another process takes over a replay: the table of replay-store.ts, on a Kafka in memory.

import { expect, test } from "vitest";
import { ReplayStore } from "../../../../../src/operator/replay/replay-store.ts";
import type { MemoryKafka } from "../../../../support/memory-kafka/memory-kafka.ts";
import {
  ReplayWorld,
  replayCommand,
  resumedReplay,
  topics,
} from "../../../../support/worlds/replay-world.ts";

const DEAD_LETTERS = 3_000;
const TAKEN = "another process has taken the replay over";

function start(world: ReplayWorld, kafka: MemoryKafka, resume: string | null) {
  const given = resume === null ? {} : { chosen: resumedReplay(resume) };
  const { shell, ended } = replayCommand(world, given, { kafka });
  return { shell, ended, name: () => /Replay (\S+) /.exec(shell.errors())?.[1] ?? "" };
}

/** Starts a process that replays, and resolves when it has sent some of the records. */
async function underWay(world: ReplayWorld) {
  await world.fill(DEAD_LETTERS);
  const kafka = world.cluster.connect();
  const command = start(world, kafka, null);
  await world.clock.advanceUntil(() => world.delivered().length > 400, 60_000);
  return { kafka, command };
}

function expectAllAndFewTwice(world: ReplayWorld): void {
  const delivered = world.delivered();
  expect(new Set(delivered).size).toBe(DEAD_LETTERS);
  expect(delivered.length - DEAD_LETTERS).toBeLessThanOrEqual(500);
}

/** Makes commits or reads of `kafka` wait until the gate is open. */
function holdUp(kafka: MemoryKafka, what: "commits" | "reads", gate: Promise<unknown>): void {
  if (what === "commits") {
    const commit = kafka.admin.commit.bind(kafka.admin);
    kafka.admin.commit = async (...given) => {
      await gate;
      return commit(...given);
    };
    return;
  }
  const read = kafka.read.bind(kafka);
  kafka.read = async function* (range) {
    await gate;
    yield* read(range);
  };
}

test("however long the second process counts, the first one stops and little is repeated", async () => {
  const world = new ReplayWorld();
  const { command: first } = await underWay(world);
  const kafka = world.cluster.connect();
  holdUp(kafka, "reads", first.ended);
  const second = start(world, kafka, first.name());
  expect(await world.finish(first.ended)).toBe(1);
  expect(first.shell.errors()).toContain(TAKEN);
  expect(await world.finish(second.ended)).toBe(0);
  expectAllAndFewTwice(world);
});

test("a commit of the first one that arrives late gives it nothing back", async () => {
  const world = new ReplayWorld({ partitions: 1 });
  const { kafka, command: first } = await underWay(world);
  const late = Promise.withResolvers<void>();
  holdUp(kafka, "commits", late.promise);
  // By then, it has made its last check before the commit.
  await world.clock.advance(1_000);
  const other = world.cluster.connect();
  const counted = Promise.withResolvers<void>();
  holdUp(other, "reads", counted.promise);
  const second = start(world, other, first.name());
  await world.clock.advance(1_000);
  late.resolve();
  expect(await world.finish(first.ended)).toBe(1);
  expect(first.shell.errors()).toContain(TAKEN);
  counted.resolve();
  expect(await world.finish(second.ended)).toBe(0);
  expectAllAndFewTwice(world);
});

test("a batch whose writing took long is not committed over what another one has done", async () => {
  const world = new ReplayWorld();
  const { command: first } = await underWay(world);
  world.cluster.delayWrites(5_000);
  await world.clock.advance(1_000);
  world.cluster.delayWrites(0);
  const { admin } = world.cluster.connect();
  const store = new ReplayStore(admin, topics, "dead-letters", first.name(), "other");
  const taken = await world.finish(store.takeOver());
  expect(await world.finish(first.ended)).toBe(1);
  expect(await world.finish(store.read())).toEqual(taken);
});

test("a replay that was done before it was taken over stays done", async () => {
  const world = new ReplayWorld();
  const { command: first } = await underWay(world);
  const kafka = world.cluster.connect();
  holdUp(kafka, "commits", first.ended);
  const second = start(world, kafka, first.name());
  expect(await world.finish(first.ended)).toBe(0);
  expect(await world.finish(second.ended)).toBe(2);
  expect(second.shell.errors()).toContain("it is done");
  expect(world.delivered()).toHaveLength(DEAD_LETTERS);
  const third = start(world, world.cluster.connect(), first.name());
  expect(await world.finish(third.ended)).toBe(2);
});

test("of two that take it over the later one has it, and counting alone takes nothing", async () => {
  const world = new ReplayWorld();
  const { kafka, command: first } = await underWay(world);
  const storeOf = (by: string) =>
    new ReplayStore(kafka.admin, topics, "dead-letters", first.name(), by);
  const [second, third] = [storeOf("second"), storeOf("third")];
  await world.finish(second.takeOver());
  await world.finish(third.takeOver());
  await expect(world.finish(second.assertOwned())).rejects.toThrow(TAKEN);
  await world.finish(second.read());
  await world.finish(third.assertOwned());
  expect(await world.finish(first.ended)).toBe(1);
});

test("a replay of many days is committed again each day, with its owner", async () => {
  const world = new ReplayWorld({ partitions: 2 });
  await world.fill(30);
  const one = world.process("one");
  const commits: string[] = [];
  const commit = one.kafka.admin.commit.bind(one.kafka.admin);
  one.kafka.admin.commit = (group, topic, offsets) => {
    commits.push(`${group} ${offsets.length}`);
    return commit(group, topic, offsets);
  };
  const running = one.begin("replay-1", { limit: 3, perSecond: 1 });
  await world.clock.advanceUntil(() => world.progress.length === 1, 60_000);
  world.cluster.delayWrites(86_400_000);
  await world.clock.advanceUntil(() => world.delivered().length === 2, 100_000_000);
  world.cluster.delayWrites(0);
  expect(await world.finish(running)).toBe("done");
  const [owner, positions] = ["sw.replay.replay-1.owner 1", "sw.replay.replay-1"];
  // These are the commits of the plan, the first batch, the second batch a day later, and the third batch.
  expect(commits).toEqual([
    owner,
    `${positions} 2`,
    `${positions} 2`,
    owner,
    `${positions} 2`,
    `${positions} 1`,
  ]);
});
