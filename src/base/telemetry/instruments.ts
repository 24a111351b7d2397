/**
 * Turns the table of `metrics.ts` into instruments in a prom-client registry.
 *
 * An instrument is bound to its labels once. After that, counting costs one addition to a plain number, which
 * prom-client reads when Prometheus scrapes. Hashing label objects for every request would take a noticeable part of
 * a delivery's CPU time.
 */

import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { MetricValue, MetricValues } from "../../domain/process-status.ts";
import { Buckets, BucketsHistogram, type LabelSet } from "./buckets.ts";
import { METRICS, type MetricSpec } from "./metrics.ts";
import { Busiest, type Requested } from "./top-destinations.ts";

export type Labels<Spec extends MetricSpec> = Readonly<Record<Spec["labels"][number], string>>;

export interface BoundCounter {
  inc(count?: number): void;
}
export interface BoundGauge {
  /**
   * Set NaN if the value is unknown. An unknown value is not shown, so that sums over the other values stay correct.
   */
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
  /** Returns the same instrument for the same labels. Keeps the object, which instruments can share. */
  bind(labels: Labels<Spec>): Bound<Spec>;
  /** Removes a label set, for example that of a destination that was removed. */
  remove(labels: Labels<Spec>): void;
  /** Removes every label set in which the label has one of these values. */
  forget(label: string, values: ReadonlySet<string>): void;
}

type Table = typeof METRICS;

const REPORTED = Object.values<MetricSpec>(METRICS).filter(({ inStatus }) => inStatus === true);

export type Metrics = { readonly [Key in keyof Table]: Instrument<Table[Key]> } & {
  /** Called before each scrape, to set gauges. Returns a function that unregisters the callback. */
  onScrape(update: () => void): () => void;
  /**
   * Removes the series of all instruments in which the label has one of these values, such as the ID of a removed
   * destination. Anything that is counted for such a value later is not shown.
   */
  forget(label: string, values: ReadonlySet<string>): void;
  /** Prometheus text format. */
  text(): Promise<string>;
  /** The metrics that `GET /status?metrics` reports. They include the histograms of all destinations. */
  values(): MetricValues;
};

/**
 * Selects which histograms per destination are shown. `full` shows all of them; `counts` shows a single one for all
 * destinations together, with an empty label; `top` shows those of the destinations with the most requests and the
 * most failures (`top-destinations.ts`).
 */
export type DestinationDetail = "full" | "counts" | "top";

export function createMetrics(detail: DestinationDetail = "full"): Metrics {
  const registry = new Registry();
  const busiest = new Busiest();
  let top: ReadonlySet<string> = new Set();
  const values = new Map<string, () => readonly MetricValue[]>();
  const isShown = ({ destination }: LabelSet) =>
    detail !== "top" || destination === undefined || top.has(destination);
  const updates = new Set<() => void>();
  collectOfProcess(registry);
  const instruments = Object.entries(METRICS).map(
    ([key, spec]) => [key, createInstrument(spec, { registry, detail, isShown, values })] as const,
  );
  const requests = () =>
    (values.get(METRICS.requests.name)?.() ?? []).map(({ labels, value }): Requested => {
      const { destination = "", outcome = "" } = labels;
      return { destination, outcome, count: value };
    });
  const update = () => {
    for (const each of updates) each();
  };
  return {
    ...(Object.fromEntries(instruments) as { [Key in keyof Table]: Instrument<Table[Key]> }),
    onScrape: (each) => {
      updates.add(each);
      return () => updates.delete(each);
    },
    forget: (label, values) => {
      for (const [, instrument] of instruments) instrument.forget(label, values);
    },
    values: () => {
      update();
      return Object.fromEntries(
        REPORTED.map(({ name }) => [name, values.get(name)?.() ?? []] as const),
      );
    },
    text: () => {
      update();
      if (detail === "top") top = busiest.next(requests());
      return registry.metrics();
    },
  };
}

/**
 * Collects the usual metrics `process_*` and `nodejs_*`. prom-client also measures the delay of the event loop, with
 * a timer of 10 ms that wakes up an idle process a hundred times per second. Because `watch-process.ts` already
 * measures this delay, prom-client's timer is slowed down, and its values are not shown.
 */
function collectOfProcess(registry: Registry): void {
  // prom-client counts CPU time only from this call on. The CPU time before that, mostly for loading the program, is
  // added.
  const { user, system } = process.cpuUsage();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 60_000 });
  const before = { _user: user, _system: system, "": user + system };
  for (const [kind, us] of Object.entries(before)) {
    const counter = registry.getSingleMetric(`process_cpu${kind}_seconds_total`);
    if (counter instanceof Counter) counter.inc(us / 1e6);
  }
  for (const figure of ["min", "max", "mean", "stddev", "p50", "p90", "p99"]) {
    registry.removeSingleMetric(`nodejs_eventloop_lag_${figure}_seconds`);
  }
}

