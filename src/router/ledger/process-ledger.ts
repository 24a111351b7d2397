/**
 * Writes the ledger records of a process to their topic. Nobody waits for it for long, because nobody's calls may be
 * held up by an audit.
 *
 *   the ledger topic                           then
 *   acknowledges                               `write` resolves
 *   rejects writes, for example because it is  the records wait, and are written again with a later one, at most every
 *   missing or a permission is missing         two seconds. Nobody waits meanwhile
 *   does not respond                           `write` resolves after two seconds, and at once until there is a
 *                                              response
 *   stays so until 16 MiB wait                 the oldest records are dropped, and `/readyz` says so.
 *                                              `audit` says for which offsets it knows nothing
 */

import type { Clock } from "../../base/runtime/clock.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import type { Producer } from "../../kafka/port.ts";

/** Maximum time for which a commit waits, and minimum time between two writes to a topic that rejects them. */
const PATIENCE_MS = 2_000;
const WAITING_MAX_BYTES = 16 * 1_024 * 1_024;

export interface LedgerOptions {
  readonly producer: Pick<Producer, "send">;
  readonly clock: Clock;
  /** The topic `ledger`. */
  readonly topic: string;
  /** Different for each start of a process. */
  readonly process: string;
}

export class ProcessLedger {
  readonly topic: string;
  readonly process: string;
  readonly #producer: Pick<Producer, "send">;
  readonly #clock: Clock;
  #count = 0;
  /** Records that are not being sent: added by `write` and by a rejection, taken by `#send`. */
  #waiting: OutgoingRecord[] = [];
  #waitingBytes = 0;
  /** The send in progress; null if there is none. */
  #sending: Promise<void> | null = null;
  /** True if the send in progress has taken too long. */
  #isSlow = false;
  /** The earliest time of the next send, after a rejection. */
  #notBeforeMs = 0;
  #dropped = 0;

  constructor({ producer, clock, topic, process }: LedgerOptions) {
    this.topic = topic;
    this.process = process;
    this.#producer = producer;
    this.#clock = clock;
  }

  /** The number of the next record. A group may have several consumers, one after the other. */
  nextNumber(): number {
    this.#count += 1;
    return this.#count;
  }

  /** Resolves when the records are acknowledged, or wait. Never rejects. */
  async write(records: readonly OutgoingRecord[]): Promise<void> {
    for (const record of records) this.#add(record);
    if (this.#clock.nowMs() < this.#notBeforeMs) return;
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null;
      this.#isSlow = false;
    });
    if (this.#isSlow) return;
    const over = new AbortController();
    const tooLong = this.#clock.sleep(PATIENCE_MS, over.signal).then(
      () => {
        this.#isSlow = this.#sending !== null;
      },
      () => undefined,
    );
    await Promise.race([this.#sending, tooLong]);
    over.abort();
  }

  healthProblems(): readonly string[] {
    if (this.#dropped === 0) return [];
    return [
      `${this.#dropped} records of ${this.topic} were dropped, because the topic was not writable: an audit of this time is incomplete`,
    ];
  }

  /** Sends what waits, until nothing waits or the topic rejects it. */
  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const records = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      const rejected = await this.#producer.send(records, { giveBack: true }).catch(() => []);
      // A record that is too large would be rejected again.
      const blocked = rejected.filter((each) => each.blocked !== undefined);
      this.#dropped += rejected.length - blocked.length;
      if (blocked.length === 0) continue;
      const since = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      for (const record of [...blocked.map((each) => each.record), ...since]) this.#add(record);
      this.#notBeforeMs = this.#clock.nowMs() + PATIENCE_MS;
      return;
    }
  }

  #add(record: OutgoingRecord): void {
    this.#waiting.push(record);
    this.#waitingBytes += record.value?.length ?? 0;
    for (; this.#waitingBytes > WAITING_MAX_BYTES; this.#dropped += 1) {
      const oldest = this.#waiting.shift();
      this.#waitingBytes -= oldest?.value?.length ?? 0;
    }
  }
}
