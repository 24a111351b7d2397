/**
 * Records as kafkajs carries them, with and without the replaced encoder and decoder: headers are
 * pairs with them (order and repetition kept) and an object without.
 */

import type { IHeaders, KafkaMessage, Message } from "kafkajs";

import type { RecordHeader, RecordHeaders } from "../domain/record.ts";
import type { OutgoingMessage } from "./encode-records.ts";
import { kafkajsInUse } from "./kafkajs.ts";

/** For kafkajs' `send` and `sendBatch`. Nothing is copied as long as the encoder is replaced. */
export function toKafkajsMessage(message: OutgoingMessage): Message {
  if (kafkajsInUse.replacements.includes("encode-produce")) return message as unknown as Message;
  const headers: Record<string, Buffer[]> = {};
  for (const [name, value] of [...(message.sharedHeaders ?? []), ...message.headers]) {
    // kafkajs' own encoder cannot write a null header.
    headers[name] = [...(headers[name] ?? []), value ?? Buffer.alloc(0)];
  }
  const { key, value, partition, timestamp } = message;
  return {
    key,
    value,
    headers,
    ...(partition === undefined ? {} : { partition }),
    ...(timestamp === undefined ? {} : { timestamp: `${timestamp}` }),
  };
}

/** The headers of a message that a consumer was handed. */
export function headersOf(message: KafkaMessage): RecordHeaders {
  const headers: unknown = message.headers;
  if (Array.isArray(headers)) return headers as RecordHeader[];
  return Object.entries((headers ?? {}) as IHeaders).flatMap(([name, values]) =>
    (Array.isArray(values) ? values : [values]).map((value): RecordHeader => {
      if (value === undefined || value === null) return [name, null];
      return [name, typeof value === "string" ? Buffer.from(value) : value];
    }),
  );
}
