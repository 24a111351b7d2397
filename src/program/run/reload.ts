/**
 * Reloads the configuration while the program runs, one reload at a time.
 *
 *   the file now                         outcome     then
 *   is invalid                           invalid     everything continues; the problems are reported
 *   equals the current configuration     unchanged   nothing
 *   differs in settings that need a      unchanged   those settings are reported
 *     restart
 *   differs in settings that may change  applied     these are applied (`apply-config.ts`); the rest is reported
 *   ... except destinations whose        applied     these stay pending until their topics exist:
 *       topics are missing                           checked every 2 s
 *   ... only in such destinations        unchanged   the same
 *   ... and an error occurs              failed      the error is reported; the next reload tries again
 *
 * Requests for a reload while another reload is waiting share that reload. No reload starts once the program stops.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import { problemSentence } from "../../base/settings/problem.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import { applied, changesOf, isUnchanged } from "../../config/changes.ts";
import type { Config } from "../../config/config.ts";
import { configHash } from "../../config/hash.ts";
import type { Loaded } from "../../config/load.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { Lacking } from "./apply-config.ts";
import {
  type Cause,
  createReloadReport,
  type ReloadOutcome,
  type ReloadReport,
  type Standing,
} from "./reload-report.ts";

const LOOK_FOR_TOPICS_MS = 2_000;

export interface Reloaded {
  readonly outcome: ReloadOutcome;
  /** Hash of the current configuration. */
  readonly hash: string;
  /** Why the configuration was not applied, in sentences. */
  readonly problems: readonly string[];
  /** Settings that apply after a restart. */
  readonly needsRestart: readonly string[];
  /** Destinations that wait for their topics. */
  readonly waiting: readonly string[];
}

export interface RunningConfiguration {
  readonly hash: string;
  readonly appliedAtMs: number;
}

export interface ReloadDeps {
  /** Never throws. */
  readonly load: () => Loaded;
  /** Never rejects. */
  readonly makeTopics: (running: Config, wanted: Config) => Promise<Lacking>;
  /** Returns a function that ends the parts that are no longer in `next`. */
  readonly takeOver: (running: Config, next: Config) => (current: () => Config) => Promise<void>;
  /** Called after each reload with the files of the configuration. */
  readonly follow: (files: readonly string[]) => void;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** After disposal, no more configurations are applied. */
export class Reloader implements Disposable {
  readonly #deps: ReloadDeps;
  readonly #report: ReloadReport;
  readonly #stopped = new AbortController();
  readonly #standing: Standing = {
    invalid: null,
    needsRestart: [],
    waiting: new Map(),
    lackingFor: null,
  };
  #running: Config;
  #wanted: Config;
  #hash: string;
  #appliedAtMs: number;
  /** Hash of the whole file. */
  #fileHash: string;
  #last = Promise.resolve();
  #queued: { cause: Cause; readonly reading: Promise<Reloaded> } | null = null;
  #isLooking = false;

  /** @param started the configuration with which the stages were started, and its hash. */
  constructor(deps: ReloadDeps, started: { readonly config: Config; readonly hash: string }) {
    this.#deps = deps;
    this.#report = createReloadReport(deps);
    this.#running = started.config;
    this.#wanted = started.config;
    this.#hash = started.hash;
    this.#appliedAtMs = deps.clock.nowMs();
    this.#fileHash = started.hash;
    this.#report.runs(started.hash);
  }

  /** Resolves when the configuration is applied; removed parts may still be shutting down. Never rejects. */
  reload(cause: Cause): Promise<Reloaded> {
    if (this.#stopped.signal.aborted) {
      return Promise.resolve(this.#result("failed", ["the program is stopping"]));
    }
    this.#queued ??= { cause, reading: this.#inTurn() };
    // A queued reload that would only have checked for topics now also reads the file.
    if (this.#queued.cause === "topics") this.#queued.cause = cause;
    return this.#queued.reading;
  }

  /** Returns the current configuration, and the time since which it has been current. */
  running(): RunningConfiguration {
    return { hash: this.#hash, appliedAtMs: this.#appliedAtMs };
  }

  /** Returns the problems of the configuration on disk; null if it is valid. */
  refused(): Standing["invalid"] {
    return this.#standing.invalid;
  }

  /** Sentences for `/readyz`. */
  healthProblems(): readonly string[] {
    return this.#report.healthProblems(this.#standing);
  }

  [Symbol.dispose](): void {
    this.#stopped.abort();
  }

  async #inTurn(): Promise<Reloaded> {
    await this.#last;
    const cause = this.#queued?.cause ?? "file";
    this.#queued = null;
    const reading = this.#work(cause).catch((thrown: unknown) => {
      const { message } = asError(thrown);
      if (!this.#stopped.signal.aborted) this.#report.failed(message, cause);
      return this.#result("failed", [message]);
    });
    this.#last = reading.then(({ outcome }) => this.#report.count(outcome, cause));
    return await reading;
  }

  async #work(cause: Cause): Promise<Reloaded> {
    const problems = cause === "topics" ? [] : this.#read();
    if (problems.length > 0) {
      const sinceMs = this.#standing.invalid?.sinceMs ?? this.#deps.clock.nowMs();
      this.#standing.invalid = { sinceMs, problems };
      this.#report.invalid(this.#standing, cause);
      return this.#result("invalid", problems);
    }
    return this.#result((await this.#take(cause)) ? "applied" : "unchanged");
  }

