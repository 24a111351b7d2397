/** Writes the deliver stage's metrics and log lines about a destination. */

import type { SenderHold, SendResult } from "../destinations/port.ts";
import type { AttemptedDestination } from "../domain/destination.ts";
import { CIRCUIT_STATES, type CircuitState, HOLD_REASONS } from "../domain/destination-status.ts";
import { endpointNames, withEndpointNames } from "../domain/endpoint-name.ts";
import type { DestinationId, EndpointKey } from "../domain/ids.ts";
import type { StageDeps } from "../stage/running-stage.ts";
import type { BoundCounter, Metrics } from "../telemetry/instruments.ts";
import type { Log } from "../telemetry/log.ts";
import { lineLimit } from "../telemetry/log-rate-limit.ts";
import type { Attempted } from "./active-attempt.ts";
import { acceptedText, attemptFields, isUnusable, levelOf, sampling } from "./attempt-line.ts";
import type { DestinationHealth } from "./destination-health.ts";
import type { DestinationHold, GateState } from "./endpoint-availability.ts";
import type { Replacement } from "./follow-up-record.ts";
import { type HoldCause, PAUSED_BY, pausedBy } from "./hold-cause.ts";

const LOG_LINES_PER_SECOND = 10;

export type Report = ReturnType<typeof createReport>;

export type ReportDeps = Pick<StageDeps, "clock" | "log" | "metrics">;

const stage = "deliver";

/**
 * Binds the metrics of a destination once.
 *
 * @param attemptsShare share of accepted attempts that are logged, from 0 to 1.
 */
export function createReport(
  { log, metrics, clock }: ReportDeps,
  started: AttemptedDestination,
  attemptsShare = 1,
) {
  const isSampled = sampling(attemptsShare);
  const destination = started.id;
  const recordsIn = metrics.recordsIn.bind({ stage });
  const recordsOut = metrics.recordsOut.bind({ stage });
  const inFlight = metrics.inFlight.bind({ destination });
  const duration = metrics.attemptDuration.bind({ destination });
  const latency = metrics.deliveryLatency.bind({ destination });
  const rounded = metrics.numbersRounded.bind({ destination });
  const lines = lineLimit(LOG_LINES_PER_SECOND);
  const attempts = byLabel((outcome) => metrics.attempts.bind({ destination, outcome }));
  const expiredWaiting = byLabel((reason) => metrics.expiredWaiting.bind({ destination, reason }));
  const retriesScheduled = byLabel((delay) =>
    metrics.retriesScheduled.bind({ destination, delay }),
  );

  const attempted = (attempt: Attempted) => {
    const { delivery, results, decision, endedAtMs } = attempt;
    let longestMs = 0;
    for (const { result } of results) {
      if (result.kind === "skipped") continue;
      longestMs = Math.max(longestMs, result.durationMs);
    }
    inFlight.dec();
    duration.observe(longestMs / 1_000);
    attempts(decision.name).inc();
    if (decision.name === "accepted") {
      latency.observe(Math.max(0, endedAtMs - delivery.receivedAtMs) / 1_000);
    }
    logAttempt(log, attempt, names, isSampled);
  };

  const written = (replacement: Replacement) => {
    recordsOut.inc();
    if (replacement.kind === "retry") {
      retriesScheduled(replacement.retryDelay).inc();
      return;
    }
    const { reason, error, place, call, waited } = replacement;
    if (waited !== undefined) expiredWaiting(waited).inc();
    metrics.deadLetters.bind({ stage, reason, destination }).inc();
    if (isUnusable(reason)) metrics.recordsRefused.bind({ stage, reason }).inc();
    const omittedLines = lines.admit(clock.nowMs());
    if (omittedLines === null) return;
    const named = { reason, error: withEndpointNames(error, names) };
    const fields = { stage, destination, ...call, ...named, ...place, omittedLines };
    log.warn(fields, "delivery.dead-lettered");
  };

  const circuitLabels = (endpoint: EndpointKey) => {
    return { destination, endpoint_id: endpoint, endpoint_name: names.get(endpoint) ?? "" };
  };
  const breaker = (endpoint: EndpointKey, state: CircuitState) => {
    metrics.circuitBreakerState.bind(circuitLabels(endpoint)).set(CIRCUIT_STATES.indexOf(state));
    const endpointName = names.get(endpoint) ?? endpoint;
    const fields = { stage, destination, endpointId: endpoint, endpointName, state };
    if (state === "open") log.warn(fields, "endpoint.circuit-changed");
    else log.info(fields, "endpoint.circuit-changed");
  };

  /**
   * Exports the series of new endpoints and removes those of old ones. If an endpoint's position changes, its name
   * changes too.
   */
  let names: ReadonlyMap<EndpointKey, string> = new Map();
  const showEndpoints = (all: AttemptedDestination, breakers: readonly GateState[]) => {
    for (const endpoint of names.keys())
      metrics.circuitBreakerState.remove(circuitLabels(endpoint));
    names = endpointNames(all);
    for (const endpoint of names.keys()) {
      const state = breakers.find(({ key }) => key === endpoint)?.breaker ?? "closed";
      metrics.circuitBreakerState.bind(circuitLabels(endpoint)).set(CIRCUIT_STATES.indexOf(state));
    }
  };

  showEndpoints(started, []);
  return {
    breaker,
    ...tellHolds(log, destination),
    showEndpoints,
    watch: (condition: DestinationHealth, hold: () => DestinationHold | null) =>
      watch({ metrics, clock }, destination, condition, hold),
    taken: (count: number) => recordsIn.inc(count),
    started: () => inFlight.inc(),
    rounded: () => rounded.inc(),
    ...countResponses(metrics, destination),
    attempted,
    written,
  };
}

