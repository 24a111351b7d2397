import { beforeEach, describe, expect, test } from "vitest";

import { OutageLog } from "../../../../src/kafka/cluster/outage-log.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

let nowMs = 0;
let lines = new LogLines();
let outages = make();
let waiting: { readonly atMs: number; readonly then: () => void }[] = [];

function make(): OutageLog {
  return new OutageLog(lines.log, { nowMs: () => nowMs }, (ms, then) => {
    waiting.push({ atMs: nowMs + ms, then });
  });
}

function pass(ms: number): void {
  nowMs += ms;
  const due = waiting.filter(({ atMs }) => atMs <= nowMs);
  waiting = waiting.filter(({ atMs }) => atMs > nowMs);
  for (const { then } of due) then();
}

beforeEach(() => {
  nowMs = 1_000;
  lines = new LogLines();
  outages = make();
  waiting = [];
});

const refused = new Error("connect ECONNREFUSED");

describe("a broker", () => {
  test("that is gone is said once, and once that it is back, with the time", () => {
    for (let times = 0; times < 1_000; times += 1) outages.recordFailure("a:1", refused);
    nowMs += 60_000;
    for (let times = 0; times < 1_000; times += 1) outages.recordConnection("a:1");
    expect(lines.lines).toEqual([
      {
        level: "warn",
        msg: "kafka.broker.unreachable",
        fields: { broker: "a:1", error: "connect ECONNREFUSED", since: "1970-01-01T00:00:01.000Z" },
      },
      {
        level: "info",
        msg: "kafka.broker.reachable",
        fields: { broker: "a:1", unreachableForMs: 60_000 },
      },
    ]);
  });

  test("that was never gone is not said to be back; each broker counts for itself", () => {
    outages.recordConnection("a:1");
    outages.recordFailure("a:1", refused);
    outages.recordFailure("b:2", refused);
    expect(lines.seen).toEqual(["kafka.broker.unreachable", "kafka.broker.unreachable"]);
  });
});

describe("a broker that stays away", () => {
  test("is said once a minute, with what fails now and since when", () => {
    for (let second = 0; second < 150; second += 1) {
      outages.recordSilence("a:1", new Error(`no response ${second}`));
      nowMs += 1_000;
    }
    const since = "1970-01-01T00:00:01.000Z";
    expect(lines.lines.map(({ fields }) => fields)).toEqual([
      { broker: "a:1", error: "no response 0", since },
      { broker: "a:1", error: "no response 60", since },
      { broker: "a:1", error: "no response 120", since },
    ]);
    expect(outages.outageOf("a:1")).toMatchObject({ sinceMs: 1_000, error: "no response 149" });
    expect(outages.outageOf("b:2")).toBeNull();
    outages.recordResponse("a:1");
    expect(lines.lines.at(-1)?.fields).toEqual({ broker: "a:1", unreachableForMs: 150_000 });
    expect(outages.outageOf("a:1")).toBeNull();
  });

  test("and takes connections all the same is back only with a response", () => {
    outages.recordSilence("a:1", new Error("no response"));
    outages.recordConnection("a:1");
    expect(outages.outageOf("a:1")).not.toBeNull();
    outages.recordFailure("a:1", refused);
    outages.recordConnection("a:1");
    expect(outages.outageOf("a:1")).not.toBeNull();
    outages.recordResponse("a:1");
    expect(lines.seen).toEqual(["kafka.broker.unreachable", "kafka.broker.reachable"]);
  });
});

describe("a broker that does not respond to fetches", () => {
  const hung = new Error("no response to a Fetch request within 10 s");

  test("is away until it does, whatever else it responds and although connections are made", () => {
    const { reportSilence, reportResponse } = outages.fetchOutages("a:1");
    for (let times = 0; times < 6; times += 1) {
      reportSilence(hung);
      outages.recordResponse("a:1");
      outages.recordConnection("a:1");
      nowMs += 5_000;
    }
    expect(outages.outageOf("a:1")).toMatchObject({ sinceMs: 1_000, error: hung.message });
    expect(outages.outageOf("b:2")).toBeNull();
    warnUnlessOutage("failed");
    pass(10_000);
    reportResponse();
    expect(lines.lines.map(({ msg, level }) => [level, msg])).toEqual([
      ["warn", "kafka.broker.unreachable"],
      ["debug", FAILING],
      ["info", "kafka.broker.reachable"],
    ]);
    expect(lines.lines.at(-1)?.fields).toEqual({ broker: "a:1", unreachableForMs: 40_000 });
    reportResponse();
    expect(lines.lines).toHaveLength(3);
  });

  test("and does not respond at all is one outage", () => {
    const { reportSilence, reportResponse } = outages.fetchOutages("a:1");
    outages.recordSilence("a:1", new Error("no response"));
    nowMs += 1_000;
    reportSilence(hung);
    outages.recordResponse("a:1");
    expect(outages.outageOf("a:1")).toMatchObject({ sinceMs: 1_000 });
    reportResponse();
    expect(lines.seen).toEqual(["kafka.broker.unreachable", "kafka.broker.reachable"]);
    expect(lines.lines.at(-1)?.fields).toMatchObject({ unreachableForMs: 1_000 });
  });
});

const FAILED = { error: "it failed" };
const FAILING = "kafka.produce.failing";

function warnUnlessOutage(text: string): void {
  outages.warnUnlessOutage(text, FAILED, FAILING);
}

describe("problem", () => {
  test("waits until an outage would be known, and is said once a minute, whatever its numbers", () => {
    for (let times = 0; times < 100; times += 1) warnUnlessOutage(`failed ${times}`);
    expect(lines.seen).toEqual([]);
    expect(waiting).toHaveLength(1);
    pass(10_000);
    expect(lines.seen).toEqual([FAILING]);
    warnUnlessOutage("failed 7");
    pass(10_000);
    expect(lines.seen).toEqual([FAILING]);
    pass(60_000);
    warnUnlessOutage("failed 7");
    warnUnlessOutage("failed otherwise");
    pass(10_000);
    expect(lines.seen).toEqual([FAILING, FAILING, FAILING]);
  });

  test("is silent while a broker is known to be unreachable", () => {
    outages.recordFailure("a:1", refused);
    warnUnlessOutage("failed");
    expect([lines.seen, waiting]).toEqual([["kafka.broker.unreachable"], []]);
  });

  test("is silent when a broker turns out to be unreachable, although it is back by then", () => {
    warnUnlessOutage("failed");
    outages.recordFailure("a:1", refused);
    pass(5_000);
    outages.recordConnection("a:1");
    pass(5_000);
    expect(lines.seen).toEqual(["kafka.broker.unreachable", "kafka.broker.reachable"]);
    expect(lines.lines.at(-1)).toEqual({ level: "debug", msg: FAILING, fields: FAILED });
  });

  test("is silent shortly after a broker has come back, and said later", () => {
    outages.recordFailure("a:1", refused);
    outages.recordConnection("a:1");
    pass(10_000);
    warnUnlessOutage("of the outage");
    pass(10_000);
    expect(lines.seen).not.toContain(FAILING);
    warnUnlessOutage("of something else");
    pass(10_000);
    expect(lines.seen.at(-1)).toBe(FAILING);
  });

  test("waits for at most 200 texts", () => {
    for (let at = 0; at < 500; at += 1) warnUnlessOutage(`failed ${"x".repeat(at)}`);
    expect(waiting).toHaveLength(200);
    expect(lines.lines).toHaveLength(300);
  });
});
