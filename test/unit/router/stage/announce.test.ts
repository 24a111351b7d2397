// The table of announce.ts: what is logged, shown and written, and when.

import { expect, onTestFinished, test } from "vitest";
import { BrokerClock } from "../../../../src/base/runtime/broker-clock.ts";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import type { ProcessRecord } from "../../../../src/router/control/operator-actions.ts";
import { type Announced, announce } from "../../../../src/router/stage/announce.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

const TOPIC = "sw.operator-actions";
type Broker = "measures" | "keeps-own-times" | "refuses" | "unreachable";

function world(skewMs = 0, firstBroker: Broker = "measures") {
  const time = new ManualClock();
  const startMs = time.nowMs();
  const state = { skewMs, broker: firstBroker, routes: routesOf("crm"), stages: ["route"] };
  const own = {
    nowMs: () => time.nowMs() + state.skewMs,
    sleep: (ms: number, signal: AbortSignal) => time.sleep(ms, signal),
  };
  const monotonicMs = () => time.nowMs() - startMs;
  const clock = new BrokerClock(own, monotonicMs);
  const written: { readonly key: string; readonly value: string | null }[] = [];
  const producer = {
    send: async (records: readonly { key: Uint8Array | string | null; value: unknown }[]) => {
      if (state.broker === "unreachable") throw new Error("unreachable");
      if (state.broker === "refuses") {
        return [{ record: records[0] as never, error: "INVALID_TIMESTAMP" }];
      }
      for (const { key, value } of records) {
        written.push({ key: `${key}`, value: value === null ? null : `${value}` });
      }
      const atMs = monotonicMs();
      if (state.broker === "measures") {
        clock.measure({ appendedAtMs: time.nowMs(), sentAtMs: atMs, respondedAtMs: atMs });
      }
      return [];
    },
  };
  const lines = new LogLines();
  const metrics = createMetrics();
  const of: Announced = {
    topic: TOPIC,
    id: "own",
    get stages() {
      return state.stages;
    },
    routes: () => state.routes,
  };
  const start = () => {
    const announcing = announce({ producer, clock, log: lines.log, metrics }, of);
    onTestFinished(() => announcing[Symbol.dispose]());
    return announcing;
  };
  const shown = async (name: string) => {
    const text = (await metrics.text()).split("\n");
    const line = text.find((each) => each.startsWith(`${name} `));
    return line === undefined ? null : Number(line.split(" ").at(-1));
  };
  const logged = (msg: string) => lines.lines.filter((line) => line.msg === msg);
  return { time, clock, state, written, lines, start, shown, logged };
}

function routesOf(...destinations: readonly string[]): ProcessRecord["routes"] {
  return new Map([["web", destinations]]);
}

/** Returns another process that has been running since the start. */
function other(time: ManualClock, more: Partial<ProcessRecord> = {}): ProcessRecord {
  const routes = routesOf("crm", "erp");
  return { id: "other", stages: ["route"], sinceMs: time.nowMs(), routes, ...more };
}

const CLOCK_LINES = ["clock.unknown", "clock.wrong", "clock.right"];

test.each<[name: string, skewMs: number, broker: Broker, lines: readonly string[]]>([
  ["right", 0, "measures", []],
  ["1.9 s ahead", 1_900, "measures", []],
  ["2 s ahead", 2_000, "measures", ["clock.wrong"]],
  ["5 h behind", -18_000_000, "measures", ["clock.wrong"]],
  ["not measured", 18_000_000, "keeps-own-times", ["clock.unknown"]],
  ["of a process whose records are refused", 18_000_000, "refuses", []],
  ["of a process without brokers", 18_000_000, "unreachable", []],
])("a clock that is %s", async (_name, skewMs, broker, expected) => {
  const { time, start, shown, lines } = world(skewMs, broker);
  const announcing = start();
  await time.advance(60_000);
  expect(lines.seen.filter((msg) => CLOCK_LINES.includes(msg))).toEqual(expected);
  const isWrong = expected.includes("clock.wrong");
  expect(announcing.healthProblems().join()).toEqual(
    isWrong ? expect.stringContaining("clock") : "",
  );
  expect(await shown("switchyard_clock_offset_seconds")).toBe(
    broker === "measures" ? skewMs / 1_000 : null,
  );
  // Whatever the brokers do, Prometheus can compare the value with its own clock.
  const ownS = (time.nowMs() + skewMs) / 1_000;
  expect(await shown("switchyard_clock_timestamp_seconds")).toBeCloseTo(ownS, 0);
});

