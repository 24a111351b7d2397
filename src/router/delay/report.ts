/**
 * Before each scrape, sets the delay stage's gauges, which show the waiting records in the partitions that this
 * process owns.
 */

import type { Clock } from "../../base/runtime/clock.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Consumer } from "../../kafka/port.ts";
import { lagOf } from "../stage/consumer-signals.ts";
import { NOTHING_SHOWN, type ShownDelays, shownOf } from "./gauges.ts";
import type { OwnedCounts } from "./owned-counts.ts";
import type { Labels, Tally } from "./tally.ts";

export interface DelayConsumer {
  readonly delay: string;
  readonly consumer: Pick<Consumer, "progress" | "vitals">;
}

export interface WatchedCounts {
  readonly counts: OwnedCounts;
  readonly labels: Labels;
  readonly delays: readonly DelayConsumer[];
  /** Measured from the first attempt. */
  readonly retryWindowMs: number;
  /** Maximum number of destinations with a label of their own. The others share one label. */
  readonly shownMax: number;
}

export function look({ counts, delays }: WatchedCounts, nowMs: number): void {
  for (const { delay, consumer } of delays) {
    const known = consumer.progress().filter((each) => lagOf([each], nowMs) !== null);
    counts.look(delay, known, nowMs);
  }
}

/** When the caller disposes the result, the gauges are removed. */
export function reportWaiting(
  metrics: Metrics,
  clock: Pick<Clock, "nowMs">,
  watched: WatchedCounts,
): Disposable {
  const { delays, counts, labels, shownMax } = watched;
  const unknown = delays.map(({ delay }) => metrics.waitingUnknown.bind({ delay }));
  const show = showing(metrics, watched);
  const stop = metrics.onScrape(() => {
    const nowMs = clock.nowMs();
    look(watched, nowMs);
    const found = delays.map(({ delay, consumer }, index) => {
      const { isAssigned } = consumer.vitals();
      const ofDelay = counts.ofDelay(delay, isAssigned);
      unknown[index]?.set(ofDelay.unknown);
      return ofDelay;
    });
    const shown = shownOf(found, shownMax);
    labels.keep(shown.waiting);
    show(shown, new Set(found.filter((each) => each.unknown === 0).map(({ delay }) => delay)));
  });
  return {
    [Symbol.dispose]: () => {
      stop();
      show(NOTHING_SHOWN, new Set());
      for (const { delay } of delays) metrics.waitingUnknown.remove({ delay });
    },
  };
}

/** Replaces the values that are shown. */
function showing(metrics: Metrics, { labels, retryWindowMs }: WatchedCounts) {
  const { deliveriesWaiting, oldestWaiting, nextDue, firstWindowEnd } = metrics;
  const timed = [
    [oldestWaiting, ({ scheduledAtMs }: Tally) => scheduledAtMs],
    [nextDue, ({ dueAtMs }: Tally) => dueAtMs],
    [firstWindowEnd, ({ firstAttemptAtMs }: Tally) => firstAttemptAtMs + retryWindowMs],
  ] as const;
  let before = NOTHING_SHOWN;
  return (shown: ShownDelays, knownDelays: ReadonlySet<string>) => {
    const counted = new Map<string, ShownDelays["counts"][number]>();
    for (const each of shown.counts) counted.set(`${each.delay}/${each.destination}`, each);
    const zeros = before.counts.flatMap(({ destination, delay }) => {
      if (counted.has(`${delay}/${destination}`)) return [];
      // A destination with waiting deliveries may have lost its own label.
      const isAmongRest = shown.waiting.has(destination) && !shown.totals.has(destination);
      const isZero = knownDelays.has(delay) && labels.isConfigured(destination) && !isAmongRest;
      if (!isZero) deliveriesWaiting.remove({ destination, delay });
      return isZero ? [{ destination, delay, count: 0 }] : [];
    });
    const counts = [...shown.counts, ...zeros];
    for (const { destination, delay, count } of counts) {
      deliveriesWaiting.bind({ destination, delay }).set(count);
    }
    for (const [gauge, timeOf] of timed) {
      for (const destination of before.totals.keys()) {
        if (!shown.totals.has(destination)) gauge.remove({ destination });
      }
      for (const [destination, tally] of shown.totals) {
        const atMs = timeOf(tally);
        if (Number.isFinite(atMs)) gauge.bind({ destination }).set(atMs / 1_000);
        else gauge.remove({ destination });
      }
    }
    before = { ...shown, counts };
  };
}
