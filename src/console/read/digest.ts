/** Turns the lines of `/metrics` into the numbers of the console's history. */

import type { Sample } from "../../operate/connect/metrics-text.ts";
import { METRICS } from "../../telemetry/metrics.ts";
import {
  AT,
  ATTEMPT_BOUNDS_S,
  type Counters,
  DESTINATION_WIDTH,
  FLOW_AT,
  FLOW_WIDTH,
} from "../counters.ts";
import { RESPONSE_CLASSES } from "../view.ts";

const DURATION_BUCKET = `${METRICS.attemptDuration.name}_bucket`;

/** All that is read here. */
export const DIGESTED: ReadonlySet<string> = new Set([
  METRICS.attempts.name,
  METRICS.requests.name,
  METRICS.callsRouted.name,
  METRICS.recordsIn.name,
  METRICS.deadLetters.name,
  DURATION_BUCKET,
]);

export function digest(samples: readonly Sample[]): Counters {
  const flow = new Float64Array(FLOW_WIDTH);
  const counts = new Array<boolean>(FLOW_WIDTH).fill(false);
  const destinations = new Map<string, Float64Array>();
  const rowOf = (id: string) => {
    const row = destinations.get(id) ?? new Float64Array(DESTINATION_WIDTH);
    destinations.set(id, row);
    return row;
  };
  const count = (place: number, value: number) => {
    flow[place] = (flow[place] ?? 0) + value;
    counts[place] = true;
  };
  for (const { name, labels, value } of samples) {
    const { destination = "", outcome = "" } = labels;
    switch (name) {
      case METRICS.attempts.name: {
        const place = outcome === "accepted" ? "accepted" : "failed";
        count(FLOW_AT[place], value);
        add(rowOf(destination), AT[place], value);
        break;
      }
      case METRICS.requests.name:
        add(rowOf(destination), AT.responses + responseAt(outcome), value);
        break;
      case METRICS.callsRouted.name:
        count(FLOW_AT.routed, value);
        break;
      case METRICS.recordsIn.name:
        if (labels.stage === "route") count(FLOW_AT.calls, value);
        break;
      case METRICS.deadLetters.name:
        count(FLOW_AT.deadLetters, value);
        break;
      case DURATION_BUCKET:
        // For all destinations together if `metrics.destinations` is not full.
        if (destination !== "") bucket(rowOf(destination), labels.le ?? "", value);
        break;
    }
  }
  // A stage that runs but has counted nothing yet has a count of 0.
  if (counts[FLOW_AT.calls] === true) counts[FLOW_AT.deadLetters] = true;
  return { flow, destinations, counts };
}

function responseAt(outcome: string): number {
  const at = (RESPONSE_CLASSES as readonly string[]).indexOf(outcome.replace(/^tls-.*/, "tls"));
  return at < 0 ? RESPONSE_CLASSES.indexOf("other") : at;
}

/** Prometheus buckets are cumulative: the count is subtracted from the next bucket. */
function bucket(row: Float64Array, le: string, value: number): void {
  const found = ATTEMPT_BOUNDS_S.findIndex((bound) => `${bound}` === le);
  const at = found < 0 ? ATTEMPT_BOUNDS_S.length : found;
  if (found < 0 && le !== "+Inf") return;
  add(row, AT.buckets + at, value);
  if (at < ATTEMPT_BOUNDS_S.length) add(row, AT.buckets + at + 1, -value);
}

function add(row: Float64Array, place: number, value: number): void {
  row[place] = (row[place] ?? 0) + value;
}
