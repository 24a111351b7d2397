// Actions in progress: a test for each row of the table in jobs.ts.

import { beforeEach, expect, test } from "vitest";

import type { Action } from "../../../../src/operator/console/action-view.ts";
import { Jobs } from "../../../../src/operator/console/jobs.ts";
import type { ActionProgress, WorkOutcome } from "../../../../src/operator/console/ports.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

const SENDER = { by: "token", from: "10.0.0.8" };
const DONE: WorkOutcome = { isDone: true, count: null, unfinished: null };

interface Begun {
  readonly action: Action;
  readonly progress: ActionProgress;
  readonly signal: AbortSignal;
  readonly end: (outcome: WorkOutcome) => void;
  readonly fail: (error: Error) => void;
}

let log: LogLines;
let jobs: Jobs;
let begun: Begun[];
let refusal: string | null;

beforeEach(() => {
  log = new LogLines();
  begun = [];
  refusal = null;
  const begin = (action: Action) => {
    if (refusal !== null) throw new Error(refusal);
    return (progress: ActionProgress, signal: AbortSignal) => {
      const { promise, resolve, reject } = Promise.withResolvers<WorkOutcome>();
      begun.push({ action, progress, signal, end: resolve, fail: reject });
      return promise;
    };
  };
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `job-${ids}`;
  };
  jobs = new Jobs({ runner: { begin }, clock: new ManualClock(), log: log.log, newId });
});

function waitFor(destination: string): Action {
  return { action: "wait", destination };
}

function statusOf(action: Action): number {
  const found = jobs.begin(action, SENDER);
  return found.kind === "begun" ? 202 : found.status;
}

/** Returns the job that started last, with its text. */
function last(): Begun {
  const found = begun.at(-1);
  if (found === undefined) throw new Error("nothing has begun");
  return found;
}

async function ended(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
}

test("one of a kind and destination at a time; others next to it", async () => {
  expect(statusOf(waitFor("crm"))).toBe(202);
  const again = jobs.begin(waitFor("crm"), SENDER);
  expect(again).toEqual({
    kind: "rejected",
    status: 409,
    why: "Already in progress: wait of crm. Wait until it ends, or stop it.",
  });
  expect(statusOf(waitFor("erp"))).toBe(202);
  expect(statusOf({ action: "retry", destination: "crm" })).toBe(202);
  begun[0]?.end(DONE);
  await ended();
  expect(statusOf(waitFor("crm"))).toBe(202);
});

test("not more than eight at a time", async () => {
  for (let index = 0; index < 8; index += 1) expect(statusOf(waitFor(`d-${index}`))).toBe(202);
  expect(statusOf(waitFor("crm"))).toBe(503);
  begun[3]?.end(DONE);
  await ended();
  expect(statusOf(waitFor("crm"))).toBe(202);
});

test("one that the configuration does not allow is rejected, and leaves nothing behind", () => {
  refusal = "no destination has the ID";
  expect(jobs.begin(waitFor("gone"), SENDER)).toMatchObject({ status: 400, why: refusal });
  expect([jobs.list(), log.seen]).toEqual([[], []]);
});

test("its words, its count and its end are reported, and the log says who wanted it", async () => {
  let changes = 0;
  using _watch = jobs.onChange(() => {
    changes += 1;
  });
  jobs.begin(waitFor("crm"), SENDER);
  let left = 7;
  last().progress.follow(() => `${left} left`);
  left = 3;
  expect(jobs.list()[0]).toMatchObject({ state: "running", progress: "3 left", endedAt: null });
  last().progress.report("Nothing is left.");
  last().end({ isDone: true, count: 3, unfinished: null });
  await ended();
  const [view] = jobs.list();
  expect(view).toMatchObject({
    state: "done",
    progress: "",
    messages: ["Nothing is left."],
    count: 3,
    action: waitFor("crm"),
  });
  expect(view?.endedAt).not.toBeNull();
  expect(changes).toBe(3);
  const job = view?.id;
  expect(log.lines.map(({ msg, fields }) => [msg, fields])).toEqual([
    ["console.action.started", { job, action: waitFor("crm"), ...SENDER }],
    ["console.action.progress", { job, progress: "Nothing is left." }],
    ["console.action.finished", { job, outcome: "done" }],
  ]);
});

test("one that is stopped says so, with the replay that can be resumed", async () => {
  const id = jobs.begin(waitFor("crm"), SENDER);
  if (id.kind === "rejected") throw new Error(id.why);
  expect(jobs.stop("another")).toBe(false);
  expect(jobs.stop(id.job.id)).toBe(true);
  expect(last().signal.aborted).toBe(true);
  last().end({ isDone: false, count: null, unfinished: { kind: "calls", replay: "r-1" } });
  await ended();
  expect(jobs.list()[0]).toMatchObject({ state: "stopped", unfinished: { replay: "r-1" } });
  expect(jobs.stop(id.job.id)).toBe(false);
});

test("one that fails says why; one that was done before it was stopped is done", async () => {
  jobs.begin(waitFor("crm"), SENDER);
  last().fail(new Error("no broker responds"));
  await ended();
  expect(jobs.list()[0]).toMatchObject({ state: "failed", messages: ["no broker responds"] });
  const second = jobs.begin(waitFor("crm"), SENDER);
  if (second.kind === "rejected") throw new Error(second.why);
  jobs.stop(second.job.id);
  last().end(DONE);
  await ended();
  expect(jobs.list()[0]).toMatchObject({ state: "done" });
});

test("the latest twenty that have ended are kept, and those in progress", async () => {
  jobs.begin(waitFor("first"), SENDER);
  for (let index = 0; index < 30; index += 1) {
    jobs.begin(waitFor("crm"), SENDER);
    last().end(DONE);
    await ended();
  }
  jobs.begin(waitFor("erp"), SENDER);
  const views = jobs.list();
  expect(views).toHaveLength(22);
  expect(views.at(-1)?.action).toEqual(waitFor("first"));
  expect(views[0]?.action).toEqual(waitFor("erp"));
});

test("the end of the process stops those in progress, and waits for them", async () => {
  jobs.begin(waitFor("crm"), SENDER);
  let isOver = false;
  const over = jobs[Symbol.asyncDispose]().then(() => {
    isOver = true;
  });
  await ended();
  expect([last().signal.aborted, isOver]).toEqual([true, false]);
  last().fail(new Error("aborted"));
  await over;
  expect(jobs.list()[0]).toMatchObject({ state: "stopped", messages: [] });
});
