/**
 * The producer of the port. The records of all callers go into one buffer per partition, and each broker gets one
 * request at a time, with the next batch of every partition that it leads.
 *
 * While a request is in flight, the next batches fill up. As a result, batches are large under load, and a record does
 * not wait if there is no load. The producer is idempotent: after a lost connection, a batch may or may not have been
 * written, so it is sent again with the same sequence number, and brokers do not write it twice.
 */

import type { Clock } from "../../base/runtime/clock.ts";
import { InFlightSet } from "../../base/runtime/in-flight-set.ts";
import { Signal } from "../../base/runtime/signal.ts";
import type { OutgoingRecord, RecordHeaders } from "../../domain/record.ts";
import type { Clients } from "../cluster/connection.ts";
import {
  type BlockedTopic,
  ClosedError,
  type ProducerOptions,
  type RejectedRecord,
  type SendOptions,
  type WatchedProducer,
} from "../port.ts";
import { RECORD_OVERHEAD_BYTES, type SendCall } from "./partition-buffer.ts";
import { ProduceRounds } from "./rounds.ts";

/** Bytes of an encoded header without its payload. */
const HEADER_OVERHEAD_BYTES = 6;

export class KafkaProducer implements WatchedProducer {
  readonly #rounds: ProduceRounds;
  readonly #clock: Clock;
  readonly #onClosed: () => void;
  readonly #calls = new InFlightSet<SendCall>();
  readonly #callEnded = new Signal();
  #isClosed = false;
  #sharedHeaders: RecordHeaders | null = null;
  #sharedBytes = 0;

  constructor(clients: Clients, options: ProducerOptions = {}, onClosed = (): void => undefined) {
    this.#onClosed = onClosed;
    this.#clock = clients.clock;
    this.#rounds = new ProduceRounds(clients, options);
  }

  blocked(): readonly BlockedTopic[] {
    return this.#rounds.blocked();
  }

  send(
    records: readonly OutgoingRecord[],
    { giveBack = false }: SendOptions = {},
  ): Promise<readonly RejectedRecord[]> {
    if (this.#isClosed) return Promise.reject(closed());
    return new Promise((resolve, reject) => {
      const call: SendCall = {
        place: -1,
        unacknowledged: 0,
        rejected: [],
        giveBack,
        resolve: (rejected) => {
          this.#calls.delete(call);
          if (this.#isClosed) this.#callEnded.fire();
          resolve(rejected);
        },
        reject,
      };
      for (const record of records) this.#add(record, call);
      if (call.unacknowledged === 0) {
        resolve(call.rejected);
      } else {
        this.#calls.add(call);
        this.#rounds.soon();
      }
    });
  }

  async close(limitMs: number): Promise<void> {
    this.#isClosed = true;
    const untilMs = performance.now() + limitMs;
    for (
      let leftMs = limitMs;
      this.#calls.size > 0 && leftMs > 0;
      leftMs = untilMs - performance.now()
    ) {
      await this.#callEnded.wait(leftMs);
    }
    this.#rounds.close();
    for (const call of this.#calls.all()) {
      this.#calls.delete(call);
      call.reject(closed());
    }
    this.#onClosed();
  }

  #add(record: OutgoingRecord, call: SendCall): void {
    const topic = this.#rounds.topic(record.topic);
    const { encoded } = record;
    const payloadBytes = encoded?.length ?? this.#payloadBytes(record);
    if (payloadBytes > topic.recordMaxBytes) {
      const error = `the record has ${payloadBytes} bytes, more than the ${topic.recordMaxBytes} that ${topic.name} allows`;
      call.rejected.push({ record, error });
      return;
    }
    const mayComeBack = call.giveBack && topic.mayBeBlocked;
    const block = mayComeBack ? topic.blockFor(record, this.#clock.nowMs()) : null;
    if (block !== null) {
      call.rejected.push({ record, error: block.error, blocked: block.by });
      return;
    }
    const headers =
      encoded === undefined ? record.headers.length + (record.sharedHeaders?.length ?? 0) : 0;
    const bytes = payloadBytes + RECORD_OVERHEAD_BYTES + headers * HEADER_OVERHEAD_BYTES;
    call.unacknowledged += 1;
    this.#rounds.add(topic, record, bytes, call);
  }

  #payloadBytes({ key, value, headers, sharedHeaders }: OutgoingRecord): number {
    let bytes = (key?.length ?? 0) + (value?.length ?? 0) + headersBytes(headers);
    if (sharedHeaders !== undefined) {
      if (sharedHeaders !== this.#sharedHeaders) {
        this.#sharedHeaders = sharedHeaders;
        this.#sharedBytes = headersBytes(sharedHeaders);
      }
      bytes += this.#sharedBytes;
    }
    return bytes;
  }
}

function headersBytes(headers: RecordHeaders): number {
  let bytes = 0;
  for (const [name, value] of headers) bytes += name.length + (value?.length ?? 0);
  return bytes;
}

function closed(): ClosedError {
  return new ClosedError(
    "the producer is closed: its unacknowledged records may or may not have been written",
  );
}
