/** Turns the metrics of a process into the numbers that the console's history stores. */

import type { MetricValues } from "../../domain/process-status.ts";
import { METRICS } from "../../telemetry/metrics.ts";
import { isSkipReason, SKIP_REASONS } from "../../words/reasons.ts";
import { AT, type Counters, DESTINATION_WIDTH, FLOW_AT, FLOW_WIDTH } from "../counters.ts";
import { RESPONSE_CLASSES } from "../view.ts";

export function digest(metrics: MetricValues): Counters {
  const flow = new Float64Array(FLOW_WIDTH);
  const counts = new Array<boolean>(FLOW_WIDTH).fill(false);
  const destinations = new Map<string, Float64Array>();
  const addTo = (id: string, place: number, value: number) => {
    const row = destinations.get(id) ?? new Float64Array(DESTINATION_WIDTH);
    destinations.set(id, row);
    row[place] = (row[place] ?? 0) + value;
  };
  const count = (place: number, value: number) => {
    flow[place] = (flow[place] ?? 0) + value;
    counts[place] = true;
  };
  const valuesOf = ({ name }: { readonly name: string }) => metrics[name] ?? [];
  for (const { labels, value } of valuesOf(METRICS.attempts)) {
    const place = labels.outcome === "accepted" ? "accepted" : "failed";
    count(FLOW_AT[place], value);
    addTo(labels.destination ?? "", AT[place], value);
  }
  for (const { labels, value } of valuesOf(METRICS.requests)) {
    addTo(labels.destination ?? "", AT.responses + responseAt(labels.outcome ?? ""), value);
  }
  for (const { value } of valuesOf(METRICS.callsRouted)) count(FLOW_AT.routed, value);
  for (const { labels, value } of valuesOf(METRICS.callsSkipped)) {
    const { destination = "", reason = "" } = labels;
    if (isSkipReason(reason)) addTo(destination, AT.skipped + SKIP_REASONS.indexOf(reason), value);
  }
  for (const { labels, value } of valuesOf(METRICS.recordsIn)) {
    if (labels.stage === "route") count(FLOW_AT.calls, value);
  }
  for (const { value } of valuesOf(METRICS.deadLetters)) count(FLOW_AT.deadLetters, value);
  for (const { labels, buckets = [] } of valuesOf(METRICS.attemptDuration)) {
    const { destination = "" } = labels;
    // With `metrics.destinations: counts`, values without a destination are for all destinations together.
    if (destination === "") continue;
    for (const [at, observed] of buckets.entries()) addTo(destination, AT.buckets + at, observed);
  }
  // A process that counts calls also counts dead letters. If it reports none, their number is 0.
  if (counts[FLOW_AT.calls] === true) counts[FLOW_AT.deadLetters] = true;
  return { flow, destinations, counts };
}

function responseAt(outcome: string): number {
  const at = (RESPONSE_CLASSES as readonly string[]).indexOf(outcome.replace(/^tls-.*/, "tls"));
  return at < 0 ? RESPONSE_CLASSES.indexOf("other") : at;
}
