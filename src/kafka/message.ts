/** Records as kafkajs hands them over, with the replaced decoder. */

import type { KafkaMessage } from "kafkajs";

import type { IncomingRecord, RecordHeaders } from "../domain/record.ts";
import type { EncodedContent } from "./record-reader.ts";

const NO_HEADERS: RecordHeaders = [];

/** What it says is decoded each time that it is asked for: little is asked for more than once. */
export class FetchedRecord implements IncomingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly timestampMs: number;
  readonly #content: EncodedContent | OldContent;

  constructor(topic: string, partition: number, message: KafkaMessage) {
    this.topic = topic;
    this.partition = partition;
    this.offset = Number(message.offset);
    this.timestampMs = Number(message.timestamp);
    this.#content = contentOf(message) ?? new OldContent(message);
  }

  get key(): Buffer | null {
    return this.#content.key;
  }

  get value(): Buffer | null {
    return this.#content.value;
  }

  get headers(): RecordHeaders {
    return this.#content.headers;
  }

  get encoded(): Buffer | undefined {
    return this.#content.bytes;
  }

  /** What it holds in memory. */
  get bytes(): number {
    return this.#content.length + 64;
  }
}

/** Of a message set of Kafka before 0.11, which knows no headers. */
class OldContent {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers = NO_HEADERS;
  readonly bytes = undefined;

  constructor({ key, value }: KafkaMessage) {
    this.key = key;
    this.value = value;
  }

  get length(): number {
    return (this.key?.length ?? 0) + (this.value?.length ?? 0);
  }
}

/** The headers of a message that a consumer was handed. */
export function headersOf(message: KafkaMessage): RecordHeaders {
  return contentOf(message)?.headers ?? NO_HEADERS;
}

function contentOf({ headers }: KafkaMessage): EncodedContent | null {
  // The decoder of `decode-batch.ts` leaves it encoded, where kafkajs' types promise an object.
  return (headers as unknown as EncodedContent | null | undefined) ?? null;
}
