/** Sets the gauge of the memory limit before each scrape, because a container's limit can change. */

import { totalmem } from "node:os";

import type { Metrics } from "./instruments.ts";

/**
 * @param constrained the limit of the control group. A value that is 0, or larger than the machine's memory, means that
 * there is no limit.
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
