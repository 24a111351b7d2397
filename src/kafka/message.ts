/** Records as kafkajs hands them over, with the replaced decoder. */

import type { KafkaMessage } from "kafkajs";

import type { RecordHeaders } from "../domain/record.ts";

const NO_HEADERS: RecordHeaders = [];

/** The headers of a message that a consumer was handed. Message sets of Kafka before 0.11 have none. */
export function headersOf(message: KafkaMessage): RecordHeaders {
  // The decoder of `decode-batch.ts` gives pairs, where kafkajs' types promise an object.
  return (message.headers as unknown as RecordHeaders | undefined) ?? NO_HEADERS;
}