/** A class, because a closure for each of the 20 values per destination would take 80 MB for 10,000 destinations. */
class Accumulator implements BoundCounter, BoundGauge, BoundHistogram {
  readonly labels: LabelSet;
  value = 0;

  constructor(labels: LabelSet) {
    this.labels = labels;
  }

  set(value: number): void {
    this.value = value;
  }

  inc(count = 1): void {
    this.value += count;
  }

  dec(count = 1): void {
    this.value -= count;
  }

  observe(): void {}
}

interface Showing {
  readonly registry: Registry;
  readonly detail: DestinationDetail;
  readonly isShown: (labels: LabelSet) => boolean;
  /** The current values of all metrics, by name. */
  readonly values: Map<string, () => readonly MetricValue[]>;
}

function createInstrument(
  spec: MetricSpec,
  { registry, detail, isShown, values }: Showing,
): Instrument<MetricSpec> {
  if (spec.type === "histogram") {
    const all = new Map<string, Buckets>();
    registry.registerMetric(new BucketsHistogram(spec, all, isShown));
    values.set(spec.name, () =>
      [...all.values()].map(({ labels, counts }) => {
        return { labels, value: counts.reduce((sum, count) => sum + count, 0), buckets: counts };
      }),
    );
    const instrument = keyed(spec, all, (labels) => new Buckets(labels, spec.buckets ?? []));
    const isMerged = detail === "counts" && spec.labels.includes("destination");
    return isMerged ? merged(instrument) : instrument;
  }
  const accumulators = new Map<string, Accumulator>();
  const hidesZeros = detail !== "full" && spec.isSparse === true;
  const shown = () =>
    [...accumulators.values()].filter(({ value }) => {
      return !Number.isNaN(value) && !(value === 0 && hidesZeros);
    });
  registry.registerMetric(new PlainMetric(spec, () => (accumulators.size === 0 ? null : shown())));
  values.set(spec.name, shown);
  return keyed(spec, accumulators, (labels) => new Accumulator(labels));
}

/** Creates a histogram of all destinations together. It keeps its counts when destinations are removed. */
function merged(instrument: Instrument<MetricSpec>): Instrument<MetricSpec> {
  return {
    bind: (labels) => instrument.bind({ ...labels, destination: "" }),
    remove: () => undefined,
    forget: () => undefined,
  };
}

/** @param made what is bound, by labels. */
function keyed<Made>(
  spec: MetricSpec,
  made: Map<string, Made>,
  make: (labels: LabelSet) => Made,
): Instrument<MetricSpec> {
  const keyOf = (labels: Labels<MetricSpec>) =>
    spec.labels.map((label) => labels[label]).join("\u0000");
  return {
    bind: (labels) => {
      const key = keyOf(labels);
      const existing = made.get(key) ?? make(labels);
      made.set(key, existing);
      return existing as never;
    },
    remove: (labels) => void made.delete(keyOf(labels)),
    forget: (label, values) => {
      const at = spec.labels.indexOf(label);
      if (at === -1 || values.size === 0) return;
      for (const key of made.keys()) {
        if (values.has(key.split("\u0000")[at] ?? "")) made.delete(key);
      }
    },
  };
}

/**
 * Counters and gauges whose values are stored outside prom-client, which is used only to render them. With 1,000
 * destinations, prom-client's own metrics would spend most of a scrape's time on hashing labels.
 */
interface Value {
  readonly labels: LabelSet;
  readonly value: number;
}

interface RenderedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly values: readonly Value[];
}

class PlainMetric extends Gauge {
  readonly #spec: MetricSpec;
  readonly #values: () => readonly Value[] | null;

  /**
   * @param values returns the current values, or null if nothing uses the metric yet. In the latter case, a metric
   *   without labels is shown as 0.
   */
  constructor(spec: MetricSpec, values: () => readonly Value[] | null) {
    const { name, help } = spec;
    super({ name, help, labelNames: [...spec.labels], registers: [] });
    this.#spec = spec;
    this.#values = values;
  }

  /** The interface that prom-client expects of a metric. */
  getForPromString(): Promise<RenderedMetric> {
    const { name, help, labels } = this.#spec;
    const type = this.#spec.type === "counter" ? "counter" : "gauge";
    const found = this.#values();
    const values = found ?? (labels.length === 0 ? [{ labels: {}, value: 0 }] : []);
    return Promise.resolve({ name, help, type, values });
  }
}
