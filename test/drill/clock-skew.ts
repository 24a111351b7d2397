/**
 * The clock of the process is set an hour ahead, and is corrected again. Deliveries continue all the time. For the
 * process, this looks like a machine that was suspended: its consumers join again, and the lag is unknown until then.
 */

import { METRICS } from "../../src/base/telemetry/metrics.ts";
import { type Comparison, counted, worded } from "./comparison.ts";
import { fineOf } from "./drilled-world.ts";
import { type Look, metric } from "./look.ts";
import { lone, own } from "./program-problems.ts";

const NAME = "clock-skew";
const AHEAD_MS = 3_600_000;
/** The allowed difference between the clock of the machine and that of a broker on it. */
const TOLERANCE_S = 1;
/** The maximum time until consumers have joined again and lags have been requested. */
const UNKNOWN_FOR_MS = 20_000;

export const CLOCK_SKEW = lone(NAME, "the clock of the process is set an hour ahead", {
  product: { hasClock: true },
  make: (product) => Promise.resolve(product.setClock(AHEAD_MS)),
  said: (look, madeAtMs) => {
    const isKnown = look.fromMs >= madeAtMs + UNKNOWN_FOR_MS;
    return [
      ...(isKnown ? fineOf(look, { problem: NAME, isAlways: true }) : []),
      own(NAME, [
        ...signals(look, AHEAD_MS),
        worded("log", reported(look), ["clock.wrong"]),
        worded("destinations", isKnown ? "compared" : "not compared yet", ["compared"]),
      ]),
    ];
  },
  mend: (product) => Promise.resolve(product.setClock(0)),
  mended: (look) => [
    own(NAME, [...signals(look, 0), worded("log", reported(look), ["clock.right"])]),
  ],
});

function signals(look: Look, aheadMs: number): readonly Comparison[] {
  const { ready, fromMs, toMs } = look;
  const isNamed = (ready?.parts.process ?? []).some((problem) => problem.includes("clock"));
  const inStatus = look.status.report?.processes[0]?.clockOffsetSeconds ?? null;
  const offset = around(aheadMs / 1_000, aheadMs / 1_000);
  const own = around((fromMs + aheadMs) / 1_000, (toMs + aheadMs) / 1_000);
  return [
    counted("metrics: how far it is ahead", metric(look, METRICS.clockOffset), offset),
    counted("metrics: its own clock", metric(look, METRICS.clockTimestamp), own),
    worded("readyz: the clock", isNamed ? "named" : "silent", [aheadMs > 0 ? "named" : "silent"]),
    worded("readyz: its status", `${ready?.status}`, ["200"]),
    counted("status: how far it is ahead", inStatus, offset),
  ];
}

/** The last log line about the clock. */
function reported({ lines }: Look): string {
  return lines.findLast(({ msg }) => msg.startsWith("clock."))?.msg ?? "silent";
}

function around(from: number, to: number) {
  return { from: from - TOLERANCE_S, to: to + TOLERANCE_S };
}
