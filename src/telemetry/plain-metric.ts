/**
 * Counters and gauges whose values are stored outside prom-client, which is used only to render them. With 1,000
 * destinations, prom-client's own metrics would spend most of a scrape's time on hashing labels.
 */

import { Gauge } from "prom-client";

import type { LabelSet } from "./buckets.ts";
import type { MetricSpec } from "./metrics.ts";

interface Value {
  readonly labels: LabelSet;
  readonly value: number;
}

interface Shown {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge";
  readonly values: readonly Value[];
}

export class PlainMetric extends Gauge {
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
  getForPromString(): Promise<Shown> {
    const { name, help, labels } = this.#spec;
    const type = this.#spec.type === "counter" ? "counter" : "gauge";
    const found = this.#values();
    const values = found ?? (labels.length === 0 ? [{ labels: {}, value: 0 }] : []);
    return Promise.resolve({ name, help, type, values });
  }
}
