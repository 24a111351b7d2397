/**
 * The observer of a destination: each event is reported here once, and nowhere else.
 *
 *   event                        metrics  log      also
 *   a partition is owned, left                     health (`destination-health.ts`)
 *   records are fetched          yes
 *   an attempt starts            yes               its span (`attempt-trace.ts`)
 *   a request ends               yes
 *   a delivery is suppressed     yes               its record in the topic `attempts`
 *   a delivery was attempted     yes      yes      health; its record in the topic `attempts` (`attempts-topic.ts`)
 *   a replacement is written     yes      if it is a dead letter
 *   a circuit changes            yes      yes
 *   an endpoint has news                           the other processes (`endpoint-news.ts`)
 *   a proxy fails, works again            yes
 *   an endpoint is gone                   yes      the topic of operator actions
 *   a pause, a missing token              yes
 */

import type { BoundCounter } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import { LineLimit } from "../../base/telemetry/log-rate-limit.ts";
import type { Delivery } from "../../domain/delivery.ts";
import type { AttemptedDestination } from "../../domain/destination.ts";
import {
  type BlockedUsers,
  CIRCUIT_STATES,
  type CircuitState,
  HOLD_REASONS,
} from "../../domain/destination-status.ts";
import {
  type EndpointName,
  type EndpointNames,
  endpointNames,
} from "../../domain/endpoint-name.ts";
import type { DestinationId, EndpointKey } from "../../domain/ids.ts";
import type { Phases, RequestResult, SenderHold } from "../destinations/port.ts";
import type { StageDeps } from "../stage/running-stage.ts";
import type { Attempted, AttemptObserver } from "./attempt.ts";
import { acceptedText, attemptFields, isUnusable, levelOf, sampling } from "./attempt-line.ts";
import { type AttemptTrace, type TracePorts, traceAttempt } from "./attempt-trace.ts";
import { type AttemptNotes, type AttemptsTopic, attemptsOf } from "./attempts-topic.ts";
import { DestinationHealth } from "./destination-health.ts";
import type { PartitionObserver } from "./dispatcher.ts";
import type { EndpointObserver, GateState, News } from "./endpoint-availability.ts";
import type { DestinationHold } from "./endpoint-gate.ts";
import type { NewsOfEndpoints } from "./endpoint-news.ts";
import type { Replacement } from "./follow-up-record.ts";
import type { HoldCause } from "./hold-cause.ts";
import type { Call } from "./in-flight.ts";

const LOG_LINES_PER_SECOND = 10;

export interface ReportDeps extends Pick<StageDeps, "clock" | "log" | "metrics" | "tracing"> {
  /** Shared by the destinations; absent if attempts are not recorded. */
  readonly attempts?: AttemptsTopic;
  /** Exchanges reports about endpoints with other processes; absent if none are exchanged. */
  readonly news?: NewsOfEndpoints;
}

/** What the reported attempts belong to. */
export interface ReportOptions {
  readonly sender: TracePorts["sender"];
  readonly group: string;
  /** Share of accepted attempts that are logged, from 0 to 1; all by default. */
  readonly attemptsShare?: number | undefined;
}

const stage = "deliver";

/** Binds the metrics of a destination once. */
export class Report implements PartitionObserver, AttemptObserver, EndpointObserver {
  readonly health: DestinationHealth;
  readonly #deps: ReportDeps;
  readonly #tracePorts: TracePorts;
  readonly #notes: AttemptNotes | null;
  readonly #labels: { readonly destination: DestinationId };
  readonly #isSampled: () => boolean;
  readonly #recordsIn;
  readonly #recordsOut;
  readonly #inFlight;
  readonly #duration;
  readonly #latency;
  readonly #rounded;
  // Looking up labels for every request would take a measurable amount of time.
  readonly #attempts: Record<string, BoundCounter> = {};
  readonly #requests: Record<string, BoundCounter> = {};
  readonly #lines = new LineLimit(LOG_LINES_PER_SECOND);
  /** The endpoints that have series. Replaced by `showEndpoints`. */
  #names: EndpointNames = new Map();
  /** The last error that was logged because no token for requests is available; null if one is available. */
  #tokenError: string | null = null;

