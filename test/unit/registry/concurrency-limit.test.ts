import { expect, test } from "vitest";

import { Slots } from "../../../src/registry/concurrency-limit.ts";

const never = new AbortController().signal;

test("so many at once, the others in turn, also after one that failed", async () => {
  const slots = new Slots(2);
  const began: number[] = [];
  const ends: PromiseWithResolvers<number>[] = [];
  const work = [0, 1, 2, 3].map((index) =>
    slots.during(() => {
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
  const slots = new Slots(1);
  const end = Promise.withResolvers<string>();
  const gone = new AbortController();
  const first = slots.during(() => end.promise, never);
  const second = slots.during(() => Promise.resolve("second"), gone.signal);
  const third = slots.during(() => Promise.resolve("third"), never);
  gone.abort();
  end.resolve("first");
  expect(await Promise.all([first, second, third])).toEqual(["first", null, "third"]);
});
