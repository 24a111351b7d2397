/**
 * Says once that a broker is gone and once that it is back, and keeps kafkajs from saying it a
 * thousand times.
 *
 *   what happens                                  line
 *   a connection fails, the broker was fine       warn   kafka.broker.unreachable
 *   a connection fails, known to be unreachable   -
 *   a connection is made, known as unreachable    info   kafka.broker.reachable, with the duration
 *   something fails, no broker is unreachable     warn, the same text once a minute
 *   something fails, and a broker is              debug
 *   kafkajs logs an error                         warn   kafka.client, the same text once a minute
 *   kafkajs logs about connections, or below      debug  kafka.client
 */

import type { Clock } from "../../runtime/clock.ts";
import type { Log, LogFields } from "../../telemetry/log.ts";

const REPEAT_AFTER_MS = 60_000;
const TEXTS_MAX = 200;
/** Numbers change from line to line: correlation ids, durations, ports. */
const NUMBERS = /\d+/g;
/** Their lines repeat what is reported as an outage, or by the caller of the request. */
const QUIET = new Set([
  "Connection",
  "BrokerPool",
  "Consumer",
  "Runner",
  "Cluster",
  "RequestQueue",
]);
const ERROR_LEVEL = 1;

/** A line that the driver logs. */
export interface DriverLogLine {
  readonly namespace: string;
  readonly level: number;
  readonly log: object;
}

export class OutageLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #unreachableSinceMs = new Map<string, number>();
  readonly #saidAtMs = new Map<string, number>();

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  connectionFailed(broker: string, error: Error): void {
    if (this.#unreachableSinceMs.has(broker)) return;
    this.#unreachableSinceMs.set(broker, this.#clock.nowMs());
    this.#log.warn({ broker, error: error.message }, "kafka.broker.unreachable");
  }

  connected(broker: string): void {
    const sinceMs = this.#unreachableSinceMs.get(broker);
    if (sinceMs === undefined) return;
    this.#unreachableSinceMs.delete(broker);
    const unreachableForMs = this.#clock.nowMs() - sinceMs;
    this.#log.info({ broker, unreachableForMs }, "kafka.broker.reachable");
  }

  /** Logs a warning, the same text (numbers aside) at most once a minute. */
  warnOnce(text: string, fields: LogFields, msg: string): void {
    const nowMs = this.#clock.nowMs();
    const key = text.replaceAll(NUMBERS, "#");
    const saidAtMs = this.#saidAtMs.get(key);
    if (saidAtMs !== undefined && nowMs - saidAtMs < REPEAT_AFTER_MS) return;
    if (this.#saidAtMs.size >= TEXTS_MAX) this.#saidAtMs.clear();
    this.#saidAtMs.set(key, nowMs);
    this.#log.warn(fields, msg);
  }

  /** Trouble that may come from an outage. A known outage has been reported: then it is a debug line. */
  trouble(text: string, fields: LogFields, msg: string): void {
    if (this.#unreachableSinceMs.size > 0) this.#log.debug(fields, msg);
    else this.warnOnce(text, fields, msg);
  }

  /** Takes the lines that kafkajs logs. */
  readonly client = (entry: DriverLogLine): void => {
    const { namespace, level, log } = entry;
    const { message, error } = log as { readonly message: string; readonly error?: unknown };
    const fields = { namespace, message, ...(typeof error === "string" ? { error } : {}) };
    if (level > ERROR_LEVEL || QUIET.has(namespace.split(" ")[0] ?? "")) {
      this.#log.debug(fields, "kafka.client");
    } else {
      this.warnOnce(`${namespace} ${message}`, fields, "kafka.client");
    }
  };
}
