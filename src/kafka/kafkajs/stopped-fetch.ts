/**
 * Ends the fetch loops of a consumer that is stopped. When the brokers of a cluster change, kafkajs ends
 * its fetch loops and makes new ones. A stop that comes in between ends the old ones only:
 *
 *   a fetch of a stopped consumer    kafkajs                                 here
 *   its loop is told to end          is not made                             the same
 *   its loop was made meanwhile      gives nothing at once, again and        fails, which ends the loop
 *                                    again: the process does nothing else
 */

import type { LoadInternal, Replacement } from "./load-kafkajs.ts";

type Fetch = (nodeId: string) => Promise<unknown>;

interface Runner {
  readonly running: boolean;
  fetch: Fetch;
}

export const stoppedFetch: Replacement = {
  name: "stopped-fetch",
  module: "src/consumer/runner.js",
  replace: (load: LoadInternal) => {
    const Original = load("src/consumer/runner.js") as { readonly prototype: Runner };
    const { fetch } = Original.prototype;
    Original.prototype.fetch = async function fetchWhileRunning(this: Runner, nodeId: string) {
      if (!this.running) throw new Error("the consumer is stopped");
      return await fetch.call(this, nodeId);
    };
    return Original;
  },
};
