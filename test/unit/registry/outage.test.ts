import { beforeEach, expect, test } from "vitest";

import { Outage, Unavailable } from "../../../src/registry/outage.ts";

let outage = new Outage();

beforeEach(() => {
  outage = new Outage();
});

test("said at most once a minute, and once when it is over for all", () => {
  const said = (sinceMs: number) => ({ msg: "registry.unreachable", unreachableForMs: sinceMs });
  expect(outage.failed(1, "down", 1_000)).toEqual(said(0));
  expect(outage.failed(2, "down", 2_000)).toBeNull();
  expect(outage.failed(1, "down", 60_999)).toBeNull();
  expect(outage.failed(1, "down", 61_000)).toEqual(said(60_000));
  expect(outage.responded(1, 62_000)).toBeNull();
  expect(outage.sinceMs).toBe(1_000);
  expect(outage.healthProblems(62_000)).toEqual(["1 schema has been unavailable for 61 s: down"]);
  const over = { msg: "registry.reachable", unreachableForMs: 62_000 };
  expect(outage.responded(2, 63_000)).toEqual(over);
  expect(outage.sinceMs).toBeNull();
  expect(outage.responded(3, 64_000)).toBeNull();
});

test("one that comes and goes is no flood of lines, and none says only half", () => {
  expect(outage.failed(1, "down", 0)).not.toBeNull();
  expect(outage.responded(1, 100)).not.toBeNull();
  for (let ms = 200; ms < 60_000; ms += 200) {
    expect(outage.failed(1, "down", ms)).toBeNull();
    expect(outage.responded(1, ms + 100)).toBeNull();
  }
  expect(outage.failed(1, "down", 60_000)).not.toBeNull();
});

test("one that nobody waits for any more is forgotten", () => {
  outage.failed(1, "down", 0);
  outage.failed(2, "down", 0);
  outage.left(1);
  expect(outage.healthProblems(5_000)).toHaveLength(1);
  outage.left(2);
  expect(outage.healthProblems(5_000)).toEqual([]);
  expect(outage.sinceMs).toBeNull();
  expect(outage.responded(1, 6_000)).toBeNull();
});

test("several schemas are counted", () => {
  outage.failed(1, "down", 0);
  outage.failed(2, "worse", 1_000);
  expect(outage.healthProblems(3_000)).toEqual(["2 schemas have been unavailable for 3 s: worse"]);
});

test("a schema that only its own lookups do not return: 30 s, then once at each lookup", () => {
  const unavailable = new Unavailable();
  expect(unavailable.leftMs(7, 1_000)).toBe(Number.POSITIVE_INFINITY);
  expect(unavailable.failed(7, 1_000)).toBe(false);
  expect(unavailable.failed(7, 30_999)).toBe(false);
  expect(unavailable.leftMs(7, 30_999)).toBe(1);
  expect(unavailable.failed(7, 31_000)).toBe(true);
  expect(unavailable.leftMs(7, 40_000)).toBe(0);
  expect(unavailable.failed(7, 60_000)).toBe(true);
  expect(unavailable.failed(8, 60_000)).toBe(false);
  // It is not looked up for ten minutes.
  expect(unavailable.failed(7, 660_000)).toBe(false);
});

test("an outage, or a response, ends the 30 s", () => {
  const unavailable = new Unavailable();
  unavailable.failed(7, 0);
  unavailable.responded(7);
  expect(unavailable.failed(7, 30_000)).toBe(false);
  expect(unavailable.healthProblems([6])).toEqual([]);
  const [problem] = unavailable.healthProblems([6, 7]);
  expect(problem).toMatch(/wait up to 30 s.*responds to other lookups: 7$/);
});
