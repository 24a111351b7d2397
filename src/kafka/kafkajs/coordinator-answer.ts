/**
 * Keeps what a broker answers to the question for a group's coordinator. kafkajs asks one broker after
 * the other, forgets all errors, and says that there is no coordinator, which looks like an outage: a
 * consumer without the permission on its group would wait for ever.
 *
 *   the last broker answered               the error is
 *   no coordinator now, or nothing at all  that of kafkajs
 *   anything else: no permission           the broker's
 */

import { DRIVER_OUTAGE } from "./error-names.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";

interface BrokerPool {
  withBroker<Result>(ask: (at: unknown) => Promise<Result>): Promise<Result | null>;
}

interface Cluster {
  readonly brokerPool: BrokerPool;
  findGroupCoordinatorMetadata(of: { readonly groupId: string }): Promise<unknown>;
}

export const coordinatorResponse: Replacement = {
  name: "coordinator-response",
  module: "src/cluster/index.js",
  replace: (load: LoadInternal) => {
    const cluster = load("src/cluster/index.js") as { readonly prototype: Cluster };
    const find = cluster.prototype.findGroupCoordinatorMetadata;
    cluster.prototype.findGroupCoordinatorMetadata = async function findMetadata(of) {
      let lastError: unknown = null;
      // The original runs on an object that differs from `this` in how brokers are asked alone.
      const brokerPool: BrokerPool = {
        withBroker: (ask) =>
          this.brokerPool.withBroker(async (at) => {
            try {
              return await ask(at);
            } catch (error) {
              lastError = error;
              throw error;
            }
          }),
      };
      try {
        return await find.call(Object.create(this, { brokerPool: { value: brokerPool } }), of);
      } catch (error) {
        throw isLasting(lastError) ? lastError : error;
      }
    };
    return cluster;
  },
};

/** An answer of a broker that time does not mend. */
function isLasting(error: unknown): boolean {
  if (!(error instanceof Error) || DRIVER_OUTAGE.some((name) => name === error.name)) return false;
  return "type" in error && !("retriable" in error && error.retriable === true);
}
