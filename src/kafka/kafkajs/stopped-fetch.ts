/**
 * Ends the fetch loops of a consumer that is stopped. When the brokers of a cluster change, kafkajs ends
 * its fetch loops and makes new ones. A stop that comes in between ends the old ones only:
 *
 *   a fetch of a stopped consumer    kafkajs                                 here
 *   its loop is told to end          is not made                             the same
 *   its loop was made meanwhile      gives nothing at once, again and        fails, which ends the loop
 *                                    again: the process does nothing else
 *   another loop has failed          is waited for, however long it lasts    is ended
 */

import type { ConsumerGroup } from "./consumer-group.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";

type Fetch = (nodeId: string) => Promise<unknown>;

interface Runner {
  readonly running: boolean;
  readonly consumerGroup: Pick<ConsumerGroup, "endFetches">;
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
      try {
        return await fetch.call(this, nodeId);
      } catch (error) {
        // The other loops have been told to end by then.
        setImmediate(() => this.consumerGroup.endFetches?.());
        throw error;
      }
    };
    return Original;
  },
};
