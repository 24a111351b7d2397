/** The deliver stage's metrics and log lines about a destination. */

import type { Endpoint, WebhookDestination } from "../domain/destination.ts";
import type { DestinationId, EndpointKey } from "../domain/ids.ts";
import type { Clock } from "../runtime/clock.ts";
import type { BoundCounter, Metrics } from "../telemetry/instruments.ts";
import { lineLimit } from "../telemetry/line-limit.ts";
import type { Log } from "../telemetry/log.ts";
import { attemptFields, isUnusable, levelOf, sampling } from "./attempt-line.ts";
import type { BreakerState } from "./breaker.ts";
import { outcomeClass } from "./outcome.ts";
import type { Replacement } from "./replacement.ts";
import type { Attempted, LineHeld } from "./work-ports.ts";

const LOG_LINES_PER_SECOND = 10;
const BREAKER_GAUGE: Readonly<Record<BreakerState, number>> = {
  closed: 0,
  probing: 1,
  ramping: 1,
  open: 2,
};

const LINE_HELD = [
  "breaker",
  "retry-after",
  "paused",
  "disabled",
] as const satisfies readonly LineHeld[];

export type Report = ReturnType<typeof createReport>;

export interface ReportDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/**
 * Binds the instruments of a destination once.
 *
 * @param attemptsShare of accepted attempts that are logged, from 0 to 1.
 */
export function createReport(
  { log, metrics, clock }: ReportDeps,
  { id, endpoints }: WebhookDestination,
  attemptsShare = 1,
) {
  const isSampled = sampling(attemptsShare);
  const destination = id;
  const stage = "deliver";
  const recordsIn = metrics.recordsIn.bind({ stage });
  const recordsOut = metrics.recordsOut.bind({ stage });
  const inFlight = metrics.inFlight.bind({ destination });
  const duration = metrics.attemptDuration.bind({ destination });
  const latency = metrics.deliveryLatency.bind({ destination });
  const rounded = metrics.numbersRounded.bind({ destination });
  const lines = lineLimit(LOG_LINES_PER_SECOND);
  const requests = byLabel((outcome) => metrics.requests.bind({ destination, outcome }));
  const attempts = byLabel((outcome) => metrics.attempts.bind({ destination, outcome }));
  const expiredWaiting = byLabel((because) =>
    metrics.expiredWaiting.bind({ destination, because }),
  );
  const parked = byLabel((tier) => metrics.parked.bind({ destination, tier }));

  const attempted = (attempt: Attempted) => {
    const { delivery, results, decision, endedAtMs } = attempt;
    let longestMs = 0;
    for (const { result } of results) {
      if (result.kind === "held") continue;
      longestMs = Math.max(longestMs, result.durationMs);
      requests(outcomeClass(result)).inc();
    }
    inFlight.dec();
    duration.observe(longestMs / 1_000);
    attempts(decision.name).inc();
    if (decision.name === "accepted") {
      latency.observe(Math.max(0, endedAtMs - delivery.receivedAtMs) / 1_000);
    }
    logAttempt(log, attempt, isSampled);
  };

  const written = (replacement: Replacement) => {
    recordsOut.inc();
    if (replacement.kind === "park") {
      parked(replacement.tier).inc();
      return;
    }
    const { reason, error, place, call, waited } = replacement;
    if (waited !== undefined) expiredWaiting(waited).inc();
    metrics.deadLetters.bind({ stage, reason, destination }).inc();
    if (isUnusable(reason)) metrics.recordsRefused.bind({ stage, reason }).inc();
    const linesLeftOut = lines.admit(clock.nowMs());
    if (linesLeftOut === null) return;
    const fields = { stage, destination, ...call, reason, error, ...place, linesLeftOut };
    log.warn(fields, "delivery.dead-lettered");
  };

  const breaker = (endpoint: EndpointKey, state: BreakerState) => {
    metrics.breakerState.bind({ destination, endpoint }).set(BREAKER_GAUGE[state]);
    const fields = { stage, destination, endpoint, state };
    if (state === "open") log.warn(fields, "delivery.breaker");
    else log.info(fields, "delivery.breaker");
  };

  /** New endpoints are shown, and those that are gone no longer. */
  let shown: readonly EndpointKey[] = [];
  const showEndpoints = (all: readonly Endpoint[]) => {
    const keys = all.map(({ key }) => key);
    for (const endpoint of shown) {
      if (!keys.includes(endpoint)) metrics.breakerState.remove({ destination, endpoint });
    }
    for (const endpoint of keys) {
      if (shown.includes(endpoint)) continue;
      metrics.breakerState.bind({ destination, endpoint }).set(BREAKER_GAUGE.closed);
    }
    shown = keys;
  };

  showEndpoints(endpoints);
  return {
    breaker,
    showEndpoints,
    watchLine: (held: () => LineHeld | null) => watchLine(metrics, destination, held),
    taken: (count: number) => recordsIn.inc(count),
    started: () => inFlight.inc(),
    rounded: () => rounded.inc(),
    attempted,
    written,
  };
}

function logAttempt(log: Log, attempt: Attempted, isSampled: () => boolean): void {
  const level = levelOf(attempt);
  if (level === "info" && !isSampled()) return;
  if (!log.isLevelEnabled(level)) return;
  const fields = attemptFields(attempt);
  if (level === "info") log.info(fields, "delivery.attempted");
  else if (level === "warn") log.warn(fields, "delivery.attempted");
  else log.error(fields, "delivery.attempted");
}

/** Shows in metrics whether the line is held. Returns how to end that. */
function watchLine(
  metrics: Metrics,
  destination: DestinationId,
  held: () => LineHeld | null,
): () => void {
  const gauges = LINE_HELD.map(
    (because) => [because, metrics.lineHeld.bind({ destination, because })] as const,
  );
  return metrics.onScrape(() => {
    const now = held();
    for (const [because, gauge] of gauges) gauge.set(because === now ? 1 : 0);
  });
}

/** Binds each counter once: looking labels up for every request would be felt. */
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
