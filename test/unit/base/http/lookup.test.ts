// Lookups, row by row, with a name server that responds when the test makes it respond.

import { expect, test } from "vitest";

import { boundedResolve, threadsOf } from "../../../../src/base/http/lookup.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";

const HOUR_MS = 3_600_000;

/** Records what callers got, as the first address or the code of the error, in the order of the responses. */
function world(threads = 6) {
  const clock = new ManualClock();
  const underWay = new Map<string, (response: string) => void>();
  const asked: string[] = [];
  const got: string[] = [];
  const resolve = boundedResolve(
    (name, found) => {
      asked.push(name);
      underWay.set(name, (response) => {
        underWay.delete(name);
        if (response.includes(".")) found(null, [{ address: response, family: 4 }]);
        else found(Object.assign(new Error(response), { code: response }), []);
      });
    },
    clock,
    threads,
  );
  return {
    clock,
    asked,
    got,
    underWay,
    ask: (name: string) => {
      resolve(name, (error, [first]) => {
        got.push(`${name} ${error === null ? first?.address : error.message}`);
      });
    },
    /** Makes the name server respond with an address or an error code. */
    respond: async (name: string, response: string) => {
      underWay.get(name)?.(response);
      await clock.advance(0);
    },
  };
}

test("who asks while a name is looked up shares the lookup", async () => {
  const { ask, respond, asked, got } = world();
  ask("a");
  ask("a");
  await respond("a", "1.1.1.1");
  expect(asked).toEqual(["a"]);
  expect(got).toEqual(["a 1.1.1.1", "a 1.1.1.1"]);
});

test("a response is good for 10 s, and a changed one is seen then", async () => {
  const { ask, respond, asked, got, clock } = world();
  ask("a");
  await respond("a", "1.1.1.1");
  await clock.advance(9_999);
  ask("a");
  await clock.advance(0);
  expect(got).toEqual(["a 1.1.1.1", "a 1.1.1.1"]);
  await clock.advance(1);
  ask("a");
  await respond("a", "10.0.0.1");
  expect(got[2]).toBe("a 10.0.0.1");
  expect(asked).toEqual(["a", "a"]);
});

test("a response of before the clock was set back is asked for again", async () => {
  let behindMs = 0;
  const asked: string[] = [];
  const time = new ManualClock(HOUR_MS);
  const sleep = (ms: number, signal: AbortSignal) => time.sleep(ms, signal);
  const clock = { nowMs: () => time.nowMs() - behindMs, sleep };
  const resolve = boundedResolve((name, found) => {
    asked.push(name);
    queueMicrotask(() => found(null, [{ address: "1.1.1.1", family: 4 }]));
  }, clock);
  const ask = () => new Promise<void>((responded) => resolve("a", () => responded()));
  await ask();
  await ask();
  expect(asked).toEqual(["a"]);
  behindMs = 60_000;
  await ask();
  await ask();
  expect(asked).toEqual(["a", "a"]);
});

test("a response is never given before asking has returned", async () => {
  const { ask, respond, got } = world();
  ask("a");
  await respond("a", "1.1.1.1");
  ask("a");
  expect(got).toHaveLength(1);
});

test("a name that waits for its turn for 1 s gets the address of before, however long the turn takes", async () => {
  const { ask, respond, asked, got, clock } = world();
  ask("a");
  await respond("a", "1.1.1.1");
  await clock.advance(60_000);
  for (const silent of ["b", "c", "d"]) ask(silent);
  ask("a");
  await clock.advance(999);
  expect(got).toEqual(["a 1.1.1.1"]);
  await clock.advance(1);
  ask("a");
  await clock.advance(0);
  expect(got).toEqual(["a 1.1.1.1", "a 1.1.1.1", "a 1.1.1.1"]);
  expect(asked).toEqual(["a", "b", "c", "d"]);
  await respond("b", "EAI_AGAIN");
  await respond("a", "2.2.2.2");
  ask("a");
  await clock.advance(0);
  expect(got.slice(3)).toEqual(["b EAI_AGAIN", "a 2.2.2.2"]);
});

