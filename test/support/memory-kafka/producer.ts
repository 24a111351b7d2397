/**
 * A producer of the cluster in memory. It sends one request at a time, with all waiting records.
 *
 * If the response to a request is lost, the request is sent again, and its records are in the log twice.
 */

import type { OutgoingRecord } from "../../../src/domain/record.ts";
import {
  type BlockedTopic,
  ClosedError,
  type RejectedRecord,
  type SendOptions,
  type WatchedProducer,
} from "../../../src/kafka/port.ts";
import { BLOCK_AFTER_MS } from "../../../src/kafka/produce/write-failures.ts";
import type { MemoryBroker } from "./broker.ts";
import type { Party } from "./network.ts";
import { outgoingBytes } from "./topics.ts";

/** Time after which a request without a response is sent again. */
const RETRY_MS = 1_000;
const PROBE_EVERY_MS = 2_000;

interface Send {
  /** Records without a response. */
  records: readonly OutgoingRecord[];
  readonly refused: RejectedRecord[];
  readonly giveBack: boolean;
  readonly resolve: (refused: readonly RejectedRecord[]) => void;
  readonly reject: (reason: Error) => void;
}

/** The records of a request that were written, and those that the brokers rejected for their size. */
interface BrokerResponse {
  readonly send: Send;
  readonly written: ReadonlySet<OutgoingRecord>;
  readonly refused: readonly RejectedRecord[];
}

interface Missing {
  readonly sinceMs: number;
  probedAtMs: number;
}

export class MemoryProducer implements WatchedProducer {
  readonly #broker: MemoryBroker;
  readonly #party: Party;
  readonly #sends = new Set<Send>();
  readonly #onMissing: (topic: string) => void;
  /** Topics to which records are written although they do not exist. */
  readonly #missing = new Map<string, Missing>();
  #isUnderWay = false;
  #isClosed = false;
  #onIdle: (() => void) | null = null;

  constructor(broker: MemoryBroker, party: Party, onMissing: (topic: string) => void = () => {}) {
    this.#broker = broker;
    this.#party = party;
    this.#onMissing = onMissing;
  }

  send(
    records: readonly OutgoingRecord[],
    { giveBack = false }: SendOptions = {},
  ): Promise<readonly RejectedRecord[]> {
    if (this.#isClosed) return Promise.reject(closed());
    const refused: RejectedRecord[] = [];
    const left = records.filter((record) => {
      const isMissing = giveBack && this.#isMissing(record.topic);
      if (isMissing) refused.push(missing(record));
      return !isMissing;
    });
    if (left.length === 0) return Promise.resolve(refused);
    return new Promise((resolve, reject) => {
      this.#sends.add({ records: left, refused, giveBack, resolve, reject });
      this.#request();
    });
  }

  blocked(): readonly BlockedTopic[] {
    const nowMs = this.#broker.clock.nowMs();
    return [...this.#missing]
      .filter(([, { sinceMs }]) => nowMs - sinceMs >= BLOCK_AFTER_MS)
      .map(([topic, { sinceMs }]) => ({ topic, sinceMs, by: "missing", error: MISSING }));
  }

  /** Sometimes, a record may check whether the topic exists again. */
  #isMissing(topic: string): boolean {
    const nowMs = this.#broker.clock.nowMs();
    const found = this.#missing.get(topic);
    if (found === undefined || nowMs - found.sinceMs < BLOCK_AFTER_MS) return false;
    if (nowMs - found.probedAtMs < PROBE_EVERY_MS) return true;
    found.probedAtMs = nowMs;
    return false;
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
    // Records that are sent in the same turn are included.
    this.#broker.clock.schedule(this.#broker.writeDelayMs, () => {
      const sends = [...this.#sends];
      this.#broker.network.toBroker(this.#party, () => this.#arrive(sends));
    });
  }

  #arrive(sends: readonly Send[]): void {
    const { topics, network, random, lostAcknowledgements } = this.#broker;
    const responses = sends.map((send): BrokerResponse => {
      const here = send.records.filter(({ topic }) => topics.find(topic) !== undefined);
      return {
        send,
        written: new Set(here),
        refused: here.flatMap((record) => this.#write(record)),
      };
    });
    const lacking = new Set(
      sends.flatMap(({ records }) =>
        records.map(({ topic }) => topic).filter((topic) => topics.find(topic) === undefined),
      ),
    );
    const isLost = lacking.size === 0 && random.chance(lostAcknowledgements);
    const extraMs = lacking.size > 0 || isLost ? RETRY_MS : 0;
    network.toClient(this.#party, () => this.#responded(isLost ? [] : responses, lacking), extraMs);
  }

  #write(record: OutgoingRecord): RejectedRecord[] {
    const { topics, clock, recordMaxBytes } = this.#broker;
    const topic = topics.get(record.topic);
    const bytes = outgoingBytes(record);
    const maxBytes = Math.min(recordMaxBytes(topic.name), topic.recordMaxBytes);
    if (bytes > maxBytes) {
      const error = `the record has ${bytes} bytes, more than the ${maxBytes} that ${topic.name} allows`;
      return [{ record, error }];
    }
    topic.append(record, topic.place(record), clock.nowMs());
    return [];
  }

  #responded(responses: readonly BrokerResponse[], lacking: ReadonlySet<string>): void {
    const nowMs = this.#broker.clock.nowMs();
    for (const topic of lacking) {
      const since = this.#missing.get(topic)?.sinceMs ?? nowMs;
      if (!this.#missing.has(topic))
        this.#missing.set(topic, { sinceMs: since, probedAtMs: nowMs });
      if (nowMs - since >= BLOCK_AFTER_MS) this.#onMissing(topic);
    }
    for (const { send, written, refused } of responses) this.#settle(send, written, refused, nowMs);
    this.#isUnderWay = false;
    if (this.#sends.size === 0) this.#onIdle?.();
    this.#request();
  }

  #settle(
    send: Send,
    written: ReadonlySet<OutgoingRecord>,
    refused: readonly RejectedRecord[],
    nowMs: number,
  ): void {
    send.refused.push(...refused);
    for (const { topic } of written) this.#missing.delete(topic);
    send.records = send.records.filter((record) => {
      if (written.has(record)) return false;
      const since = this.#missing.get(record.topic)?.sinceMs ?? nowMs;
      if (!send.giveBack || nowMs - since < BLOCK_AFTER_MS) return true;
      send.refused.push(missing(record));
      return false;
    });
    if (send.records.length > 0) return;
    this.#sends.delete(send);
    send.resolve(send.refused);
  }
}

const MISSING = "UNKNOWN_TOPIC_OR_PARTITION";

function missing(record: OutgoingRecord): RejectedRecord {
  return { record, error: MISSING, blocked: "missing" };
}

function closed(): ClosedError {
  return new ClosedError("the producer is closed");
}
