/** Manages the producer ID, with which brokers recognize a batch that was sent again, and write it only once. */

import { initProducerId } from "../broker/requests.ts";
import type { Brokers } from "../cluster/brokers.ts";
import type { Clients } from "../cluster/connection.ts";
import { errorText, errorType } from "../cluster/kafka-error.ts";
import type { OutageLog } from "../cluster/outage-log.ts";
import type { Identity } from "../cluster/permission.ts";
import { rejectionText } from "./outcome.ts";

export interface ProducerId {
  readonly producerId: string | number;
  readonly producerEpoch: number;
}

/** The ID for writing without idempotence. */
export const NO_ID: ProducerId = { producerId: -1, producerEpoch: -1 };

const NO_TRANSACTION = null;
/** Has no effect without a transaction. */
const TRANSACTION_LIMIT_MS = 60_000;

export class ProducerIds {
  readonly #brokers: Brokers;
  readonly #outages: OutageLog;
  readonly #identity: Identity;
  #current: Promise<ProducerId> | null = null;
  /** The ID to which `#current` resolved. */
  #id: ProducerId | null = null;

  constructor(brokers: Brokers, { outages, connection }: Pick<Clients, "outages" | "connection">) {
    this.#brokers = brokers;
    this.#outages = outages;
    this.#identity = connection;
  }

  /** Returns the current ID. An ID that was replaced is never returned again. Throws if no broker returns an ID. */
  current(): Promise<ProducerId> {
    this.#current ??= this.#request().then(
      (id) => {
        this.#id = id;
        return id;
      },
      (error: unknown) => {
        this.#current = null;
        throw error;
      },
    );
    return this.#current;
  }

  /** Drops an ID that must not be used any longer. If there is a newer ID, it is kept. */
  drop(id: ProducerId | null): void {
    if (id === null || id !== this.#id) return;
    this.#id = null;
    this.#current = null;
  }

  async #request(): Promise<ProducerId> {
    const { errorCode, producerId, producerEpoch } = await this.#brokers.ask(
      initProducerId(NO_TRANSACTION, TRANSACTION_LIMIT_MS, -1n, -1),
    );
    if (errorCode !== 0 && errorType(errorCode) === "CLUSTER_AUTHORIZATION_FAILED") {
      const missing = rejectionText("", "CLUSTER_AUTHORIZATION_FAILED", this.#identity);
      const hint = `If a connection breaks, records may be written twice: ${missing}`;
      this.#outages.warnOnce("idempotence", { hint }, "kafka.produce.not-idempotent");
      return NO_ID;
    }
    if (errorCode !== 0) throw new Error(`InitProducerId: ${errorText(errorCode)}`);
    return { producerId: `${producerId}`, producerEpoch };
  }
}
