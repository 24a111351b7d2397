/**
 * Turns the table of `metrics.ts` into instruments behind a prom-client registry.
 *
 * An instrument is bound to its labels once and then counts into plain numbers. prom-client sees
 * them when Prometheus asks. So counting costs an addition. Hashing label objects for every request
 * would be a noticeable part of a delivery's CPU.
 */

import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

import { Buckets, BucketsHistogram } from "./buckets.ts";
import { METRICS, type MetricSpec } from "./metrics.ts";

export type Labels<Spec extends MetricSpec> = Readonly<Record<Spec["labels"][number], string>>;

export interface BoundCounter {
  inc(count?: number): void;
}
export interface BoundGauge {
  /** NaN: not known. Then it is not shown, so that sums over others go on. */
  set(value: number): void;
  inc(count?: number): void;
  dec(count?: number): void;
}
export interface BoundHistogram {
  observe(value: number): void;
}

type Bound<Spec extends MetricSpec> = Spec["type"] extends "counter"
  ? BoundCounter
  : Spec["type"] extends "gauge"
    ? BoundGauge
    : BoundHistogram;

export interface Instrument<Spec extends MetricSpec> {
  /** The same labels give the same instrument. */
  bind(labels: Labels<Spec>): Bound<Spec>;
  /** Forgets a label set, such as one of a destination that is gone. */
  remove(labels: Labels<Spec>): void;
  /** Forgets every label set that has one of these values of a label. */
  forget(label: string, values: ReadonlySet<string>): void;
}

type Table = typeof METRICS;

export type Metrics = { readonly [Key in keyof Table]: Instrument<Table[Key]> } & {
  /** Called before each scrape, to set gauges. Returns a function that ends it. */
  onScrape(update: () => void): () => void;
  /**
   * Forgets all that was counted under these values of a label, such as the ids of destinations that
   * are gone. An instrument that is still bound to one of them is shown no longer.
   */
  forget(label: string, values: ReadonlySet<string>): void;
  /** Prometheus text format. */
  text(): Promise<string>;
};

export function createMetrics(): Metrics {
  const registry = new Registry();
  const updates = new Set<() => void>();
  collectOfProcess(registry);
  const instruments = Object.entries(METRICS).map(
    ([key, spec]) => [key, createInstrument(spec, registry)] as const,
  );
  return {
    ...(Object.fromEntries(instruments) as { [Key in keyof Table]: Instrument<Table[Key]> }),
    onScrape: (update) => {
      updates.add(update);
      return () => updates.delete(update);
    },
    forget: (label, values) => {
      for (const [, instrument] of instruments) instrument.forget(label, values);
    },
    text: () => {
      for (const update of updates) update();
      return registry.metrics();
    },
  };
}

/**
 * The usual `process_*` and `nodejs_*`. prom-client measures the event loop's delay too, with a
 * timer of 10 ms that wakes an idle process a hundred times a second. `event-loop.ts` measures it
 * already, so prom-client's timer is made rare and the figures that come of it are left out.
 */
function collectOfProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 60_000 });
  for (const figure of ["min", "max", "mean", "stddev", "p50", "p90", "p99"]) {
    registry.removeSingleMetric(`nodejs_eventloop_lag_${figure}_seconds`);
  }
}

interface Accumulator {
  readonly labels: Record<string, string>;
  value: number;
}

function createInstrument(spec: MetricSpec, registry: Registry): Instrument<MetricSpec> {
  const base = { name: spec.name, help: spec.help, labelNames: [...spec.labels] };
  if (spec.type === "histogram") {
    const all = new Set<Buckets>();
    registry.registerMetric(new BucketsHistogram(spec, all));
    return keyed(
      spec,
      (labels) => {
        const buckets = new Buckets(labels, spec.buckets ?? []);
        all.add(buckets);
        return buckets;
      },
      (buckets) => all.delete(buckets),
    );
  }
  const accumulators = new Set<Accumulator>();
  const metric =
    spec.type === "counter"
      ? new Counter({ ...base, registers: [registry], collect: fill })
      : new Gauge({ ...base, registers: [registry], collect: fill });
  function fill(): void {
    metric.reset();
    for (const { labels, value } of accumulators) {
      if (!Number.isNaN(value)) metric.inc(labels, value);
    }
  }
  return keyed(
    spec,
    (labels) => {
      const accumulator = { labels, value: 0 };
      accumulators.add(accumulator);
      return {
        accumulator,
        set: (value: number) => {
          accumulator.value = value;
        },
        inc: (count = 1) => {
          accumulator.value += count;
        },
        dec: (count = 1) => {
          accumulator.value -= count;
        },
        observe: () => undefined,
      };
    },
    (bound) => accumulators.delete(bound.accumulator),
  );
}

function keyed<Made>(
  spec: MetricSpec,
  make: (labels: Record<string, string>) => Made,
  forget: (made: Made) => void,
): Instrument<MetricSpec> {
  const made = new Map<string, Made>();
  const keyOf = (labels: Labels<MetricSpec>) =>
    spec.labels.map((label) => labels[label]).join("\u0000");
  const remove = (key: string) => {
    const existing = made.get(key);
    if (existing === undefined) return;
    made.delete(key);
    forget(existing);
  };
  return {
    bind: (labels) => {
      const key = keyOf(labels);
      const existing = made.get(key) ?? make({ ...labels });
      made.set(key, existing);
      return existing as never;
    },
    remove: (labels) => remove(keyOf(labels)),
    forget: (label, values) => {
      const at = spec.labels.indexOf(label);
      if (at === -1 || values.size === 0) return;
      for (const key of made.keys()) {
        if (values.has(key.split("\u0000")[at] ?? "")) remove(key);
      }
    },
  };
}
