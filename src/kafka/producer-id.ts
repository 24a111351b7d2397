/** The producer id under which batches are numbered, so that brokers write none of them twice. */

import type { Brokers } from "./brokers.ts";
import { errorText, errorType } from "./internals.ts";
import type { OutageLog } from "./outage-log.ts";

export interface ProducerId {
  readonly producerId: string | number;
  readonly producerEpoch: number;
}

/** Means: write without idempotence. */
export const NO_ID: ProducerId = { producerId: -1, producerEpoch: -1 };

export class ProducerIds {
  readonly #brokers: Brokers;
  readonly #outages: OutageLog;
  /** Called before a new id is used: sequences begin anew. */
  readonly #onNew: () => void;
  #current: Promise<ProducerId> | null = null;

  constructor(brokers: Brokers, outages: OutageLog, onNew: () => void) {
    this.#brokers = brokers;
    this.#outages = outages;
    this.#onNew = onNew;
  }

  /** Throws when no broker gives one. */
  current(): Promise<ProducerId> {
    this.#current ??= this.#ask().catch((error: unknown) => {
      this.#current = null;
      throw error;
    });
    return this.#current;
  }

  /** The brokers do not accept the current one any more. */
  drop(): void {
    this.#current = null;
  }

  async #ask(): Promise<ProducerId> {
    const { errorCode, producerId, producerEpoch } = await this.#brokers.initProducerId();
    if (errorCode !== 0 && errorType(errorCode) === "CLUSTER_AUTHORIZATION_FAILED") {
      const hint =
        "A cut connection may write records twice. Allow IdempotentWrite on the cluster.";
      this.#outages.warnOnce("idempotence", { hint }, "kafka.produce.not-idempotent");
      return NO_ID;
    }
    if (errorCode !== 0) throw new Error(`InitProducerId: ${errorText(errorCode)}`);
    this.#onNew();
    return { producerId, producerEpoch };
  }
}
