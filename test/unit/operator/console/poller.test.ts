// The poller polls while a user is watching, and otherwise only samples the counters.

import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog } from "../../../../src/base/telemetry/log.ts";
import type { Counters } from "../../../../src/operator/console/counters.ts";
import { Poller } from "../../../../src/operator/console/poller.ts";
import { pollOf } from "../../../support/build/console-poll.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";

const counters: Counters = {
  flow: new Float64Array(5),
  startedAtMs: 0,
  destinations: new Map(),
  counts: [true, false, false, false, false],
};

let clock: ManualClock;
/** The difference between the time of day and the clock. */
let aheadMs: number;
let asked: { pollOnce: number; sample: number };
let fails: boolean;
/** The number of the poll during which the clock is set back; 0 for none. */
let setBackAt: number;
let lines: string[];
let all: ReadonlyMap<string, Counters>;
let poller: Poller;

beforeEach(() => {
  clock = new ManualClock();
  asked = { pollOnce: 0, sample: 0 };
  fails = false;
  aheadMs = 0;
  setBackAt = 0;
  lines = [];
  all = new Map([["a:1", counters]]);
  poller = new Poller(
    {
      pollOnce: () => {
        asked.pollOnce += 1;
        if (asked.pollOnce === setBackAt) aheadMs -= 3_600_000;
        if (fails) return Promise.reject(new Error("blind"));
        return Promise.resolve({ ...pollOf([]), counters: all });
      },
      sample: () => {
        asked.sample += 1;
        return Promise.resolve(all);
      },
    },
    { nowMs: () => clock.nowMs() + aheadMs, sleep: (ms, signal) => clock.sleep(ms, signal) },
    createLog("info", { write: (line: string) => void lines.push(line) }),
  );
});
afterEach(() => poller[Symbol.asyncDispose]());

test("while nobody watches, Kafka is never asked, and the counters each 30 s", async () => {
  await clock.advance(300_000);
  expect(asked).toEqual({ pollOnce: 0, sample: 11 });
});

test("somebody who comes is reported at once, and again and again; not after going", async () => {
  let reported = 0;
  await clock.advance(1_000);
  const watch = poller.watch(() => {
    reported += 1;
  });
  await clock.advance(10);
  expect(reported).toBe(1);
  await clock.advance(15_000);
  expect(reported).toBe(11);
  watch[Symbol.dispose]();
  expect(poller.watchers).toBe(0);
  await clock.advance(60_000);
  expect([reported, asked.pollOnce]).toEqual([11, 11]);
});

test("a second one is reported what is known, without another look", async () => {
  const first = poller.watch(() => undefined);
  await clock.advance(10);
  const { pollOnce } = asked;
  let reported = 0;
  const second = poller.watch(() => {
    reported += 1;
  });
  expect([reported, asked.pollOnce]).toEqual([1, pollOnce]);
  first[Symbol.dispose]();
  second[Symbol.dispose]();
});

test("a look that fails is said, and is no end", async () => {
  const watch = poller.watch(() => undefined);
  fails = true;
  await clock.advance(5_000);
  fails = false;
  const { pollOnce } = asked;
  await clock.advance(5_000);
  expect(asked.pollOnce).toBeGreaterThan(pollOnce);
  expect(lines.join("")).toContain('"msg":"console.refresh-failed"');
  watch[Symbol.dispose]();
});

test("rates are known from the second count on", async () => {
  await clock.advance(10);
  expect(poller.history.readFlowRates().calls).toBeNull();
  await clock.advance(30_000);
  expect(poller.history.readFlowRates().calls).toBe(0);
});

test("a clock that is set back during a look does not stop the looks", async () => {
  setBackAt = 2;
  using _watch = poller.watch(() => undefined);
  await clock.advance(15_000);
  expect(asked.pollOnce).toBeGreaterThan(8);
});

test("a restart is no dip: what a process counts after it, and before, is counted", async () => {
  const counted = (calls: number, startedAtMs: number) =>
    new Map([["a:1", { ...counters, flow: new Float64Array([calls, 0, 0, 0, 0]), startedAtMs }]]);
  all = counted(100, 0);
  await clock.advance(45_000);
  all = new Map();
  await clock.advance(30_000);
  all = counted(170, 60_000);
  await clock.advance(30_000);
  // 170 calls since the restart, in the last minute.
  expect(poller.history.readFlowRates().calls).toBe(170);
});
