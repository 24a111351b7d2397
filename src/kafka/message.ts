/** Records as kafkajs hands them over, with the replaced decoder. */

import type { KafkaMessage } from "kafkajs";

import type { IncomingRecord, RecordHeaders } from "../domain/record.ts";
import type { EncodedContent } from "./record-reader.ts";

const NO_HEADERS: RecordHeaders = [];

/** Its headers are decoded each time that they are asked for: few are asked for more than once. */
export class FetchedRecord implements IncomingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly #content: EncodedContent | null;

  constructor(topic: string, partition: number, message: KafkaMessage) {
    this.topic = topic;
    this.partition = partition;
    this.offset = Number(message.offset);
    this.timestampMs = Number(message.timestamp);
    this.key = message.key;
    this.value = message.value;
    this.#content = contentOf(message);
  }

  get headers(): RecordHeaders {
    return this.#content?.headers() ?? NO_HEADERS;
  }

  get encoded(): Buffer | undefined {
    return this.#content?.bytes;
  }

  /** What it holds in memory. */
  get bytes(): number {
    const { key, value } = this;
    return (this.#content?.length ?? (key?.length ?? 0) + (value?.length ?? 0)) + 64;
  }
}

/** The headers of a message that a consumer was handed. */
export function headersOf(message: KafkaMessage): RecordHeaders {
  return contentOf(message)?.headers() ?? NO_HEADERS;
}

/** Message sets of Kafka before 0.11 have none. */
function contentOf({ headers }: KafkaMessage): EncodedContent | null {
  // The decoder of `decode-batch.ts` leaves it encoded, where kafkajs' types promise an object.
  return (headers as unknown as EncodedContent | null | undefined) ?? null;
}
