/**
 * Counts and logs the pauses that brokers request when a client exceeds a quota, and returns whether a broker is
 * currently throttling. For each broker, `kafka.throttled` is logged at most once a minute, with the sum of the pauses
 * since the last line.
 */

import type { Clock } from "../../runtime/clock.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Throttle } from "../kafkajs/throttles.ts";

const REPEAT_AFTER_MS = 60_000;
/**
 * How long a throttle time counts as current. Each response to a client that exceeds a quota contains a throttle time.
 */
const RECENT_MS = 5_000;

interface Throttled {
  totalMs: number;
  /** The end of the throttling, by the monotonic clock. */
  untilMs: number;
  loggedAtMs: number;
  loggedTotalMs: number;
}

export class Throttles {
  readonly #log: Log;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #brokers = new Map<string, Throttled>();
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(log: Log, clock: Pick<Clock, "nowMs">) {
    this.#log = log;
    this.#clock = clock;
  }

  readonly throttled = ({ broker, request, throttleMs }: Throttle): void => {
    const of = this.#of(broker);
    of.totalMs += throttleMs;
    of.untilMs = Math.max(of.untilMs, performance.now() + throttleMs + RECENT_MS);
    this.#untilMs = Math.max(this.#untilMs, of.untilMs);
    const nowMs = this.#clock.nowMs();
    if (nowMs - of.loggedAtMs < REPEAT_AFTER_MS) return;
    const sumMs = of.totalMs - of.loggedTotalMs;
    of.loggedAtMs = nowMs;
    of.loggedTotalMs = of.totalMs;
    this.#log.warn({ broker, request, throttleMs, sumMs }, "kafka.throttled");
  };

  /** `true` if any broker, or the given one, throttles this process. */
  isThrottled(broker?: string): boolean {
    const untilMs = broker === undefined ? this.#untilMs : this.#brokers.get(broker)?.untilMs;
    return untilMs !== undefined && performance.now() < untilMs;
  }

  /** For each broker, the sum of all throttle times in milliseconds. */
  totalsMs(): ReadonlyMap<string, number> {
    return new Map([...this.#brokers].map(([broker, { totalMs }]) => [broker, totalMs]));
  }

  #of(broker: string): Throttled {
    let of = this.#brokers.get(broker);
    if (of === undefined) {
      const [never, none] = [Number.NEGATIVE_INFINITY, 0];
      of = { totalMs: none, untilMs: never, loggedAtMs: never, loggedTotalMs: none };
      this.#brokers.set(broker, of);
    }
    return of;
  }
}
