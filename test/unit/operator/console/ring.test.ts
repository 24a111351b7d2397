import { expect, test } from "vitest";
import { Ring } from "../../../../src/operator/console/history.ts";

const rate = (counts: Float32Array, ms: number) => [counts[0], ms];
const newRing = () => new Ring({ stepMs: 1_000, slots: 4, width: 1 });

test("counts lie in the slot in which they end", () => {
  const ring = newRing();
  ring.add([3], 500, 10_400);
  ring.add([4], 500, 10_900);
  ring.add([5], 500, 11_400);
  expect(ring.read(11_500, rate)).toEqual({
    fromMs: 8_000,
    values: [null, null, [7, 1_000], [5, 500]],
  });
});

test("time without a look is not known, and is no zero", () => {
  const ring = newRing();
  ring.add([3], 1_000, 10_900);
  ring.add([0], 1_000, 12_900);
  expect(ring.read(12_950, rate).values).toEqual([null, [3, 1_000], null, [0, 1_000]]);
});

test("after a longer time than all slots, nothing of before is left", () => {
  const ring = newRing();
  for (let second = 0; second < 9; second += 1) ring.add([second], 1_000, second * 1_000 + 999);
  ring.add([70], 1_000, 70_999);
  expect(ring.read(70_999, rate).values).toEqual([null, null, null, [70, 1_000]]);
  expect(ring.read(75_500, rate).values).toEqual([null, null, null, null]);
});

test("the oldest slot is used again", () => {
  const ring = newRing();
  for (let second = 0; second < 9; second += 1) ring.add([second], 1_000, second * 1_000 + 999);
  const found = ring.read(8_999, rate);
  expect(found.fromMs).toBe(5_000);
  expect(found.values).toEqual([5, 6, 7, 8].map((count) => [count, 1_000]));
});

test("a clock that was put back adds to a slot that is there, or to none", () => {
  const ring = newRing();
  ring.add([1], 1_000, 10_500);
  ring.add([2], 1_000, 9_500);
  ring.add([9], 1_000, 1_500);
  expect(ring.read(10_500, rate).values).toEqual([null, null, [2, 1_000], [1, 1_000]]);
});
