/** A console on a separate port, with a reader whose data a test sets. */

import { once } from "node:events";
import { type Clock, systemClock } from "../../../src/base/runtime/clock.ts";
import type { Action } from "../../../src/operator/console/action-view.ts";
import type { Counters } from "../../../src/operator/console/counters.ts";
import type {
  ActionRunner,
  ConsoleConfig,
  ConsoleReader,
  JobWork,
  Poll,
  WorkOutcome,
} from "../../../src/operator/console/ports.ts";
import type { QueryName, QueryResults } from "../../../src/operator/console/query-view.ts";
import { readPageFiles } from "../../../src/operator/console/read/start-console.ts";
import { type RunningConsole, startConsole } from "../../../src/operator/console/stage.ts";
import { buildPage } from "../../../tools/page/build.ts";
import { pollOf } from "../build/console-poll.ts";
import { LogLines } from "../log/log-lines.ts";

/** All data of the console. A test may replace a part at any time. */
export interface ConsoleData {
  poll: Poll;
  counters: Counters;
  readonly results: { -readonly [Name in QueryName]: QueryResults[Name] };
  /** If true, reading audiences ends only when its signal aborts. */
  isSlow: boolean;
  /** Number of reads of audiences in progress. */
  reading: number;
  /** How often Kafka was polled. */
  polls: number;
  /** The times that the console has waited, in milliseconds. */
  readonly slept: number[];
  /** Actions that were started, the latest last. */
  readonly acted: Action[];
  /** The work of an action, which a test can replace. */
  work: (action: Action) => JobWork;
}

const DONE: WorkOutcome = { isDone: true, count: null, unfinished: null };

export interface TestConsole extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly data: ConsoleData;
  readonly log: LogLines;
}

export async function startTestConsole(over: Partial<ConsoleConfig> = {}): Promise<TestConsole> {
  await buildPage();
  const data: ConsoleData = {
    poll: pollOf([]),
    counters: {
      ...{ flow: new Float64Array(5), startedAtMs: 0 },
      destinations: new Map(),
      counts: [true, true, true, true, true],
    },
    results: {
      "dead-letters": { counts: [], total: 0, replayed: 0, samples: [], isCut: false },
      audiences: [],
      call: { place: null, steps: [], finalStates: [], gaps: [], decisions: [], requests: [] },
      calls: { calls: [], scanned: 0, since: "2026-03-01T08:00:00.000Z", isCut: false },
      attempts: { isOn: false, attempts: [], since: null, isCut: false },
      configuration: { yaml: "kafka: {}\n", hash: "0123456789ab" },
    },
    isSlow: false,
    reading: 0,
    ...{ polls: 0, slept: [] },
    acted: [],
    work: () => () => Promise.resolve(DONE),
  };
  const counters = () => new Map([["host-1:9464", data.counters]]);
  const reader: ConsoleReader = {
    pollOnce: () => {
      data.polls += 1;
      const report = { ...data.poll.report, at: new Date().toISOString() };
      return Promise.resolve({ ...data.poll, report, counters: counters() });
    },
    sample: () => Promise.resolve(counters()),
    read: async (name, _query, signal) => {
      if (name === "audiences" && data.isSlow) {
        data.reading += 1;
        await once(signal, "abort");
        data.reading -= 1;
      }
      return data.results[name];
    },
    configuration: () => data.results.configuration,
  };
  const runner: ActionRunner = {
    begin: (action) => {
      const work = data.work(action);
      data.acted.push(action);
      return work;
    },
  };
  const log = new LogLines();
  const config = { host: "127.0.0.1", port: 0, token: null, readOnly: true, version: "0.0.0" };
  const running: RunningConsole = await startConsole(
    { reader, runner, files: readPageFiles(), clock: recording(data.slept), log: log.log },
    { ...config, ...over },
  );
  return {
    url: running.url,
    port: running.port,
    data,
    log,
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** The clock of the system, which adds the times that were waited to a list. */
function recording(slept: number[]): Clock {
  const sleep: Clock["sleep"] = (ms, signal) => {
    slept.push(ms);
    return systemClock.sleep(ms, signal);
  };
  return { ...systemClock, sleep };
}