  /** Reads the file. Returns its problems; empty if it is valid. */
  #read(): readonly string[] {
    const loaded = this.#deps.load();
    this.#deps.follow(loaded.files);
    if (loaded.kind === "invalid") return loaded.problems.map(problemSentence);
    this.#standing.invalid = null;
    this.#standing.needsRestart = changesOf(this.#running, loaded.config).needsRestart;
    this.#report.readable(this.#standing, loaded.warnings);
    this.#wanted = applied(this.#running, loaded.config);
    this.#fileHash = loaded.hash;
    return [];
  }

  /** Returns `true` if anything was applied. */
  async #take(cause: Cause): Promise<boolean> {
    const { makeTopics, takeOver } = this.#deps;
    const { waiting, error } = await makeTopics(this.#running, this.#wanted);
    this.#stopped.signal.throwIfAborted();
    this.#standing.waiting = waiting;
    this.#standing.lackingFor = error;
    this.#report.waiting(this.#standing);
    if (waiting.size > 0) void this.#lookForTopics();
    const next = heldBack(this.#running, this.#wanted, new Set(waiting.keys()));
    const changes = changesOf(this.#running, next);
    if (isUnchanged(changes)) return false;
    const settle = takeOver(this.#running, next);
    this.#running = next;
    this.#appliedAtMs = this.#deps.clock.nowMs();
    const isWhole = waiting.size + this.#standing.needsRestart.length === 0;
    this.#hash = isWhole ? this.#fileHash : configHash(next);
    this.#report.applied(changes, cause, this.#hash);
    settle(() => this.#running).catch((thrown: unknown) => {
      this.#report.failed(asError(thrown).message, cause);
    });
    return true;
  }

  /** Checks for the topics repeatedly, until no destination is waiting for topics. */
  async #lookForTopics(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { signal } = this.#stopped;
    await this.#deps.clock.sleep(LOOK_FOR_TOPICS_MS, signal).catch(() => undefined);
    this.#isLooking = false;
    if (this.#standing.waiting.size > 0) await this.reload("topics");
  }

  #result(outcome: ReloadOutcome, problems: readonly string[] = []): Reloaded {
    const { needsRestart, waiting } = this.#standing;
    const [hash, ids] = [this.#hash, [...waiting.keys()]];
    return { outcome, hash, problems, needsRestart, waiting: ids };
  }
}

/**
 * Reduces a new configuration to what can be applied now: destinations whose topics do not exist yet stay pending.
 *
 *   a destination                                     is
 *   whose topics are missing, and is new              omitted, even from the lists of sources
 *   whose topics are missing, and runs as another     kept as it is now
 *     type, or with a loose order
 *   any other                                         as in the new configuration
 *
 * @param running the current configuration.
 * @param wanted the configuration to apply.
 * @param waiting IDs of the destinations in `wanted` whose topics do not exist.
 */
export function heldBack(
  running: Config,
  wanted: Config,
  waiting: ReadonlySet<DestinationId>,
): Config {
  if (waiting.size === 0) return wanted;
  const earlier = new Map(running.destinations.map((each) => [each.id, each]));
  const destinations = wanted.destinations.flatMap((each) => {
    return waiting.has(each.id) ? (earlier.get(each.id) ?? []) : each;
  });
  const there = new Set(destinations.map(({ id }) => id));
  const sources = wanted.sources.map((source) => {
    return { ...source, destinations: source.destinations.filter((id) => there.has(id)) };
  });
  return { ...wanted, destinations, sources };
}
