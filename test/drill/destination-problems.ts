/**
 * The problems of single destinations.
 *
 *   problem       its endpoint, or its settings            what is true then
 *   down          its port is closed                       nothing is accepted, and its circuit opens
 *   silent        takes requests, never responds           the same
 *   self-signed   shows a self-signed certificate          the same, and no request arrives
 *   refuses       responds 400                             each call is a dead letter, and no circuit opens
 *   slow          accepts after a second, two at a time    its lag grows, and nothing fails
 *   retry-after   responds 429, `Retry-After: 40`          it is on hold for that reason
 *   disabled      `enabled: false`                         it gets no new calls, ever
 *   paused        `paused: true`                           its calls wait in order
 *   topic-gone    its topic is deleted                     its calls are rerouted
 */

import { METRICS } from "../../src/base/telemetry/metrics.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { counted } from "./comparison.ts";
import { type Expected, type Failures, FINE } from "./expected.ts";
import { type Look, metric } from "./look.ts";
import type { DestinationHealthProblem } from "./problem.ts";
import type { Product } from "./product.ts";
import { ACCEPTS, type Manner } from "./receiver.ts";
import { TOPIC_GONE } from "./topic-gone.ts";

const FAILING: Expected = {
  ...FINE,
  circuit: "open",
  hold: "circuit-open",
  isFailing: true,
  isNamed: true,
  state: "on-hold",
};
const SLOW_MS = 1_000;

export const DESTINATION_PROBLEMS: readonly DestinationHealthProblem[] = [
  endpoint("down", "its port is closed", { kind: "down" }, failing("refused", "warn")),
  endpoint("silent", "it never responds", { kind: "silent" }, failing("timeout", "error")),
  {
    ...endpoint(
      "self-signed",
      "its certificate is not signed by anybody",
      { kind: "self-signed" },
      failing("tls-self-signed", "error"),
    ),
    need: { isTls: true },
  },
  endpoint(
    "refuses",
    "it responds 400",
    { kind: "status", status: 400 },
    {
      ...FINE,
      isFailing: true,
      state: "failing",
      failures: { outcome: "4xx", status: 400, level: "warn" },
    },
  ),
  {
    ...endpoint(
      "slow",
      "it accepts after a second, two at a time",
      { kind: "status", status: 200, afterMs: SLOW_MS },
      FINE,
    ),
    need: { settings: { concurrency: 2 } },
  },
  {
    ...endpoint(
      "retry-after",
      "it asks to come again in 40 s",
      { kind: "status", status: 429, headers: { "Retry-After": "40" } },
      {
        ...FINE,
        hold: "retry-after",
        // There is one attempt in 40 s, and with the third failure, the destination is failing.
        isFailing: null,
        state: "on-hold",
        failures: { outcome: "429", status: 429, level: "warn" },
      },
    ),
    // Retries run one at a time, because many concurrent ones would open the circuit.
    need: { settings: { concurrency: 1 } },
  },
  {
    ...settings("disabled", "it is disabled", { enabled: false }),
    expected: { ...FINE, hold: "disabled", state: "on-hold" },
    also: skipped,
  },
  {
    ...settings("paused", "it is paused", { paused: true }),
    expected: { ...FINE, hold: "paused", isNamed: true, state: "on-hold" },
  },
  TOPIC_GONE,
];

function failing(outcome: string, level: Failures["level"]): Expected {
  return { ...FAILING, failures: { outcome, status: null, level } };
}

function endpoint(
  name: string,
  summary: string,
  manner: Manner,
  expected: Expected,
): DestinationHealthProblem {
  return {
    kind: "destination",
    name,
    summary,
    expected,
    make: (product, id) => product.receiver(id).behave(manner),
    mend: (product, id) => product.receiver(id).behave(ACCEPTS),
  };
}

function settings(name: string, summary: string, changed: Readonly<Record<string, unknown>>) {
  return {
    kind: "destination" as const,
    name,
    summary,
    make: (product: Product, id: DestinationId) => Promise.resolve(product.configure(id, changed)),
    mend: (product: Product, id: DestinationId) => Promise.resolve(product.configure(id, {})),
  };
}

/** Compares the count of calls that a disabled destination does not get with the calls since it was disabled. */
function skipped(look: Look, id: DestinationId, madeAtMs: number) {
  const said = metric(look, METRICS.callsSkipped, { destination: id, reason: "disabled" });
  const since = (ms: number) => look.truth.sent.between(madeAtMs, ms).length;
  // The file is read within two seconds.
  const applied = since(madeAtMs + 5_000);
  const from = Math.max(0, since(look.fromMs - 3_000) - applied);
  return [counted("metrics: calls skipped", said, { from, to: since(look.toMs) })];
}
