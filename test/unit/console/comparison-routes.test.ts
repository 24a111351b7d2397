// Comparisons of past calls: which ones are started, and which results are kept.

import { expect, test } from "vitest";

import { Comparisons } from "../../../src/console/comparison-routes.ts";
import { Jobs } from "../../../src/console/jobs.ts";
import type { ComparedCallsQuery, ConsoleReader } from "../../../src/console/ports.ts";
import type { ComparedCallsView } from "../../../src/console/query-view.ts";
import { ManualClock } from "../../support/clock/manual-clock.ts";
import { LogLines } from "../../support/log/log-lines.ts";

const SENDER = { by: "session", from: "10.0.0.8" };
const FILE = "kafka: { brokers: [secret-broker:1] }";
const NOW = Date.parse("2026-03-01T09:00:00Z");

function world() {
  const log = new LogLines();
  const clock = new ManualClock(NOW);
  const queries: ComparedCallsQuery[] = [];
  const running: PromiseWithResolvers<ComparedCallsView | null>[] = [];
  const compareCalls: ConsoleReader["compareCalls"] = async (content, query) => {
    if (content.toString() !== FILE) return { kind: "unusable", problems: [] };
    queries.push(query);
    const compare = () => {
      const work = Promise.withResolvers<ComparedCallsView | null>();
      running.push(work);
      return work.promise;
    };
    return { kind: "prepared", compare };
  };
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `job-${ids}`;
  };
  const runner = {
    begin: () => {
      throw new Error("a comparison is not an action");
    },
  };
  const jobs = new Jobs({ runner, clock, log: log.log, newId });
  const reader = { compareCalls } as ConsoleReader;
  const comparisons = new Comparisons({ reader, jobs, clock });
  const begin = (query = "", content = FILE) =>
    comparisons.begin(Buffer.from(content), new URLSearchParams(query), SENDER);
  const end = async (result: ComparedCallsView | null) => {
    running.at(-1)?.resolve(result);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  return { log, queries, comparisons, begin, end };
}

function view(calls: number): ComparedCallsView {
  const found = { since: "", share: 1, calls, withoutSchema: 0 };
  return { ...found, unread: [], destinations: [], others: 0 };
}

test.each([
  ["", 86_400_000, 1],
  ["since=1h&share=1%25", 3_600_000, 0.01],
  ["since=7d&share=10%25", 604_800_000, 0.1],
  ["since=forever&share=toString", 86_400_000, 1],
])("%s", async (query, sinceMs, share) => {
  const { begin, queries } = world();
  expect(await begin(query)).toMatchObject({ kind: "begun", job: { action: { share } } });
  expect(queries).toEqual([{ sinceMs: NOW - sinceMs, share }]);
});

test("a file that cannot be compared starts no job", async () => {
  const { begin, log } = world();
  expect(await begin("", "other")).toEqual({ kind: "unusable", problems: [] });
  expect(log.seen).toEqual([]);
});

test("the result of the latest one is kept, and the file appears nowhere", async () => {
  const { begin, end, comparisons, log } = world();
  await begin();
  expect(comparisons.find("job-1")).toMatchObject({ job: { state: "running" }, result: null });
  expect(await begin()).toMatchObject({ kind: "rejected", status: 409 });
  await end(view(7));
  expect(comparisons.find("job-1")).toMatchObject({ job: { state: "done" }, result: { calls: 7 } });
  await begin();
  await end(null);
  expect(comparisons.find("job-1")).toBeNull();
  expect(comparisons.find("job-2")).toMatchObject({ job: { state: "failed" }, result: null });
  expect(JSON.stringify([log.lines, comparisons.find("job-2")])).not.toContain("secret-broker");
});
