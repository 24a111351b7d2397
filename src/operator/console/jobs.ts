/**
 * Keeps the actions that are in progress and the latest ones that have ended, only in the memory of this process.
 *
 *   an action                                         result
 *   with the kind and destination of one in progress  rejected (409)
 *   while eight are in progress                       rejected (503)
 *   that the configuration does not allow             rejected (400), with the reason
 *   otherwise                                         starts; its sender is logged
 *   whose work is done                                done, with its messages
 *   whose work is incomplete, or throws               failed, or stopped if that was requested
 *   that is in progress when the process ends         is stopped, and the process waits for it
 *
 * `src/operator/console/read/action-runner.ts` describes the effect of a crash on each action.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { Sender } from "./access.ts";
import { keyOf } from "./action.ts";
import type { Action, JobView } from "./action-view.ts";
import type { ActionProgress, ActionRunner, JobWork, WorkOutcome } from "./ports.ts";

const RUNNING_MAX = 8;
const ENDED_MAX = 20;

export interface JobsDeps {
  readonly runner: ActionRunner;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
  /** Returns a new UUID on each call. */
  readonly newId: () => string;
}

export type Begun =
  | { readonly kind: "begun"; readonly job: JobView }
  | { readonly kind: "rejected"; readonly status: 400 | 409 | 503; readonly why: string };

export class Jobs implements AsyncDisposable {
  readonly #deps: JobsDeps;
  /** The jobs; the latest one is last. */
  #jobs: Job[] = [];
  readonly #listeners = new Set<() => void>();

  constructor(deps: JobsDeps) {
    this.#deps = deps;
  }

  begin(action: Action, sender: Sender): Begun {
    const running = this.#jobs.filter(({ isRunning }) => isRunning);
    const key = keyOf(action);
    if (running.some((job) => keyOf(job.action) === key)) {
      return rejected(409, `Already in progress: ${key}. Wait until it ends, or stop it.`);
    }
    if (running.length >= RUNNING_MAX) {
      return rejected(503, `${RUNNING_MAX} actions are in progress. Try again when one has ended.`);
    }
    let work: JobWork;
    try {
      work = this.#deps.runner.begin(action);
    } catch (error) {
      return rejected(400, asError(error).message);
    }
    const job = new Job(action, this.#deps, () => this.#notify());
    this.#deps.log.info({ job: job.id, action, ...sender }, "console.action.started");
    this.#keep(job);
    void job.run(work).then(() => this.#notify());
    this.#notify();
    return { kind: "begun", job: job.view };
  }

  /** Returns false if no action with this ID is in progress. */
  stop(id: string): boolean {
    const job = this.#jobs.find((each) => each.id === id && each.isRunning);
    job?.stop();
    return job !== undefined;
  }

  /** The latest first. */
  list(): readonly JobView[] {
    return this.#jobs.map(({ view }) => view).toReversed();
  }

  get isAnyRunning(): boolean {
    return this.#jobs.some(({ isRunning }) => isRunning);
  }

  /** Calls the listener when a job starts, reports something, or ends. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const job of this.#jobs) job.stop();
    await Promise.all(this.#jobs.map(({ ended }) => ended));
  }

  #keep(job: Job): void {
    const ended = this.#jobs.filter(({ isRunning }) => !isRunning);
    const old = new Set(ended.slice(0, Math.max(0, ended.length - ENDED_MAX)));
    this.#jobs = [...this.#jobs.filter((each) => !old.has(each)), job];
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

class Job implements ActionProgress {
  readonly id: string;
  readonly action: Action;
  ended: Promise<void> = Promise.resolve();
  readonly #deps: Omit<JobsDeps, "runner">;
  readonly #onChange: () => void;
  readonly #stopping = new AbortController();
  /** All but the progress, which is asked for each time. Changed by messages, and once at the end. */
  #view: JobView;
  #progress: () => string = () => "";

  constructor(action: Action, deps: Omit<JobsDeps, "runner">, onChange: () => void) {
    this.id = deps.newId();
    this.action = action;
    this.#deps = deps;
    this.#onChange = onChange;
    const begun = { startedAt: this.#now(), endedAt: null, state: "running" } as const;
    const nothing = { progress: "", messages: [], count: null, unfinished: null };
    this.#view = { id: this.id, action, ...begun, ...nothing };
  }

  get isRunning(): boolean {
    return this.#view.state === "running";
  }

  get view(): JobView {
    return { ...this.#view, progress: this.isRunning ? this.#progress() : "" };
  }

  run(work: JobWork): Promise<void> {
    this.ended = this.#run(work);
    return this.ended;
  }

  stop(): void {
    this.#stopping.abort();
  }

  follow(text: () => string): void {
    this.#progress = text;
  }

  report(sentence: string): void {
    this.#view = { ...this.#view, messages: [...this.#view.messages, sentence] };
    this.#deps.log.info({ job: this.id, progress: sentence }, "console.action.progress");
    this.#onChange();
  }

  async #run(work: JobWork): Promise<void> {
    const { signal } = this.#stopping;
    let outcome: WorkOutcome = { isDone: false, count: null, unfinished: null };
    try {
      outcome = await work(this, signal);
    } catch (error) {
      if (!signal.aborted) this.report(asError(error).message);
    }
    const { isDone, ...result } = outcome;
    const state = isDone ? "done" : signal.aborted ? "stopped" : "failed";
    this.#view = { ...this.#view, ...result, state, endedAt: this.#now() };
    this.#deps.log.info({ job: this.id, outcome: state }, "console.action.finished");
  }

  #now(): string {
    return new Date(this.#deps.clock.nowMs()).toISOString();
  }
}

function rejected(status: 400 | 409 | 503, why: string): Begun {
  return { kind: "rejected", status, why };
}
