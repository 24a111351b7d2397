/** Before each scrape, sets the gauge of the event loop delay from Node's own histogram. */

import { monitorEventLoopDelay } from "node:perf_hooks";

import type { Metrics } from "./instruments.ts";

const PERCENTILES = [50, 99, 100];
/**
 * Each measurement wakes up the process. At intervals of 20 ms, measurements caused a fifth of all wakeups of a process
 * with an average load. Stalls of at least this length are always detected.
 */
const RESOLUTION_MS = 100;

/** Measures until the returned object is disposed. */
export function watchEventLoop(metrics: Metrics): Disposable {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delays.enable();
  const stop = metrics.onScrape(() => {
    for (const percentile of PERCENTILES) {
      // The histogram measures the time between two timers, so its values for an idle event loop equal the resolution.
      const delayMs = Math.max(0, delays.percentile(percentile) / 1e6 - RESOLUTION_MS);
      metrics.eventLoopDelay.bind({ percentile: `${percentile}` }).set(delayMs / 1_000);
    }
    delays.reset();
  });
  return {
    [Symbol.dispose]: () => {
      stop();
      delays.disable();
    },
  };
}
