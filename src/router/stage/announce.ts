/**
 * Writes a record about this process to `operator-actions`. From the record, other processes learn to which
 * destinations this process routes. From the brokers' response, this process learns the brokers' time
 * (`runtime/broker-clock.ts`).
 *
 *   when                                             then
 *   the process starts                               up to three records are written, until the clock is measured;
 *                                                    the stages wait at most 10 s for that
 *   30 s have passed, its clock was set, or its      a record is written, unless one is in flight
 *     routes have changed
 *   the record is rejected                           the rejection is logged; the last clock measurement
 *                                                    still applies, and nothing waits for the record
 *   the clock starts or ceases to differ by 2 s      the change is logged; `/readyz` and a metric show
 *     or more                                        the difference
 *   another process has been routing to more         the start and the end are logged; the end with the
 *     destinations for 30 s                          commands that replay the missed calls
 *   the process stops                                a tombstone is written
 *   the process is killed                            the others ignore its record after 90 s; a process that
 *                                                    starts an hour later removes the record
 *     before its record is acknowledged              no other process has its record
 *     after that, before its first commit            the next process reads the same records again,
 *                                                    without waiting for this process
 *
 * No offset depends on these records.
 */

import { asError } from "../../base/runtime/as-error.ts";
import { type BrokerClock, isWrongClock, wrongClockText } from "../../base/runtime/broker-clock.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import { shellWord } from "../../domain/shell-word.ts";
import { isoTimestamp } from "../../domain/timestamp.ts";
import type { Producer } from "../../kafka/port.ts";
import type { RunningOperatorActions } from "../control/follow-operator-actions.ts";
import { type MissingRoute, missingRoutes } from "../control/missing-routes.ts";
import {
  forgetRecord,
  type ProcessRecord,
  processKey,
  processRecord,
} from "../control/operator-actions.ts";

const EVERY_MS = 30_000;
const LOOK_EVERY_MS = 5_000;
const START_LIMIT_MS = 10_000;
const START_RECORDS = 3;
/** If the two clocks differ by more than this, the process's clock was set, or the machine was suspended. */
const CLOCK_STEP_MS = 1_000;
/**
 * A difference is reported only after this time, because processes with the same file do not reload it at the same
 * moment.
 */
const MISSING_FOR_MS = 30_000;
/** Maximum number of commands in one log line. */
const NAMED_MAX = 10;

export interface AnnounceDeps {
  readonly producer: Pick<Producer, "send">;
  readonly clock: BrokerClock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface Announced {
  /** The `operator-actions` topic. */
  readonly topic: string;
  /** Unique among all processes. */
  readonly id: string;
  readonly stages: readonly string[];
  /** The destinations to which calls from each source may be routed with the current configuration. */
  readonly routes: () => ProcessRecord["routes"];
}

export interface Announcing extends Disposable {
  /** Resolves when the clock has been measured, or when it cannot be measured at the moment. */
  readonly measured: Promise<void>;
  /** Call when the other processes are known. */
  compare(others: Pick<RunningOperatorActions, "processes" | "overProcesses">): void;
  /** Call when the configuration has changed. */
  changed(): void;
  readonly healthProblems: () => readonly string[];
}

/** Starts immediately. Dispose the result before the producer is closed. */
export function announce(deps: AnnounceDeps, of: Announced): Announcing {
  return new Announcer(deps, of);
}

class Announcer implements Announcing {
  readonly measured: Promise<void>;
  readonly #deps: AnnounceDeps;
  readonly #of: Announced;
  readonly #stopped = new AbortController();
  readonly #isMeasured: () => void;
  readonly #clockTells: ClockTells;
  readonly #endGauges: () => void;
  #process: ProcessRecord;
  #others: Pick<RunningOperatorActions, "processes"> | null = null;
  #isWriting = false;
  #writtenAtMs = Number.NEGATIVE_INFINITY;
  #offsetMs: number | null = null;
  #isRefused = false;
  /** The routes that were missing at the last comparison, by destination. */
  #missing = new Map<string, MissingRoute & { readonly isLogged: boolean }>();

