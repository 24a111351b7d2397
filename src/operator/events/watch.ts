/**
 * Observes the process every few seconds, and writes operator events to the topic `operator-events`. The topic has one
 * partition and is compacted. Each time, reading continues at the last position, which takes one request if nothing has
 * been written since then.
 *
 *   step                                           if the process crashes after it
 *   1  the process observes something new          the next observation finds it again
 *   2  the topic is read to its end, because the   the same
 *      event may have been written already
 *   3  the event is written and acknowledged       it is on the topic, and is not written again
 *
 * There can still be two events for an incident, if two processes report it and each of them reads the topic before
 * the other one has written. This can happen while partition 0 of a destination moves, after an outage, or if a file
 * is invalid. The two events have the same ID if the incident started at the same time in both processes. They have
 * different IDs if the first failed attempts of the two processes differ. If a step fails, it is repeated at the
 * next observation, and nothing else is affected.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { AudienceStatus } from "../../domain/audience.ts";
import type { DestinationStatus } from "../../domain/destination-status.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import type { BrokerState, Kafka, Producer } from "../../kafka/port.ts";
import { eventText, type OperatorEvent, readEvent } from "./event.ts";
import { type ExpiringDeliveries, expiringWriting, nearMs, newlyExpiring } from "./expiring.ts";
import { type Observation, outageWriting, type Writing, writings } from "./incidents.ts";
import { INCIDENT_AFTER_MS, observationsOf, type Refused } from "./observations.ts";

const LOOK_EVERY_MS = 5_000;
const LINE_EVERY_MS = 60_000;
/**
 * Retry windows are checked less often than the rest, because they last for hours, and because each check reads all
 * deliveries in flight.
 */
const LOOK_AT_WINDOWS_EVERY_MS = 30_000;
const PARTITION = 0;
const READ_MAX_BYTES = 1_048_576;

export interface WatchDeps {
  readonly kafka: Pick<Kafka, "read" | "admin">;
  readonly producer: Pick<Producer, "send">;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Watched {
  readonly topic: string;
  readonly source: string;
  /** The destinations about which this process currently reports. */
  readonly destinations: () => readonly DestinationStatus[];
  /** Audiences that this process owns. */
  readonly audiences: () => readonly AudienceStatus[];
  /** Null if the process does not run the delay stage. */
  readonly windows: WatchedRetryWindows | null;
  readonly refused: () => Refused | null;
  readonly brokers: () => readonly BrokerState[];
}

export interface WatchedRetryWindows {
  readonly retryWindowMs: number;
  /** For each destination, the earliest first attempt in the partitions that this process owns. */
  readonly firstAttempts: () => ReadonlyMap<string, number>;
  /** Counts the deliveries that expire before the given time, in all partitions. */
  readonly count: (
    destinations: ReadonlySet<string>,
    beforeMs: number,
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, ExpiringDeliveries>>;
}

/** Observes the process, and writes events, until the result is disposed. */
export function watchForPeople(deps: WatchDeps, watched: Watched): Disposable {
  const watch = new Watch(deps, watched);
  const end = new AbortController();
  const { clock, log } = deps;
  let saidAtMs = Number.NEGATIVE_INFINITY;
  const failed = (thrown: unknown) => {
    const nowMs = clock.nowMs();
    if (end.signal.aborted || nowMs - saidAtMs < LINE_EVERY_MS) return;
    saidAtMs = nowMs;
    log.warn(
      { topic: watched.topic, error: asError(thrown).message },
      "operator-events.write-failed",
    );
  };
  const lookOn = async () => {
    while (!end.signal.aborted) {
      await clock.sleep(LOOK_EVERY_MS, end.signal).catch(() => undefined);
      if (!end.signal.aborted) await watch.look(end.signal).catch(failed);
    }
  };
  void lookOn();
  return { [Symbol.dispose]: () => end.abort() };
}

class Watch {
  readonly #deps: WatchDeps;
  readonly #watched: Watched;
  readonly #reported = new Map<string, OperatorEvent>();
  #next = 0;
  #wasRefused = false;
  /** When the last reachable broker became unreachable; null while a broker responds. */
  #unreachableSinceMs: number | null = null;
  #outage: { readonly sinceMs: number; readonly untilMs: number } | null = null;
  #windowsAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: WatchDeps, watched: Watched) {
    this.#deps = deps;
    this.#watched = watched;
  }

