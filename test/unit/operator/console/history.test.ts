import { expect, test } from "vitest";
import { SKIP_REASONS } from "../../../../src/base/words/reasons.ts";
import {
  AT,
  type Counters,
  DESTINATION_WIDTH,
  FLOW_AT,
} from "../../../../src/operator/console/counters.ts";
import { History, Ring } from "../../../../src/operator/console/history.ts";

type Counted = Omit<Counters, "startedAtMs">;
const START = 1_000_000 * 120_000;

function counted(calls: number, rows: Readonly<Record<string, readonly [number, number]>> = {}) {
  const flow = new Float64Array(5);
  flow[FLOW_AT.calls] = calls;
  const destinations = new Map<string, Float64Array>();
  for (const [id, [accepted, failed]] of Object.entries(rows)) {
    const row = new Float64Array(DESTINATION_WIDTH);
    row[AT.responses] = accepted;
    row[AT.responses + 4] = failed;
    row[AT.buckets] = accepted + failed;
    destinations.set(id, row);
  }
  return { flow, destinations, counts: [true, false, true, true, false] } satisfies Counted;
}

test("rates of now are over the last looks, a minute's worth", () => {
  const history = new History();
  for (let look = 1; look <= 10; look += 1) history.add(counted(2), 2_000, START + look * 2_000);
  expect(history.readFlowRates()).toEqual({
    calls: 60,
    routed: null,
    accepted: 0,
    failed: 0,
    deadLetters: null,
  });
});

test("nothing is known before the first count", () => {
  const history = new History();
  expect(history.readFlowRates().calls).toBeNull();
  expect(history.readRecentLatency()("crm")).toEqual({ p50Ms: null, p99Ms: null });
  expect(history.readFlow(START).values.calls.every((value) => value === null)).toBe(true);
});

test("a destination has how long its attempts take", () => {
  const history = new History();
  history.add(counted(0, { crm: [9, 1], shop: [0, 0] }), 10_000, START + 10_000);
  const latencyOf = history.readRecentLatency();
  expect(latencyOf("crm")).toEqual({ p50Ms: 3, p99Ms: 5 });
  expect(latencyOf("shop")).toEqual({ p50Ms: null, p99Ms: null });
});

test("responses over time are by class; a destination that did nothing has none", () => {
  const history = new History();
  history.add(counted(0, { crm: [8, 2], shop: [0, 0] }), 60_000, START + 60_000);
  const { values, stepMs, fromMs } = history.readResponses("crm", START + 60_000);
  expect([stepMs, values["2xx"].length]).toEqual([120_000, 120]);
  expect(fromMs).toBe(START - 119 * 120_000);
  expect([values["2xx"].at(-1), values["5xx"].at(-1), values["2xx"].at(-2)]).toEqual([8, 2, null]);
  expect(history.readResponses("shop", START + 60_000).values["2xx"].at(-1)).toBeNull();
  expect(history.readLatency("crm", START + 60_000).values.p99.at(-1)).toBe(5);
});

function skipping(rows: Readonly<Record<string, number>>, routes = true): Counted {
  const { flow, counts } = counted(0);
  const destinations = Object.entries(rows).map(([id, filtered]) => {
    const row = new Float64Array(DESTINATION_WIDTH);
    row[AT.skipped + SKIP_REASONS.indexOf("filtered")] = filtered;
    return [id, row] as const;
  });
  const [, ...others] = counts;
  return { flow, destinations: new Map(destinations), counts: [routes, ...others] };
}

test("skipped calls are counted per hour, for as long as a process that routes was read", () => {
  const history = new History();
  const hour = 3_600_000;
  const at = Math.ceil(START / hour) * hour;
  history.add(skipping({ shop: 9 }, false), 60_000, at + 60_000);
  history.add(skipping({ crm: 5 }), 60_000, at + hour + 60_000);
  history.add(skipping({ crm: 7 }), 60_000, at + hour + 120_000);
  history.add(skipping({ crm: 0 }), 60_000, at + 2 * hour + 60_000);
  const { values, fromMs, stepMs } = history.readSkipped("crm", at + 3 * hour);
  expect([fromMs, stepMs, values.filtered.length]).toEqual([at - 20 * hour, hour, 24]);
  expect(values.filtered.slice(-4)).toEqual([null, 12, 0, null]);
  expect(values.disabled.slice(-4)).toEqual([null, 0, 0, null]);
  expect(history.readSkipped("quiet", at + 3 * hour).values.filtered.slice(-4)).toEqual([
    null,
    0,
    0,
    null,
  ]);
  // Nothing was attempted in this time.
  expect(
    history.readResponses("crm", at + 3 * hour).values["2xx"].every((each) => each === null),
  ).toBe(true);
});

test("destinations beyond the bound have the duration of now, and no history", () => {
  const history = new History();
  const ids = Array.from({ length: 2_001 }, (_, index) => `d${index}`);
  const rows = Object.fromEntries(ids.map((id) => [id, [1, 0] as const]));
  history.add(counted(0, rows), 60_000, START + 60_000);
  expect(history.readResponses("d1999", START + 60_000).values["2xx"].at(-1)).toBe(1);
  expect(history.readResponses("d2000", START + 60_000).values["2xx"].at(-1)).toBeNull();
  expect(history.readRecentLatency()("d2000").p50Ms).toBe(3);
});

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
