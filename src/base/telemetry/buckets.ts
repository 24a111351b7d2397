/**
 * Histograms that store their counts as plain numbers, because prom-client's own histograms look up, check and hash
 * their labels for every observation. prom-client is used only to render these histograms.
 */

import { Histogram, type MetricValueWithName } from "prom-client";

import type { MetricSpec } from "./metrics.ts";

export type LabelSet = Readonly<Record<string, string>>;

/** The observations of one label set. */
export class Buckets {
  readonly labels: LabelSet;
  readonly #bounds: readonly number[];
  /**
   * For each bound, the number of values up to this bound and above the previous bound. The last element is the
   * number of values above all bounds.
   */
  readonly #counts: number[];
  #sum = 0;

  /** @param bounds upper bounds, in ascending order. */
  constructor(labels: LabelSet, bounds: readonly number[]) {
    this.labels = labels;
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    let at = 0;
    while (value > (this.#bounds[at] ?? Number.POSITIVE_INFINITY)) at += 1;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#sum += value;
  }

  get counts(): readonly number[] {
    return this.#counts;
  }

  /** The values in the form that Prometheus expects, in which each bucket counts all values up to its bound. */
  values(name: string): MetricValueWithName<string>[] {
    const { labels } = this;
    let count = 0;
    const buckets = this.#counts.map((own, at) => {
      count += own;
      const le = this.#bounds[at] ?? "+Inf";
      return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
    });
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}

interface RenderedHistogram {
  readonly name: string;
  readonly help: string;
  readonly type: "histogram";
  readonly values: readonly MetricValueWithName<string>[];
}

/** Renders histograms whose label sets are stored outside prom-client. */
export class BucketsHistogram extends Histogram {
  readonly #spec: MetricSpec;
  readonly #all: ReadonlyMap<string, Buckets>;
  readonly #isShown: (labels: LabelSet) => boolean;

  /** @param isShown returns false for a label set that is counted but not rendered. */
  constructor(
    spec: MetricSpec,
    all: ReadonlyMap<string, Buckets>,
    isShown: (labels: LabelSet) => boolean = () => true,
  ) {
    const { name, help } = spec;
    super({ name, help, labelNames: [...spec.labels], registers: [] });
    this.#spec = spec;
    this.#all = all;
    this.#isShown = isShown;
  }

  /** The interface that prom-client expects of a histogram. */
  getForPromString(): Promise<RenderedHistogram> {
    const { name, help } = this.#spec;
    const shown = [...this.#all.values()].filter(({ labels }) => this.#isShown(labels));
    const values = shown.flatMap((buckets) => buckets.values(name));
    return Promise.resolve({ name, help, type: "histogram", values });
  }
}
