import { Histogram, Registry } from "prom-client";
import { expect, test } from "vitest";

import { Buckets, BucketsHistogram } from "../../../../src/base/telemetry/buckets.ts";
import type { MetricSpec } from "../../../../src/base/telemetry/metrics.ts";

const BOUNDS = [0.1, 1, 10];
const TOOK: MetricSpec = { name: "took", type: "histogram", labels: ["who"], help: "How long." };

test("shows what prom-client's own histogram shows, on, between and above the bounds", async () => {
  const theirs = new Registry();
  const histogram = new Histogram({
    name: "took",
    help: "How long.",
    labelNames: ["who"],
    buckets: BOUNDS,
    registers: [theirs],
  });
  const ours = new Registry();
  const [anna, bert] = [new Buckets({ who: "anna" }, BOUNDS), new Buckets({ who: "bert" }, BOUNDS)];
  ours.registerMetric(new BucketsHistogram(TOOK, new Map(Object.entries({ anna, bert }))));
  for (const value of [0, 0.1, 0.100_001, 1, 3, 10, 10.5, 1_000]) {
    anna.observe(value);
    histogram.observe({ who: "anna" }, value);
  }
  bert.observe(2);
  histogram.observe({ who: "bert" }, 2);

  expect(linesOf(await ours.metrics())).toEqual(linesOf(await theirs.metrics()));
});

/** Sorts labels, because Prometheus ignores their order. */
function linesOf(text: string): string[] {
  return text.split("\n").map((line) =>
    line.replace(/\{(.*)\}/, (_all, labels: string) => {
      return `{${labels.split(",").toSorted().join(",")}}`;
    }),
  );
}
