// The table in the header of `serial-runner.ts`, row by row.

import { expect, test } from "vitest";

import { serialRunner } from "../../../../src/router/stage/serial-runner.ts";

/** Creates steps that the test ends. */
function steps() {
  const waiting: string[] = [];
  const begun: string[] = [];
  const failures: unknown[] = [];
  let under: PromiseWithResolvers<void> | null = null;
  const loop = serialRunner(
    () => {
      const name = waiting.shift();
      if (name === undefined) return null;
      begun.push(name);
      under = Promise.withResolvers<void>();
      return under.promise;
    },
    (thrown) => failures.push(thrown),
  );
  const take = (name: string) => {
    waiting.push(name);
    loop.wake();
  };
  return {
    begun,
    failures,
    take,
    ended: loop.ended,
    end: () => under?.resolve(),
    fail: (error: Error) => under?.reject(error),
  };
}

async function turn(): Promise<void> {
  for (let index = 0; index < 5; index += 1) await Promise.resolve();
}

test("a step begins at once, and the next one when it has ended", async () => {
  const { begun, take, end, ended } = steps();
  take("one");
  take("two");
  expect(begun).toEqual(["one"]);
  end();
  await turn();
  expect(begun).toEqual(["one", "two"]);
  end();
  await ended();
});

test("what comes in any turn after the last step's end is not left lying", async () => {
  // If there were a turn of the event loop between the check and its consequence, a wake would be lost in one of these
  // turns.
  for (let turns = 0; turns < 6; turns += 1) {
    const { begun, take, end } = steps();
    take("one");
    end();
    for (let index = 0; index < turns; index += 1) await Promise.resolve();
    take("two");
    await turn();
    expect(begun).toEqual(["one", "two"]);
  }
});

test("after a failure nothing more is begun, and it is reported once", async () => {
  const { begun, failures, take, fail, ended } = steps();
  const error = new Error("no brokers");
  take("one");
  take("two");
  fail(error);
  await ended();
  take("three");
  await turn();
  expect(begun).toEqual(["one"]);
  expect(failures).toEqual([error]);
});

test("a look that throws is a failure too", async () => {
  const failures: unknown[] = [];
  const error = new Error("cannot look");
  const loop = serialRunner(
    () => {
      throw error;
    },
    (thrown) => failures.push(thrown),
  );
  loop.wake();
  await loop.ended();
  expect(failures).toEqual([error]);
});

test("it has ended while it was never woken", async () => {
  const { begun, ended } = steps();
  await ended();
  expect(begun).toEqual([]);
});
