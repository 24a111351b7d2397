// Bytes of a body must arrive in each window.

import { expect, test } from "vitest";

import { createSlowBodies } from "../../../../src/router/ingest/slow-bodies.ts";

function body() {
  let stops = 0;
  const one = {
    bytes: 0,
    stop: () => {
      stops += 1;
    },
    stops: () => stops,
  };
  return one;
}

test("one that brings the least rate in each window continues", () => {
  const slow = createSlowBodies(100, 10_000);
  const steady = body();
  slow.begin(steady, 0);
  for (let nowMs = 1_000; nowMs <= 60_000; nowMs += 1_000) {
    steady.bytes += 100;
    slow.look(nowMs);
  }
  expect(steady.stops()).toBe(0);
});

test("one that brings less is stopped when its window is over, once", () => {
  const slow = createSlowBodies(100, 10_000);
  const trickle = body();
  slow.begin(trickle, 0);
  trickle.bytes = 999;
  slow.look(9_999);
  expect(trickle.stops()).toBe(0);
  slow.look(10_000);
  slow.look(30_000);
  expect(trickle.stops()).toBe(1);
});

test("much at the beginning does not pay for later windows", () => {
  const slow = createSlowBodies(100, 10_000);
  const early = body();
  slow.begin(early, 0);
  early.bytes = 1_000_000;
  slow.look(10_000);
  expect(early.stops()).toBe(0);
  slow.look(20_000);
  expect(early.stops()).toBe(1);
});

test("one that has ended is let go; a rate of 0 stops nobody", () => {
  const slow = createSlowBodies(100, 10_000);
  const over = body();
  slow.begin(over, 0);
  slow.end(over);
  slow.look(20_000);
  expect(over.stops()).toBe(0);
  const any = createSlowBodies(0, 10_000);
  any.begin(over, 0);
  any.look(20_000);
  expect(over.stops()).toBe(0);
});
