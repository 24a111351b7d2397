/**
 * The records of a Fetch response, from version 4 (Kafka 0.11) on.
 *
 * Stands in for kafkajs' `decodeMessages`, which adds a batch's records to the others as arguments
 * of one call and so runs out of stack at about 100,000. A batch at the end that the broker has
 * cut off is left for the next fetch; the first one is always whole (KIP-74). So is what comes after
 * compressed batches that hold very much, over all partitions of the response: what a fetch may return
 * is counted compressed, and a kilobyte can hold megabytes. kafkajs asks for the partitions in another
 * order each time, so that each comes to be the first. Topic and partition
 * are read before the records and not handed on, so an error about a batch gets them here: the
 * response is walked once more, up to the partition that the error came from.
 */

import { DamagedBatchError } from "./damaged-batch.ts";
import {
  BATCH_LENGTH_END,
  batchBytes,
  decodeBatch,
  type LookupCodec,
  magicAt,
} from "./decode-batch.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";
import type { FetchedRecord } from "./message.ts";

/** The part of kafkajs' Decoder that is needed here. */
interface Decoder {
  readonly buffer: Buffer;
  offset: number;
}

/** Of the difference between a batch's first offset and its last. */
const LAST_DELTA_AT = 23;

/** What the batches of one response were inflated to; the last of them may go above it. */
export const INFLATED_FETCH_BYTES_MAX = 16 * 1024 * 1024;

/** Of one response. */
interface Inflated {
  bytes: number;
}

const inflatedOf = new WeakMap<Buffer, Inflated>();

type DecodeMessages = (decoder: Decoder) => Promise<readonly unknown[]>;
type DecodeMessageSet = (records: Buffer) => Promise<readonly unknown[]>;

/** Where in the response the records of a failed partition begin. */
const positionOf = new WeakMap<DamagedBatchError, number>();

/** Where the batches end that a list of records was read from. */
const endOf = new WeakMap<readonly unknown[], number>();

/**
 * The first offset behind the batches of these decoded records: compaction leaves batches that
 * end with an offset that has no record, or that have none at all. Null for message sets and where
 * there was no batch.
 */
export function endOfBatches(messages: readonly unknown[]): number | null {
  return endOf.get(messages) ?? null;
}

/**
 * @param records all that the response has of one partition
 * @param inflated what those of its other partitions were, before and after
 */
export async function decodeRecords(
  records: Buffer,
  lookupCodec: LookupCodec,
  decodeMessageSet: DecodeMessageSet,
  inflated: Inflated = { bytes: 0 },
): Promise<readonly unknown[]> {
  if (records.length === 0) return [];
  const messages: FetchedRecord[] = [];
  let start = 0;
  for (;;) {
    if (inflated.bytes > INFLATED_FETCH_BYTES_MAX) return messages;
    const bytes = batchBytes(records, start);
    if (bytes !== null && bytes < BATCH_LENGTH_END) {
      throw new DamagedBatchError(
        `its length is ${bytes - BATCH_LENGTH_END}`,
        offsetAt(records, start),
      );
    }
    const isCut = bytes === null || start + bytes > records.length;
    if (isCut && start > 0) return messages;
    if (magicAt(records, start) !== 2) {
      // Older messages come before newer ones; what follows them is left for the next fetch.
      return messages.length > 0 ? messages : decodeMessageSet(records);
    }
    if (isCut) {
      const damage = `it announces ${bytes} bytes and has ${records.length}`;
      throw new DamagedBatchError(damage, offsetAt(records, start));
    }
    const batch = records.subarray(start, start + bytes);
    inflated.bytes += await decodeBatch(batch, lookupCodec, messages);
    endOf.set(messages, offsetAt(records, start) + records.readInt32BE(start + LAST_DELTA_AT) + 1);
    start += bytes;
    if (start === records.length) return messages;
  }
}

function offsetAt(records: Buffer, start: number): number {
  return records.length - start < 8 ? -1 : Number(records.readBigInt64BE(start));
}

export const fetchDecoder: Replacement = {
  name: "decode-fetch",
  module: "src/protocol/requests/fetch/v4/decodeMessages.js",
  replace: (load): DecodeMessages => {
    const { lookupCodec } = load("src/protocol/message/compression/index.js") as {
      lookupCodec: LookupCodec;
    };
    const Decoder = load("src/protocol/decoder.js") as new (buffer: Buffer) => Decoder;
    const MessageSet = load("src/protocol/messageSet/decoder.js") as (
      decoder: Decoder,
      bytes: number,
    ) => Promise<readonly unknown[]>;
    const messageSet: DecodeMessageSet = (records) =>
      MessageSet(new Decoder(records), records.length);
    return async (decoder) => {
      const position = decoder.offset;
      const bytes = Math.max(0, decoder.buffer.readInt32BE(position));
      decoder.offset += 4 + bytes;
      const records = decoder.buffer.subarray(position + 4, position + 4 + bytes);
      const inflated = inflatedOf.get(decoder.buffer) ?? { bytes: 0 };
      try {
        const messages = await decodeRecords(records, lookupCodec, messageSet, inflated);
        if (inflated.bytes > 0) inflatedOf.set(decoder.buffer, inflated);
        return messages;
      } catch (error) {
        if (error instanceof DamagedBatchError) positionOf.set(error, position);
        throw error;
      }
    };
  },
};

interface FetchResponse {
  decode(payload: Buffer): Promise<unknown>;
}

/** One replacement for each version that has a decoder of its own; the others borrow one of these. */
export const fetchErrors: readonly Replacement[] = [4, 5, 7, 8, 11].map((version) => ({
  name: "locate-damage",
  module: `src/protocol/requests/fetch/v${version}/response.js`,
  replace: (load: LoadInternal) => {
    const response = load(`src/protocol/requests/fetch/v${version}/response.js`) as FetchResponse;
    const { decode } = response;
    return {
      ...response,
      decode: (payload: Buffer) =>
        decode(payload).catch((error: unknown) => {
          throw error instanceof DamagedBatchError ? located(error, payload, version) : error;
        }),
    };
  },
}));

function located(error: DamagedBatchError, payload: Buffer, version: number): DamagedBatchError {
  const position = positionOf.get(error);
  const at = position === undefined ? null : partitionAt(payload, version, position);
  return new DamagedBatchError(error.damage, error.offset, at);
}

/** The topic and partition whose records begin at `position`. */
export function partitionAt(
  payload: Buffer,
  version: number,
  position: number,
): { readonly topic: string; readonly partition: number } | null {
  let at = version < 7 ? 4 : 10; // throttle time; then error code and session id
  const topics = payload.readInt32BE(at);
  at += 4;
  for (let index = 0; index < topics; index += 1) {
    const nameBytes = payload.readInt16BE(at);
    const topic = payload.toString("utf8", at + 2, at + 2 + nameBytes);
    const partitions = payload.readInt32BE(at + 2 + nameBytes);
    at += 2 + nameBytes + 4;
    for (let entry = 0; entry < partitions; entry += 1) {
      const partition = payload.readInt32BE(at);
      at += 4 + 2 + 8 + 8 + (version < 5 ? 0 : 8); // error, watermarks, log start
      at += 4 + Math.max(0, payload.readInt32BE(at)) * 16; // aborted transactions
      at += version < 11 ? 0 : 4; // preferred replica
      if (at === position) return { topic, partition };
      at += 4 + Math.max(0, payload.readInt32BE(at));
    }
  }
  return null;
}