test("a name server that says nothing for 1 s is overruled by the response of before", async () => {
  const { ask, respond, asked, got, clock } = world();
  ask("a");
  await respond("a", "1.1.1.1");
  await clock.advance(60_000);
  ask("a");
  await clock.advance(999);
  expect(got).toHaveLength(1);
  await clock.advance(1);
  expect(got).toHaveLength(2);
  ask("a");
  await clock.advance(0);
  expect(got).toEqual(["a 1.1.1.1", "a 1.1.1.1", "a 1.1.1.1"]);
  expect(asked).toEqual(["a", "a"]);
});

test.each([
  ["for now", "EAI_AGAIN", 60_000, "a 1.1.1.1"],
  [
    "for now, but the address of before is over an hour old",
    "EAI_AGAIN",
    HOUR_MS + 1,
    "a EAI_AGAIN",
  ],
  ["for good", "ENOTFOUND", 60_000, "a ENOTFOUND"],
])("a lookup that fails %s", async (_name, code, afterMs, expected) => {
  const { ask, respond, got, clock } = world();
  ask("a");
  await respond("a", "1.1.1.1");
  await clock.advance(afterMs);
  ask("a");
  await respond("a", code);
  expect(got[1]).toBe(expected);
});

test("a name that was never found has no response to fall back on", async () => {
  const { ask, respond, got, clock } = world();
  ask("a");
  await clock.advance(5_000);
  expect(got).toEqual([]);
  await respond("a", "EAI_AGAIN");
  expect(got).toEqual(["a EAI_AGAIN"]);
});

test("a failure is not remembered as a response", async () => {
  const { ask, respond, asked, got } = world();
  ask("a");
  await respond("a", "ENOTFOUND");
  ask("a");
  await respond("a", "1.1.1.1");
  expect(asked).toEqual(["a", "a"]);
  expect(got).toEqual(["a ENOTFOUND", "a 1.1.1.1"]);
});

test.each([
  [1, 1, 1],
  [4, 2, 1],
  [12, 6, 3],
])(
  "%i threads: %i lookups at most, %i of names that were not found",
  async (threads, all, failing) => {
    const { ask, respond, underWay } = world(threads);
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
    for (const name of names) ask(name);
    expect(underWay.size).toBe(all);
    for (const name of names) await respond(name, "ENOTFOUND");
    for (const name of names) ask(name);
    expect(underWay.size).toBe(failing);
  },
);

test("three lookups are in progress at most, the others in the order of asking", async () => {
  const { ask, respond, underWay } = world();
  for (const name of ["a", "b", "c", "d", "e"]) ask(name);
  expect([...underWay.keys()]).toEqual(["a", "b", "c"]);
  await respond("b", "1.1.1.1");
  expect([...underWay.keys()]).toEqual(["a", "c", "d"]);
});

test("names that are never found hold one place, and wait behind all others", async () => {
  const { ask, respond, underWay, got } = world();
  const dead = ["a", "b", "c", "d", "e"];
  for (const name of dead) {
    ask(name);
    await respond(name, "EAI_AGAIN");
  }
  for (const name of dead) ask(name);
  expect([...underWay.keys()]).toEqual(["a"]);
  ask("healthy");
  ask("other");
  ask("third");
  expect([...underWay.keys()]).toEqual(["a", "healthy", "other"]);
  await respond("a", "EAI_AGAIN");
  expect([...underWay.keys()]).toEqual(["healthy", "other", "third"]);
  await respond("healthy", "1.1.1.1");
  await respond("other", "1.1.1.1");
  expect(got.slice(-2)).toEqual(["healthy 1.1.1.1", "other 1.1.1.1"]);
  expect([...underWay.keys()]).toEqual(["third", "b"]);
});

test.each([
  [undefined, 4],
  ["12", 12],
  ["8x", 8],
  ["abc", 1],
  ["0", 1],
  ["-3", 1],
])("UV_THREADPOOL_SIZE=%s means %i threads", (given, threads) => {
  expect(threadsOf(given)).toBe(threads);
});
