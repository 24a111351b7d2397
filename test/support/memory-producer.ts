/**
 * A producer of the cluster in memory: one request at a time, with everything that waits for it.
 *
 * A request whose answer is lost is sent again, and its records are then twice in the log.
 */

import type { OutgoingRecord } from "../../src/domain/record.ts";
import { ClosedError, type Producer, type RefusedRecord } from "../../src/kafka/port.ts";
import type { MemoryBroker } from "./memory-broker.ts";
import type { Party } from "./memory-network.ts";
import { outgoingBytes } from "./memory-topics.ts";

/** Before a request without an answer is sent again. */
const RETRY_MS = 1_000;

interface Send {
  readonly records: readonly OutgoingRecord[];
  refused: readonly RefusedRecord[];
  readonly resolve: (refused: readonly RefusedRecord[]) => void;
  readonly reject: (reason: Error) => void;
}

export class MemoryProducer implements Producer {
  readonly #broker: MemoryBroker;
  readonly #party: Party;
  readonly #sends = new Set<Send>();
  #isUnderWay = false;
  #isClosed = false;
  #onIdle: (() => void) | null = null;

  constructor(broker: MemoryBroker, party: Party) {
    this.#broker = broker;
    this.#party = party;
  }

  send(records: readonly OutgoingRecord[]): Promise<readonly RefusedRecord[]> {
    if (this.#isClosed) return Promise.reject(closed());
    if (records.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      this.#sends.add({ records, refused: [], resolve, reject });
      this.#request();
    });
  }

  async close(limitMs: number): Promise<void> {
    this.#isClosed = true;
    if (this.#sends.size > 0) {
      await new Promise<void>((resolve) => {
        const limit = this.#broker.clock.schedule(limitMs, resolve);
        this.#onIdle = () => {
          limit.cancel();
          resolve();
        };
      });
    }
    for (const send of this.#sends) send.reject(closed());
    this.#sends.clear();
  }

  #request(): void {
    if (this.#isUnderWay || this.#sends.size === 0) return;
    this.#isUnderWay = true;
    // What is sent in the same turn goes along.
    this.#broker.clock.schedule(this.#broker.writeDelayMs, () => {
      const sends = [...this.#sends];
      this.#broker.network.toBroker(this.#party, () => this.#arrive(sends));
    });
  }

  #arrive(sends: readonly Send[]): void {
    const { topics, network, random, lostAcknowledgements } = this.#broker;
    const written = sends.filter((send) => {
      const { records } = send;
      if (records.some(({ topic }) => topics.find(topic) === undefined)) return false;
      send.refused = records.flatMap((record) => this.#write(record));
      return true;
    });
    if (written.length < sends.length || random.chance(lostAcknowledgements)) {
      const isLost = written.length === sends.length;
      network.toClient(this.#party, () => this.#answered(isLost ? [] : written), RETRY_MS);
    } else {
      network.toClient(this.#party, () => this.#answered(written));
    }
  }

  #write(record: OutgoingRecord): RefusedRecord[] {
    const { topics, clock, recordBytesMax } = this.#broker;
    const topic = topics.get(record.topic);
    const bytes = outgoingBytes(record);
    const bytesMax = Math.min(recordBytesMax(topic.name), topic.recordBytesMax);
    if (bytes > bytesMax) {
      const error = `${bytes} bytes are more than the ${bytesMax} that ${topic.name} takes`;
      return [{ record, error }];
    }
    topic.append(record, topic.place(record), clock.nowMs());
    return [];
  }

  #answered(written: readonly Send[]): void {
    for (const send of written) {
      this.#sends.delete(send);
      send.resolve(send.refused);
    }
    this.#isUnderWay = false;
    if (this.#sends.size === 0) this.#onIdle?.();
    this.#request();
  }
}

function closed(): ClosedError {
  return new ClosedError("the producer is closed");
}
