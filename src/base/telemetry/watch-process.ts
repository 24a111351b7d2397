/** Sets the metrics of the process before each scrape, in addition to those of prom-client. */

import { totalmem } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Metrics } from "./instruments.ts";
import { droppedLines } from "./log.ts";

const PERCENTILES = [50, 99, 100];
/**
 * Each measurement wakes up the process. At intervals of 20 ms, measurements caused a fifth of all wakeups of a process
 * with an average load. Stalls of at least this length are always detected.
 */
const RESOLUTION_MS = 100;

/** Measures until the returned object is disposed. */
export function watchProcess(metrics: Metrics): Disposable {
  const watching = new DisposableStack();
  watching.use(watchEventLoop(metrics));
  watching.use(watchMemoryLimit(metrics));
  const dropped = metrics.logLinesDropped.bind({});
  let counted = 0;
  watching.defer(
    metrics.onScrape(() => {
      dropped.inc(droppedLines() - counted);
      counted = droppedLines();
    }),
  );
  return watching;
}

/** Sets the gauge of the event loop delay from Node's own histogram. */
function watchEventLoop(metrics: Metrics): Disposable {
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

/**
 * Reads the memory limit at each scrape, because a container's limit can change.
 *
 * @param constrained returns the limit of the control group. If it is 0, or larger than the machine's memory, the group
 * is not limited.
 */
export function watchMemoryLimit(
  metrics: Metrics,
  constrained = () => process.constrainedMemory(),
  installed = totalmem(),
): Disposable {
  const gauge = metrics.memoryLimit.bind({});
  const stop = metrics.onScrape(() => {
    const limit = constrained();
    gauge.set(limit < installed ? limit : 0);
  });
  return { [Symbol.dispose]: stop };
}