  async look(signal: AbortSignal): Promise<void> {
    this.#lookAtKafka();
    if (this.#unreachableSinceMs !== null) return;
    await this.#readOn(signal);
    if (!signal.aborted) await this.#tell(this.#observations());
    if (!signal.aborted) await this.#lookAtWindows(signal);
    this.#wasRefused = this.#watched.refused() !== null;
  }

  #observations(): readonly Observation[] {
    const refused = this.#watched.refused();
    const seen = {
      destinations: this.#watched.destinations(),
      audiences: this.#watched.audiences(),
      refused,
      wasRefused: this.#wasRefused,
    };
    return observationsOf(seen, this.#deps.clock.nowMs());
  }

  async #tell(observations: readonly Observation[]): Promise<void> {
    const { source } = this.#watched;
    const outage =
      this.#outage === null ? null : outageWriting(this.#outage, this.#reported, source);
    await this.#write([
      ...writings(observations, this.#reported, source),
      ...(outage === null ? [] : [outage]),
    ]);
    this.#outage = null;
  }

  /**
   * Counting takes time, so this process reads events that another process has written meanwhile before it writes its
   * own.
   */
  async #lookAtWindows(signal: AbortSignal): Promise<void> {
    const { windows, source } = this.#watched;
    const nowMs = this.#deps.clock.nowMs();
    const spacingMs = Math.min(LOOK_AT_WINDOWS_EVERY_MS, nearMs(windows?.retryWindowMs ?? 0) / 4);
    if (windows === null || Math.abs(nowMs - this.#windowsAtMs) < spacingMs) return;
    this.#windowsAtMs = nowMs;
    const { retryWindowMs, firstAttempts, count } = windows;
    const found = () => newlyExpiring(firstAttempts(), retryWindowMs, this.#reported, nowMs);
    const wanted = new Set(found().map(({ destination }) => destination));
    if (wanted.size === 0) return;
    const counts = await count(wanted, nowMs + nearMs(retryWindowMs), signal);
    await this.#readOn(signal);
    if (signal.aborted) return;
    const all = found().flatMap((nearing) => {
      const expiring = counts.get(nearing.destination);
      if (expiring === undefined) return [];
      return [expiringWriting(nearing, expiring, retryWindowMs, source, nowMs)];
    });
    await this.#write(all);
  }

  async #write(all: readonly Writing[]): Promise<void> {
    const { topic } = this.#watched;
    if (all.length > 0) {
      const [refused] = await this.#deps.producer.send(all.map((each) => recordOf(topic, each)));
      if (refused !== undefined) throw new Error(refused.error);
    }
    for (const { key, event } of all) this.#remember(key, event);
  }

  /** Each read starts where the previous one ended, or at the start of the topic if the topic was recreated. */
  async #readOn(signal: AbortSignal): Promise<void> {
    const { kafka } = this.#deps;
    const { topic } = this.#watched;
    const [at] = await kafka.admin.offsets(topic);
    if (at === undefined) throw new Error(`the topic ${topic} has no partition`);
    if (at.end < this.#next) {
      this.#reported.clear();
      this.#next = 0;
    }
    const from = Math.max(this.#next, at.first);
    const range = {
      topic,
      partition: PARTITION,
      from,
      to: at.end,
      maxBytes: READ_MAX_BYTES,
      signal,
    };
    if (from < at.end) {
      for await (const records of kafka.read(range)) {
        for (const { key, value } of records) {
          if (key !== null)
            this.#remember(key.toString(), value === null ? null : readEvent(value));
        }
      }
    }
    if (signal.aborted) return;
    this.#next = at.end;
  }

  #remember(key: string, event: OperatorEvent | null): void {
    if (event === null) this.#reported.delete(key);
    else this.#reported.set(key, event);
  }

  #lookAtKafka(): void {
    const brokers = this.#watched.brokers();
    const sinceTimesMs = brokers.flatMap((each) => each.outage?.sinceMs ?? []);
    const isUnreachable = brokers.length > 0 && sinceTimesMs.length === brokers.length;
    const nowMs = this.#deps.clock.nowMs();
    if (isUnreachable) {
      this.#unreachableSinceMs ??= Math.max(...sinceTimesMs);
      return;
    }
    const sinceMs = this.#unreachableSinceMs;
    this.#unreachableSinceMs = null;
    if (sinceMs === null || nowMs - sinceMs < INCIDENT_AFTER_MS) return;
    this.#outage = { sinceMs, untilMs: nowMs };
  }
}

function recordOf(topic: string, { key, event }: Writing): OutgoingRecord {
  const value = event === null ? null : Buffer.from(eventText(event));
  return { topic, partition: PARTITION, key: Buffer.from(key), value, headers: [] };
}
