/** From the lines of `/metrics` to the numbers that the page's history goes by. */

import {
  AT,
  ATTEMPT_BOUNDS_S,
  type Counters,
  DESTINATION_WIDTH,
  FLOW_AT,
  FLOW_WIDTH,
} from "../../console/counters.ts";
import { ANSWERS } from "../../console/view.ts";
import { METRICS } from "../../telemetry/metrics.ts";
import type { Sample } from "../metrics-text.ts";

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
        add(rowOf(destination), AT.answers + answerAt(outcome), value);
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
        // Of all destinations together where `metrics.destinations` is not full.
        if (destination !== "") bucket(rowOf(destination), labels.le ?? "", value);
        break;
    }
  }
  // A stage that runs and has counted nothing yet counts all the same.
  if (counts[FLOW_AT.calls] === true) counts[FLOW_AT.deadLetters] = true;
  return { flow, destinations, counts };
}

function answerAt(outcome: string): number {
  const at = (ANSWERS as readonly string[]).indexOf(outcome.replace(/^tls-.*/, "tls"));
  return at < 0 ? ANSWERS.indexOf("other") : at;
}

/** Prometheus' buckets hold all below their bound; the next one's count is taken off again. */
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
