/** Sets the gauge of the memory limit before each scrape. A container's limit can be changed. */

import { totalmem } from "node:os";

import type { Metrics } from "./instruments.ts";

/** @param constrained the limit of the control group: 0, or a number beyond all memory, is none. */
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