test("a clock that is set wrong, and right again, is noticed within 5 s, once each", async () => {
  const { time, state, start, logged, shown } = world();
  const announcing = start();
  await time.advance(20_000);
  state.skewMs = -60_000;
  await time.advance(5_000);
  expect(logged("clock.wrong").map(({ fields }) => fields)).toEqual([{ offsetMs: -60_000 }]);
  expect(announcing.healthProblems()).toEqual([
    "the clock of this process is 60 s behind the brokers' clock",
  ]);
  await time.advance(120_000);
  expect(logged("clock.wrong")).toHaveLength(1);
  state.skewMs = 0;
  await time.advance(5_000);
  expect(logged("clock.right")).toHaveLength(1);
  expect(announcing.healthProblems()).toEqual([]);
  expect(await shown("switchyard_clock_offset_seconds")).toBe(0);
});

test("a record that is rejected is logged once, and again after one that was taken", async () => {
  const { time, state, start, logged } = world(0, "refuses");
  const announcing = start();
  await time.advance(120_000);
  await announcing.measured;
  expect(logged("process.unannounced")).toHaveLength(1);
  state.broker = "measures";
  await time.advance(60_000);
  state.broker = "refuses";
  await time.advance(60_000);
  expect(logged("process.unannounced")).toHaveLength(2);
});

test.each<[name: string, record: Partial<ProcessRecord>, missing: readonly string[]]>([
  ["routes to one destination more", {}, ["erp"]],
  ["routes to two more", { routes: routesOf("crm", "erp", "lake") }, ["erp", "lake"]],
  ["routes to the same", { routes: routesOf("crm") }, []],
  ["routes to fewer", { routes: routesOf() }, []],
  ["has another source", { routes: new Map([["app", ["erp"]]]) }, ["erp"]],
  ["delivers alone", { stages: ["deliver"] }, []],
  ["is this one", { id: "own" }, []],
])("another process that %s: missing for 30 s, it is logged", async (_name, record, missing) => {
  const { time, start, logged, shown } = world();
  const announcing = start();
  await time.advance(0);
  const others = [other(time, record)];
  announcing.compare({ processes: () => others, overProcesses: () => [] });
  await time.advance(29_000);
  expect(logged("routes.missing")).toEqual([]);
  expect(await shown("switchyard_routes_missing")).toBe(missing.length);
  await time.advance(6_000);
  const lines = logged("routes.missing");
  expect(lines.map(({ fields }) => fields.destinations)).toEqual(
    missing.length === 0 ? [] : [missing],
  );
  for (const name of missing) expect(announcing.healthProblems().join()).toContain(name);
  if (missing.length === 0) expect(announcing.healthProblems()).toEqual([]);
  await time.advance(600_000);
  expect(logged("routes.missing")).toHaveLength(lines.length);
});

test("when it is over, the commands of the whole time are logged; a short one is not", async () => {
  const { time, start, logged, shown } = world();
  const announcing = start();
  await time.advance(0);
  let others = [other(time)];
  announcing.compare({ processes: () => others, overProcesses: () => [] });
  await time.advance(20_000);
  others = [];
  await time.advance(20_000);
  expect(logged("routes.missing-over")).toEqual([]);
  const since = new Date(time.nowMs()).toISOString();
  others = [other(time)];
  await time.advance(100_000);
  others = [];
  await time.advance(5_000);
  const fields = logged("routes.missing-over")[0]?.fields;
  expect(fields).toMatchObject({ destinations: ["erp"], sources: ["web"], since });
  expect(fields?.fix).toBe(`switchyard replay erp --since ${since} --until ${fields?.until}`);
  expect(await shown("switchyard_routes_missing")).toBe(0);
});

test("a configuration that has caught up ends it at once, and is written", async () => {
  const { time, state, start, logged, written } = world();
  const announcing = start();
  await time.advance(0);
  const others = [other(time)];
  announcing.compare({ processes: () => others, overProcesses: () => [] });
  await time.advance(60_000);
  const before = written.length;
  state.routes = routesOf("crm", "erp");
  announcing.changed();
  expect(logged("routes.missing-over")).toHaveLength(1);
  expect(announcing.healthProblems()).toEqual([]);
  await time.advance(0);
  expect(written.slice(before).map(({ value }) => value)).toEqual([expect.stringContaining("erp")]);
});

test("it writes every 30 s, forgets processes that are over, and is forgotten when it stops", async () => {
  const { time, start, written } = world();
  const announcing = start();
  await time.advance(0);
  announcing.compare({ processes: () => [], overProcesses: () => ["process/old"] });
  await time.advance(0);
  expect(written.at(-1)).toEqual({ key: "process/old", value: null });
  const before = written.length;
  await time.advance(300_000);
  expect(written.length - before).toBe(10);
  announcing[Symbol.dispose]();
  expect(written.at(-1)).toEqual({ key: "process/own", value: null });
});
