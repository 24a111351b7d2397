/**
 * Tracks which brokers are unreachable. Logs an outage immediately, then once a minute, and once more when the
 * broker is reachable again.
 *
 *   what happens                                     log line
 *   a connection to a reachable broker fails         warn   kafka.broker.unreachable
 *   a response from a reachable broker times out     the same
 *   either, while the broker is unreachable          the same, once a minute, with the duration so far
 *   a response to a fetch times out                  the same, until a fetch gets a response
 *   an unreachable broker responds                   info   kafka.broker.reachable, with the duration
 *   a connection opens to a broker that was          the same, unless connections kept opening: a
 *     unreachable because none had opened            frozen broker accepts connections
 *   something fails while a broker is unreachable    debug
 *   something fails while no broker is known to      waits 10 s, within which an outage is detected
 *     be unreachable
 *     ... a broker is unreachable at the end, or an  debug
 *     outage ended in the last 20 s
 *     ... neither of these                           warn, the same text once a minute
 */

import type { Clock } from "../../base/runtime/clock.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { Exactly, FieldsOf, LineAt } from "../../base/telemetry/log-lines/log-lines.ts";

const REPEAT_AFTER_MS = 60_000;
/** The time within which an outage is detected: `cluster-watch.ts` checks every 5 s, and waits 4 s for a response. */
const KNOWN_AFTER_MS = 10_000;
const TEXTS_MAX = 200;
/** Numbers differ between log lines: correlation IDs, durations, ports. */
const NUMBERS = /\d+/g;
interface Outage {
  readonly sinceMs: number;
  readonly loggedAtMs: number;
  readonly error: string;
  /**
   * `true` if the broker did not respond to a request, so that a new connection does not prove that the broker
   * works.
   */
  readonly isSilent: boolean;
}

type After = (ms: number, then: () => void) => void;

/** A timer that does not keep the process alive. If the process ends meanwhile, the reason for that has been logged. */
const afterUnref: After = (ms, then) => void setTimeout(then, ms).unref();

function keyOf(text: string): string {
  return text.replaceAll(NUMBERS, "#");
}

export class OutageLog {
  readonly #log: Log;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #unreachable = new Map<string, Outage>();
  /** Outages of brokers that do not respond to fetches, even if they respond to other requests. */
  readonly #fetchless = new Map<string, Outage>();
  readonly #loggedAtMs = new Map<string, number>();
  /** The messages of problems whose log level is not decided yet. */
  readonly #waiting = new Set<string>();
  readonly #after: After;
  /** When an outage last ended. */
  #changedAtMs = Number.NEGATIVE_INFINITY;

  constructor(log: Log, clock: Pick<Clock, "nowMs">, after: After = afterUnref) {
    this.#log = log;
    this.#clock = clock;
    this.#after = after;
  }

  recordFailure(broker: string, error: Error): void {
    this.#addOutage(this.#unreachable, broker, error, false);
  }

  recordConnection(broker: string): void {
    if (this.#unreachable.get(broker)?.isSilent === false) this.recordResponse(broker);
  }

  /** Call when a response timed out, or the connection was closed. */
  recordSilence(broker: string, error: Error): void {
    this.#addOutage(this.#unreachable, broker, error, true);
  }

  recordResponse(broker: string): void {
    this.#endOutage(this.#unreachable, broker);
  }

  fetchOutages(broker: string) {
    return {
      reportSilence: (error: Error) => this.#addOutage(this.#fetchless, broker, error, true),
      reportResponse: () => this.#endOutage(this.#fetchless, broker),
    };
  }

  /** The start of the broker's outage, and the error; null if no outage is known. */
  outageOf(broker: string): { readonly sinceMs: number; readonly error: string } | null {
    return this.#unreachable.get(broker) ?? this.#fetchless.get(broker) ?? null;
  }

  #endOutage(among: Map<string, Outage>, broker: string): void {
    const outage = among.get(broker);
    if (outage === undefined) return;
    among.delete(broker);
    this.#changedAtMs = this.#clock.nowMs();
    if (this.outageOf(broker) !== null) return;
    const unreachableForMs = this.#changedAtMs - outage.sinceMs;
    this.#log.info({ broker, unreachableForMs }, "kafka.broker.reachable");
  }

  #addOutage(
    among: Map<string, Outage>,
    broker: string,
    { message }: Error,
    isSilent: boolean,
  ): void {
    const nowMs = this.#clock.nowMs();
    const known = among.get(broker) ?? this.#unreachable.get(broker) ?? this.#fetchless.get(broker);
    const sinceMs = known?.sinceMs ?? nowMs;
    const isDue = known === undefined || nowMs - known.loggedAtMs >= REPEAT_AFTER_MS;
    const loggedAtMs = isDue ? nowMs : known.loggedAtMs;
    const isSilentNow = isSilent || known?.isSilent === true;
    among.set(broker, { sinceMs, loggedAtMs, error: message, isSilent: isSilentNow });
    if (!isDue) return;
    const since = new Date(sinceMs).toISOString();
    this.#log.warn({ broker, error: message, since }, "kafka.broker.unreachable");
  }

  /** Logs a warning; the same text (ignoring numbers) at most once a minute. */
  warnOnce<Name extends LineAt<"warn">, Fields extends FieldsOf<Name>>(
    text: string,
    fields: Exactly<Name, Fields>,
    msg: Name,
  ): void {
    const nowMs = this.#clock.nowMs();
    const key = keyOf(text);
    const loggedAtMs = this.#loggedAtMs.get(key);
    if (loggedAtMs !== undefined && nowMs - loggedAtMs < REPEAT_AFTER_MS) return;
    if (this.#loggedAtMs.size >= TEXTS_MAX) this.#loggedAtMs.clear();
    this.#loggedAtMs.set(key, nowMs);
    this.#log.warn<Name, Fields>(fields, msg);
  }

  /**
   * Logs a problem as a warning, or at debug level if an outage may be the cause, because the outage has a separate log
   * line.
   */
  warnUnlessOutage<Name extends LineAt<"debug"> & LineAt<"warn">, Fields extends FieldsOf<Name>>(
    text: string,
    fields: Exactly<Name, Fields>,
    msg: Name,
  ): void {
    const debug = () => this.#log.debug<Name, Fields>(fields, msg);
    const key = keyOf(text);
    if (this.#isAnyUnreachable || this.#waiting.has(key) || this.#waiting.size >= TEXTS_MAX) {
      debug();
      return;
    }
    const sinceMs = this.#clock.nowMs();
    this.#waiting.add(key);
    this.#after(KNOWN_AFTER_MS, () => {
      this.#waiting.delete(key);
      if (this.#isAnyUnreachable || this.#changedAtMs >= sinceMs - KNOWN_AFTER_MS) debug();
      else this.warnOnce<Name, Fields>(text, fields, msg);
    });
  }

  get #isAnyUnreachable(): boolean {
    return this.#unreachable.size + this.#fetchless.size > 0;
  }
}
