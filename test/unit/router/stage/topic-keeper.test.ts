// The table in the header of `topic-keeper.ts`.

import { expect, test } from "vitest";

import { MissingPermissionError, type TopicSpec } from "../../../../src/kafka/port.ts";
import { topicKeeper } from "../../../../src/router/stage/topic-keeper.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { parsedLog } from "../../../support/log/parsed-log.ts";

const never = new AbortController().signal;

function world(planned: readonly string[]) {
  const clock = new ManualClock();
  const there = new Set<string>();
  const creations: string[][] = [];
  const state = { mayCreate: true, lists: 0, isDown: false, isHidden: false };
  const { log, lines } = parsedLog();
  let behindMs = 0;
  const timeOfDay = {
    nowMs: () => clock.nowMs() - behindMs,
    sleep: (ms: number, signal: AbortSignal) => clock.sleep(ms, signal),
  };
  const admin = {
    assertVisible: async () => {
      if (state.isHidden) throw new MissingPermissionError("Describe is missing", null);
    },
    topics: async () => {
      state.lists += 1;
      if (state.isDown) throw new Error("no broker responds");
      return [...there];
    },
    create: async (specs: readonly TopicSpec[]) => {
      creations.push(specs.map(({ name }) => name));
      if (!state.mayCreate) throw new Error("no right to create topics");
      for (const { name } of specs) there.add(name);
    },
  };
  const plan = planned.map((name) => ({
    name,
    partitions: 1,
    replicationFactor: null,
    config: {},
  }));
  return {
    clock,
    there,
    creations,
    state,
    lines,
    keeper: topicKeeper({ admin, clock: timeOfDay, log }, plan),
    setBack: (ms: number) => {
      behindMs += ms;
    },
  };
}

test("topics of the plan are made, those of one moment at once, and others are not", async () => {
  const { clock, creations, keeper } = world(["a", "b"]);
  for (const topic of ["a", "strange", "b"]) keeper.missing(topic);
  await clock.advance(0);
  expect(creations).toEqual([["a", "b"]]);
  expect([keeper.isMade("a"), keeper.isMade("strange")]).toEqual([true, false]);
});

test("one that cannot be made is tried every five seconds, and that is logged", async () => {
  const { clock, creations, keeper, state, lines } = world(["a"]);
  state.mayCreate = false;
  for (let second = 0; second < 11; second += 1) {
    keeper.missing("a");
    await clock.advance(1_000);
  }
  expect(creations).toEqual([["a"], ["a"], ["a"]]);
  expect(lines.filter(({ msg }) => msg === "topics.create-failed")).toHaveLength(3);
});

test("who waits for topics that are there continues at once", async () => {
  const { there, keeper } = world([]);
  there.add("a");
  expect(await keeper.untilThere(["a"], never)).toBe(false);
});

test("who waits for a missing one continues when it is there, whoever made it", async () => {
  const { clock, there, creations, keeper } = world([]);
  const waited = keeper.untilThere(["a"], never);
  await clock.advance(5_000);
  there.add("a");
  await clock.advance(2_000);
  expect(await waited).toBe(true);
  expect(creations).toEqual([]);
});

test("a list that cannot be had says nothing is missing, and waiting ends with its signal", async () => {
  const { clock, state, keeper } = world([]);
  state.isDown = true;
  expect(await keeper.untilThere(["a"], never)).toBe(false);
  state.isDown = false;
  await clock.advance(1_000);
  const stopping = new AbortController();
  const waited = expect(keeper.untilThere(["a"], stopping.signal)).rejects.toThrow();
  await clock.advance(1_000);
  stopping.abort();
  await waited;
});

test("one that the brokers do not show is not waited for, and nobody makes it", async () => {
  const { clock, creations, state, keeper } = world(["a"]);
  state.isHidden = true;
  expect(await keeper.untilThere(["a"], never)).toBe(false);
  await clock.advance(10_000);
  expect(creations).toEqual([]);
});

test("those who ask in one moment share a list", async () => {
  const { there, state, keeper } = world([]);
  there.add("a");
  await Promise.all(Array.from({ length: 1_000 }, () => keeper.untilThere(["a"], never)));
  expect(state.lists).toBe(1);
});

test("with another plan it makes what that has, and no longer what the former one had", async () => {
  const { keeper, creations, clock } = world(["old"]);
  keeper.update([{ name: "new", partitions: 1, replicationFactor: null, config: {} }]);
  expect([keeper.isMade("old"), keeper.isMade("new")]).toEqual([false, true]);
  keeper.missing("old");
  keeper.missing("new");
  await clock.advance(1);
  expect(creations).toEqual([["new"]]);
});

test("a clock that was set back puts off neither a try nor a look at the topics", async () => {
  const { clock, creations, keeper, state, setBack } = world(["a"]);
  state.mayCreate = false;
  const there = keeper.untilThere(["a"], never);
  await clock.advance(0);
  expect(creations).toEqual([["a"]]);
  setBack(3_600_000);
  state.mayCreate = true;
  await clock.advance(10_000);
  expect(creations).toEqual([["a"], ["a"]]);
  expect(await there).toBe(true);
});