function tellHolds(log: Log, destination: DestinationId) {
  return { still: tellStillness(log, destination), token: tellToken(log, destination) };
}

/** Counts requests. There are fewer requests than deliveries if deliveries share requests. */
function countResponses(metrics: Metrics, destination: DestinationId) {
  const requests = byLabel((outcome) => metrics.requests.bind({ destination, outcome }));
  return {
    result: (result: SendResult) => requests(outcomeClass(result)).inc(),
    // Bound at the first such response, because few destinations send one, and each series costs memory.
    unreadable: () => metrics.batchResponsesUnreadable.bind({ destination }).inc(),
  };
}

function tellStillness(log: Log, destination: DestinationId) {
  return (before: HoldCause | null, now: HoldCause | null): void => {
    const was = before?.by === undefined ? null : before;
    const is = now?.by === undefined ? null : now;
    if (was?.by === is?.by && was?.untilMs === is?.untilMs) return;
    if (is === null) {
      log.info({ stage, destination }, "destination.resumed");
      return;
    }
    const { by = "", sinceMs, untilMs } = is;
    const since = new Date(sinceMs).toISOString();
    const until = untilMs === null ? {} : { until: new Date(untilMs).toISOString() };
    log.warn({ stage, destination, by, since, ...until }, "destination.paused");
  };
}

/**
 * Logs when no token for requests is available, when the reason for this changes, and when a token is
 * available again.
 */
function tellToken(log: Log, destination: DestinationId) {
  let reported: string | null = null;
  return (hold: SenderHold | null): void => {
    if (hold === null) {
      if (reported !== null) log.info({ stage, destination }, "destination.token-obtained");
      reported = null;
    } else if (hold.error !== null && hold.error !== reported) {
      reported = hold.error;
      const since = new Date(hold.sinceMs).toISOString();
      log.warn({ stage, destination, error: reported, since }, "destination.token-missing");
    }
  };
}

function logAttempt(
  log: Log,
  attempt: Attempted,
  names: ReadonlyMap<EndpointKey, string>,
  isSampled: () => boolean,
): void {
  const level = levelOf(attempt);
  if (level === "info" && !isSampled()) return;
  if (!log.isLevelEnabled(level)) return;
  const text = acceptedText(attempt, names);
  if (text !== null) {
    log.infoText(text, "delivery.attempted");
    return;
  }
  const fields = attemptFields(attempt, names);
  if (level === "info") log.info(fields, "delivery.attempted");
  else if (level === "warn") log.warn(fields, "delivery.attempted");
  else log.error(fields, "delivery.attempted");
}

/** Exports whether the destination is failing or on hold. Returns a function that stops the export. */
function watch(
  { metrics, clock }: Pick<ReportDeps, "metrics" | "clock">,
  destination: DestinationId,
  condition: DestinationHealth,
  hold: () => DestinationHold | null,
): () => void {
  const held = HOLD_REASONS.map(
    (reason) => [reason, metrics.destinationOnHold.bind({ destination, reason })] as const,
  );
  const paused = PAUSED_BY.map(
    (by) => [by, metrics.destinationPaused.bind({ destination, by })] as const,
  );
  const heldSince = metrics.destinationOnHoldSince.bind({ destination });
  const failingSince = metrics.destinationFailingSince.bind({ destination });
  const lastAccepted = metrics.destinationLastAccepted.bind({ destination });
  return metrics.onScrape(() => {
    const now = hold();
    for (const [reason, gauge] of held) gauge.set(reason === now?.reason ? 1 : 0);
    const authors = pausedBy(condition.still);
    for (const [by, gauge] of paused) gauge.set(authors.includes(by) ? 1 : 0);
    heldSince.set((now?.sinceMs ?? 0) / 1_000);
    failingSince.set((condition.failingSinceMs(clock.nowMs()) ?? 0) / 1_000);
    lastAccepted.set((condition.acceptedAtMs ?? 0) / 1_000);
  });
}

/**
 * Binds each counter once, because looking up labels for every request would take a measurable amount of
 * time.
 */
function byLabel(bind: (label: string) => BoundCounter): (label: string) => BoundCounter {
  const bound = new Map<string, BoundCounter>();
  return (label) => {
    let counter = bound.get(label);
    if (counter === undefined) {
      counter = bind(label);
      bound.set(label, counter);
    }
    return counter;
  };
}

/** The `outcome` label of the metric for requests. */
export function outcomeClass(result: SendResult): string {
  if (result.kind === "no-response") return result.cause;
  return result.status === 429 ? "429" : `${Math.floor(result.status / 100)}xx`;
}