  constructor(deps: AnnounceDeps, of: Announced) {
    const { clock, metrics } = deps;
    const measured = Promise.withResolvers<void>();
    this.measured = measured.promise;
    this.#isMeasured = measured.resolve;
    this.#deps = deps;
    this.#of = of;
    this.#clockTells = new ClockTells(deps);
    const { id, stages, routes } = of;
    this.#process = { id, stages, sinceMs: clock.nowMs(), routes: routes() };
    const [offset, missing] = [metrics.clockOffset.bind({}), metrics.routesMissing.bind({})];
    const own = metrics.clockTimestamp.bind({});
    this.#endGauges = metrics.onScrape(() => {
      offset.set((clock.offsetMs() ?? Number.NaN) / 1_000);
      own.set((clock.nowMs() + (clock.offsetMs() ?? 0)) / 1_000);
      missing.set(this.#missing.size);
    });
    const limit = clock.sleep(START_LIMIT_MS, this.#stopped.signal);
    void limit.catch(() => undefined).then(this.#isMeasured);
    void this.#live();
  }

  compare(others: Pick<RunningOperatorActions, "processes" | "overProcesses">): void {
    this.#others = others;
    const keys = others.overProcesses();
    if (keys.length > 0) void this.#send(keys.map((key) => forgetRecord(this.#of.topic, key)));
  }

  changed(): void {
    // Until now, the previous configuration applied.
    this.#compare();
    const { id, stages, routes } = this.#of;
    this.#process = { id, stages, sinceMs: this.#deps.clock.nowMs(), routes: routes() };
    this.#compare();
    void this.#write();
  }

  readonly healthProblems = (): readonly string[] => {
    const names = [...this.#missing.keys()].join(", ");
    const missing = `another process of this cluster routes to ${names}, but this one does not: the configurations of the two processes differ`;
    return [...this.#clockTells.healthProblems(), ...(this.#missing.size === 0 ? [] : [missing])];
  };

  [Symbol.dispose](): void {
    this.#stopped.abort();
    this.#endGauges();
    this.#found([]);
    void this.#send([forgetRecord(this.#of.topic, processKey(this.#of.id))]);
  }

  async #live(): Promise<void> {
    const { signal } = this.#stopped;
    const { clock } = this.#deps;
    for (let count = 1; count <= START_RECORDS && !signal.aborted; count += 1) {
      // If the clock's offset could not be measured, this is reported only after the last of these records. A record
      // that was sent again, for example because its topic was new, cannot be used for the measurement.
      if (!(await this.#write({ tells: count === START_RECORDS }))) break;
    }
    // `sinceMs` is set again when the stages start, because the clock has been corrected by then.
    this.#process = { ...this.#process, sinceMs: clock.nowMs() };
    this.#isMeasured();
    while (!signal.aborted) {
      await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      const isOld = clock.nowMs() - this.#writtenAtMs >= EVERY_MS - LOOK_EVERY_MS / 2;
      const steppedMs = (clock.offsetMs() ?? 0) - (this.#offsetMs ?? 0);
      if (isOld || Math.abs(steppedMs) >= CLOCK_STEP_MS) void this.#write();
      this.#compare();
    }
  }

  /** Returns false if the record was rejected. Never rejects. */
  async #write({ tells } = { tells: true }): Promise<boolean> {
    if (this.#isWriting) return false;
    this.#isWriting = true;
    const isTaken = await this.#send([processRecord(this.#of.topic, this.#process)]);
    this.#isWriting = false;
    const { clock } = this.#deps;
    this.#writtenAtMs = clock.nowMs();
    this.#offsetMs = clock.offsetMs();
    if (isTaken && tells && !this.#stopped.signal.aborted) this.#clockTells.tell(this.#of.topic);
    return isTaken;
  }

  async #send(records: readonly OutgoingRecord[]): Promise<boolean> {
    const { producer, log } = this.#deps;
    const { topic } = this.#of;
    try {
      const [refused] = await producer.send(records, { giveBack: true });
      if (refused !== undefined && !this.#isRefused) {
        log.warn({ topic, error: refused.error }, "process.unannounced");
      }
      this.#isRefused = refused !== undefined;
      return refused === undefined;
    } catch (thrown) {
      log.debug({ topic, error: asError(thrown).message }, "process.unannounced");
      return false;
    }
  }

  #compare(): void {
    if (this.#others === null) return;
    this.#found(missingRoutes(this.#process, this.#others.processes()));
  }

  #found(all: readonly MissingRoute[]): void {
    const { clock, log } = this.#deps;
    const nowMs = clock.nowMs();
    const before = this.#missing;
    this.#missing = new Map(
      all.map((each) => {
        const known = before.get(each.destination);
        const sinceMs = known?.sinceMs ?? each.sinceMs;
        return [each.destination, { ...each, sinceMs, isLogged: known?.isLogged ?? false }];
      }),
    );
    const over = [...before.values()].filter(
      ({ destination, isLogged }) => isLogged && !this.#missing.has(destination),
    );
    if (over.length > 0) log.warn(lineOf(over, nowMs), "routes.missing-over");
    const fresh = [...this.#missing.values()].filter(
      ({ sinceMs, isLogged }) => !isLogged && nowMs - sinceMs >= MISSING_FOR_MS,
    );
    if (fresh.length === 0) return;
    for (const each of fresh) this.#missing.set(each.destination, { ...each, isLogged: true });
    log.warn(lineOf(fresh, nowMs), "routes.missing");
  }
}

/** Returns the time range until now, and the commands that replay the calls in this range. */
function lineOf(missing: readonly MissingRoute[], nowMs: number) {
  const sinceMs = Math.min(...missing.map((each) => each.sinceMs));
  const named = missing.slice(0, NAMED_MAX);
  return {
    destinations: missing.map(({ destination }) => destination),
    sources: [...new Set(missing.flatMap(({ sources }) => sources))].slice(0, NAMED_MAX),
    since: isoTimestamp(sinceMs),
    until: isoTimestamp(nowMs),
    fix: named
      .map(({ destination, sinceMs: fromMs }) => {
        const range = `--since ${isoTimestamp(fromMs)} --until ${isoTimestamp(nowMs)}`;
        return `switchyard replay ${shellWord(destination)} ${range}`;
      })
      .join("; "),
  };
}

class ClockTells {
  readonly #deps: Pick<AnnounceDeps, "clock" | "log">;
  #reported: "unknown" | "wrong" | null = null;

  constructor(deps: Pick<AnnounceDeps, "clock" | "log">) {
    this.#deps = deps;
  }

  tell(topic: string): void {
    const { clock, log } = this.#deps;
    const offsetMs = clock.offsetMs();
    const before = this.#reported;
    this.#reported = offsetMs === null ? "unknown" : isWrongClock(offsetMs) ? "wrong" : null;
    if (this.#reported === before) return;
    if (offsetMs === null) log.warn({ topic }, "clock.unknown");
    else if (this.#reported === "wrong") log.warn({ offsetMs }, "clock.wrong");
    else if (before === "wrong") log.info({ offsetMs }, "clock.right");
  }

  healthProblems(): readonly string[] {
    const text = wrongClockText(this.#deps.clock.offsetMs());
    return text === null ? [] : [`the clock of this process is ${text}`];
  }
}