  constructor(deps: ReportDeps, started: AttemptedDestination, reported: ReportOptions) {
    const { metrics, clock, attempts, tracing } = deps;
    const { sender, group, attemptsShare = 1 } = reported;
    const labels = { destination: started.id };
    this.health = new DestinationHealth(started, clock.nowMs());
    this.#deps = deps;
    const phases = () => attempts?.phases();
    this.#tracePorts = { tracing, sender, group, phases, nowMs: () => clock.nowMs() };
    this.#notes = attemptsOf(started, attempts);
    this.#labels = labels;
    this.#isSampled = sampling(attemptsShare);
    this.#recordsIn = metrics.recordsIn.bind({ stage });
    this.#recordsOut = metrics.recordsOut.bind({ stage });
    this.#inFlight = metrics.inFlight.bind(labels);
    this.#duration = metrics.attemptDuration.bind(labels);
    this.#latency = metrics.deliveryLatency.bind(labels);
    this.#rounded = metrics.numbersRounded.bind(labels);
    this.showEndpoints(started, []);
  }

  /** Applies new settings, before the first attempt with them. */
  update(changed: AttemptedDestination, gates: readonly GateState[]): void {
    this.showEndpoints(changed, gates);
    this.#notes?.update(changed);
  }

  owned(): void {
    this.health.own(this.#deps.clock.nowMs());
  }

  took(count: number): void {
    this.#recordsIn.inc(count);
  }

  left(): void {
    this.health.leave(this.#deps.clock.nowMs());
  }

  started(calls: readonly Call[], { traceparent }: AttemptedDestination): AttemptTrace | null {
    for (const { isRounded } of calls) {
      this.#inFlight.inc();
      if (isRounded) this.#rounded.inc();
    }
    return traceAttempt(this.#tracePorts, calls, traceparent);
  }

  phases(): Phases | undefined {
    return this.#deps.attempts?.phases();
  }

  /** Counts a request. There are fewer requests than deliveries if deliveries share requests. */
  requested(result: RequestResult, isUnreadable: boolean): void {
    const outcome = outcomeClass(result);
    const { requests, batchResponsesUnreadable } = this.#deps.metrics;
    const counter = this.#requests[outcome] ?? requests.bind({ ...this.#labels, outcome });
    this.#requests[outcome] = counter;
    counter.inc();
    // Bound at the first such response, because few destinations send one, and each series costs memory.
    if (isUnreadable) batchResponsesUnreadable.bind(this.#labels).inc();
  }

  attempted(attempt: Attempted): void {
    const { delivery, results, decision, endedAtMs } = attempt;
    let longestMs = 0;
    for (const { result } of results) {
      if (result.kind === "skipped") continue;
      longestMs = Math.max(longestMs, result.durationMs);
    }
    this.health.attempted(attempt);
    this.#notes?.add(attempt);
    this.#inFlight.dec();
    this.#duration.observe(longestMs / 1_000);
    const outcome = decision.name;
    const { attempts } = this.#deps.metrics;
    const counter = this.#attempts[outcome] ?? attempts.bind({ ...this.#labels, outcome });
    this.#attempts[outcome] = counter;
    counter.inc();
    if (outcome === "accepted") {
      this.#latency.observe(Math.max(0, endedAtMs - delivery.receivedAtMs) / 1_000);
    }
    logAttempt(this.#deps.log, attempt, this.#isSampled);
  }

  suppressed(delivery: Delivery, nowMs: number): void {
    const { destination } = this.#labels;
    // Bound at the first such delivery, because few destinations have any, and each series costs memory.
    this.#deps.metrics.suppressed.bind({ stage, destination }).inc();
    const decision = { name: "suppressed", outputs: [] } as const;
    const names = this.#names;
    this.#notes?.add({ delivery, results: [], decision, names, endedAtMs: nowMs, batch: null });
  }

  written(replacement: Replacement): void {
    const { metrics, clock, log } = this.#deps;
    const { destination } = this.#labels;
    this.#recordsOut.inc();
    if (replacement.kind === "retry") return;
    const { reason, error, place, call, waited } = replacement;
    if (waited !== undefined) metrics.expiredWaiting.bind({ destination, reason: waited }).inc();
    metrics.deadLetters.bind({ stage, reason, destination }).inc();
    if (isUnusable(reason)) metrics.recordsRefused.bind({ stage, reason }).inc();
    const omittedLines = this.#lines.admit(clock.nowMs());
    if (omittedLines === null) return;
    const fields = { stage, destination, ...call, reason, error, ...place, omittedLines };
    log.warn(fields, "delivery.dead-lettered");
  }

  circuitChanged(endpoint: EndpointKey, state: CircuitState): void {
    this.#showCircuit(endpoint, state);
    const { log } = this.#deps;
    const fields = { ...this.#fieldsOf(endpoint), state };
    if (state === "open") log.warn(fields, "endpoint.circuit-changed");
    else log.info(fields, "endpoint.circuit-changed");
  }

  tell(endpoint: EndpointKey, news: News): void {
    const { destination } = this.#labels;
    this.#deps.news?.tell(destination, this.#named(endpoint).id, endpoint, news);
  }

  putBack(deliveries: number): void {
    this.#inFlight.dec(deliveries);
  }

  proxyChanged(endpoint: EndpointKey, error: string | null): void {
    const { log } = this.#deps;
    const fields = this.#fieldsOf(endpoint);
    if (error === null) log.info(fields, "endpoint.proxy-works");
    else log.warn({ ...fields, error }, "endpoint.proxy-failed");
  }

  gone(endpoint: EndpointKey, nowMs: number): void {
    const { id } = this.#named(endpoint);
    this.#deps.news?.gone({ ...this.#labels, id, endpoint, atMs: nowMs });
    this.#deps.log.warn(this.#fieldsOf(endpoint), "endpoint.gone");
  }

  #fieldsOf(endpoint: EndpointKey) {
    const { id: endpointId, name: endpointName } = this.#named(endpoint);
    return { stage, ...this.#labels, endpointId, endpointName };
  }

  /**
   * Exports the series of new endpoints and removes those of old ones. If an endpoint's position changes, its name
   * changes too.
   */
  showEndpoints(all: AttemptedDestination, breakers: readonly GateState[]): void {
    for (const endpoint of this.#names.keys())
      this.#deps.metrics.circuitBreakerState.remove(this.#circuitLabels(endpoint));
    this.#names = endpointNames(all);
    for (const endpoint of this.#names.keys()) {
      this.#showCircuit(
        endpoint,
        breakers.find(({ key }) => key === endpoint)?.breaker ?? "closed",
      );
    }
  }

  #showCircuit(endpoint: EndpointKey, state: CircuitState): void {
    const gauge = this.#deps.metrics.circuitBreakerState.bind(this.#circuitLabels(endpoint));
    gauge.set(CIRCUIT_STATES.indexOf(state));
  }

  #circuitLabels(endpoint: EndpointKey) {
    const { id, name } = this.#named(endpoint);
    return { ...this.#labels, endpoint_id: id, endpoint_name: name };
  }

  /** The names of an endpoint that may have been removed. */
  #named(endpoint: EndpointKey): Pick<EndpointName, "id" | "name"> {
    return this.#names.get(endpoint) ?? { id: endpoint, name: endpoint };
  }

  /** Logs that the destination is paused, or no longer paused. */
  logPause(before: HoldCause | null, now: HoldCause | null): void {
    const { log } = this.#deps;
    const was = before?.by === undefined ? null : before;
    const is = now?.by === undefined ? null : now;
    if (was?.by === is?.by && was?.untilMs === is?.untilMs) return;
    if (is === null) {
      log.info({ stage, ...this.#labels }, "destination.resumed");
      return;
    }
    const { by = "", sinceMs, untilMs } = is;
    const since = new Date(sinceMs).toISOString();
    const until = untilMs === null ? {} : { until: new Date(untilMs).toISOString() };
    log.warn({ stage, ...this.#labels, by, since, ...until }, "destination.paused");
  }

  /**
   * Logs when no token for requests is available, when the reason for this changes, and when a token is
   * available again.
   */
  logToken(hold: SenderHold | null): void {
    const { log } = this.#deps;
    if (hold === null) {
      if (this.#tokenError !== null)
        log.info({ stage, ...this.#labels }, "destination.token-obtained");
      this.#tokenError = null;
    } else if (hold.error !== null && hold.error !== this.#tokenError) {
      this.#tokenError = hold.error;
      const since = new Date(hold.sinceMs).toISOString();
      const fields = { stage, ...this.#labels, error: hold.error, since };
      log.warn(fields, "destination.token-missing");
    }
  }

  /**
   * Exports whether the destination is failing or on hold, and who waits. Returns a function that stops the export.
   *
   * @param order null if the destination has no order.
   */
  watch(
    hold: () => DestinationHold | null,
    order: { counts(): BlockedUsers } | null = null,
  ): () => void {
    const { metrics, clock } = this.#deps;
    const labels = this.#labels;
    const { destination } = labels;
    const held = HOLD_REASONS.map((reason) =>
      metrics.destinationOnHold.bind({ destination, reason }),
    );
    const heldSince = metrics.destinationOnHoldSince.bind(labels);
    const failingSince = metrics.destinationFailingSince.bind(labels);
    const lastAccepted = metrics.destinationLastAccepted.bind(labels);
    const blocked = order && metrics.orderBlockedUsers.bind(labels);
    const waiting = order && metrics.orderWaitingDeliveries.bind(labels);
    let failing: string | undefined;
    const show = (now: DestinationHold | null, failingSinceMs: number | null) => {
      for (const [at, gauge] of held.entries()) gauge.set(HOLD_REASONS[at] === now?.reason ? 1 : 0);
      heldSince.set((now?.sinceMs ?? 0) / 1_000);
      failingSince.set((failingSinceMs ?? 0) / 1_000);
      const proxy = now?.proxy;
      if (failing !== undefined && failing !== proxy)
        metrics.destinationProxyFailing.remove({ destination, proxy: failing });
      if (proxy !== undefined) metrics.destinationProxyFailing.bind({ destination, proxy }).set(1);
      failing = proxy;
    };
    const end = metrics.onScrape(() => {
      show(hold(), this.health.failingSinceMs(clock.nowMs()));
      lastAccepted.set((this.health.acceptedAtMs ?? 0) / 1_000);
      const counts = order?.counts();
      blocked?.set(counts?.blockedUsers ?? 0);
      waiting?.set(counts?.waitingDeliveries ?? 0);
    });
    return () => {
      end();
      // The series stay if the destination gets another type.
      show(null, null);
      blocked?.set(0);
      waiting?.set(0);
    };
  }
}

function logAttempt(log: Log, attempt: Attempted, isSampled: () => boolean): void {
  const level = levelOf(attempt);
  if (level === "info" && !isSampled()) return;
  if (!log.isLevelEnabled(level)) return;
  const text = acceptedText(attempt);
  if (text !== null) {
    log.infoText(text, "delivery.attempted");
    return;
  }
  const fields = attemptFields(attempt);
  if (level === "info") log.info(fields, "delivery.attempted");
  else if (level === "warn") log.warn(fields, "delivery.attempted");
  else log.error(fields, "delivery.attempted");
}

/** The `outcome` label of the metric for requests. */
export function outcomeClass(result: RequestResult): string {
  if (result.kind === "not-sent") return result.proxy === null ? "token" : "proxy";
  if (result.kind === "no-response") return result.cause;
  return result.status === 429 ? "429" : `${Math.floor(result.status / 100)}xx`;
}
