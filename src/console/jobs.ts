/**
 * Actions, while they are under way and for a while after. They live in this process alone.
 *
 *   an action                                         then
 *   of a kind and destination that is under way       refused (409): one at a time
 *   when eight are under way                          refused (503)
 *   that the configuration does not allow             refused (400), with the reason
 *   otherwise                                         it begins, and the log says who wanted it
 *   its work is done                                  done, with its words
 *   its work says that it is not, or throws           failed, or stopped where that was asked for
 *   the process ends                                  it is stopped, and waited for
 *
 * `src/cli/console/action-runner.ts` says what a crash does to each.
 */

import { asError } from "../runtime/as-error.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Log } from "../telemetry/log.ts";
import type { Sender } from "./access.ts";
import { keyOf } from "./action.ts";
import type { Action, JobView, NamedReplay } from "./action-view.ts";
import type { ActionRunner, JobTelling, Work } from "./ports.ts";

const RUNNING_MAX = 8;
const ENDED_MAX = 20;

export interface JobsDeps {
  readonly runner: ActionRunner;
  readonly clock: Pick<Clock, "nowMs">;
  readonly log: Log;
  /** Another one each time: a UUID. */
  readonly newId: () => string;
}

export type Begun =
  | { readonly kind: "begun"; readonly job: JobView }
  | { readonly kind: "refused"; readonly status: 400 | 409 | 503; readonly why: string };

export class Jobs implements AsyncDisposable {
  readonly #deps: JobsDeps;
  /** The latest last. */
  #jobs: Job[] = [];
  readonly #listeners = new Set<() => void>();

  constructor(deps: JobsDeps) {
    this.#deps = deps;
  }

  begin(action: Action, sender: Sender): Begun {
    const running = this.#jobs.filter(({ isRunning }) => isRunning);
    const key = keyOf(action);
    if (running.some((job) => keyOf(job.action) === key)) {
      return refused(409, `Under way already: ${key}. Wait for its end, or stop it.`);
    }
    if (running.length >= RUNNING_MAX) {
      return refused(503, `${RUNNING_MAX} actions are under way. Try again when one has ended.`);
    }
    let work: Work;
    try {
      work = this.#deps.runner.begin(action);
    } catch (error) {
      return refused(400, asError(error).message);
    }
    const job = new Job(action, this.#deps, () => this.#tell());
    this.#deps.log.info({ job: job.id, action, ...sender }, "console.action.started");
    this.#keep(job);
    void job.run(work).then(() => this.#tell());
    this.#tell();
    return { kind: "begun", job: job.view };
  }

  /** False: there is none of this id under way. */
  stop(id: string): boolean {
    const job = this.#jobs.find((each) => each.id === id && each.isRunning);
    job?.stop();
    return job !== undefined;
  }

  /** The latest first. */
  views(): readonly JobView[] {
    return this.#jobs.map(({ view }) => view).toReversed();
  }

  get isAnyRunning(): boolean {
    return this.#jobs.some(({ isRunning }) => isRunning);
  }

  /** Called when one begins, says something, or ends. */
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

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

class Job implements JobTelling {
  readonly id: string;
  readonly action: Action;
  ended: Promise<void> = Promise.resolve();
  readonly #deps: Omit<JobsDeps, "runner">;
  readonly #onChange: () => void;
  readonly #stopping = new AbortController();
  readonly #startedAt: string;
  readonly #said: string[] = [];
  #endedAt: string | null = null;
  #state: JobView["state"] = "running";
  #progress: () => string = () => "";
  #count: number | null = null;
  #unfinished: NamedReplay | null = null;

  constructor(action: Action, deps: Omit<JobsDeps, "runner">, onChange: () => void) {
    this.id = deps.newId();
    this.action = action;
    this.#deps = deps;
    this.#onChange = onChange;
    this.#startedAt = this.#now();
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  get view(): JobView {
    return {
      id: this.id,
      action: this.action,
      startedAt: this.#startedAt,
      endedAt: this.#endedAt,
      state: this.#state,
      progress: this.isRunning ? this.#progress() : "",
      said: [...this.#said],
      count: this.#count,
      unfinished: this.#unfinished,
    };
  }

  run(work: Work): Promise<void> {
    this.ended = this.#run(work);
    return this.ended;
  }

  stop(): void {
    this.#stopping.abort();
  }

  follow(text: () => string): void {
    this.#progress = text;
  }

  say(sentence: string): void {
    this.#said.push(sentence);
    this.#deps.log.info({ job: this.id, progress: sentence }, "console.action.progress");
    this.#onChange();
  }

  async #run(work: Work): Promise<void> {
    const { signal } = this.#stopping;
    let isDone = false;
    try {
      const outcome = await work(this, signal);
      isDone = outcome.isDone;
      this.#count = outcome.count;
      this.#unfinished = outcome.unfinished;
    } catch (error) {
      if (!signal.aborted) this.say(asError(error).message);
    }
    this.#state = isDone ? "done" : signal.aborted ? "stopped" : "failed";
    this.#endedAt = this.#now();
    this.#deps.log.info({ job: this.id, outcome: this.#state }, "console.action.finished");
  }

  #now(): string {
    return new Date(this.#deps.clock.nowMs()).toISOString();
  }
}

function refused(status: 400 | 409 | 503, why: string): Begun {
  return { kind: "refused", status, why };
}
