/**
 * Encodes a Produce request into one buffer that is allocated once: everything is measured first.
 *
 * Stands in for kafkajs' version 3 of the request, to which its versions 4 to 7 delegate; kafkajs
 * grows a buffer for every record and computes CRC-32C in JavaScript. A broker that knows only
 * versions below 3 (Kafka before 0.11) still gets kafkajs' own encoding.
 */

import { crc32c } from "@node-rs/crc32";
import type { CompressionTypes } from "kafkajs";

import {
  type EncodableMessage,
  type MeasuredRecords,
  measureRecords,
  type SharedHeaders,
  writeRecords,
} from "./encode-records.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";

/** Of a record batch before its records. */
const BATCH_HEADER_BYTES = 61;
/** The part of it before its length has been counted: base offset and the length itself. */
const BATCH_LENGTH_END = 12;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const MAGIC = 2;
const TRANSACTIONAL = 0x10;

interface ProduceArguments {
  readonly acks: number;
  readonly timeout: number;
  readonly transactionalId?: string | null;
  /** A whole number in any form that kafkajs passes on: number, text or its Long. */
  readonly producerId?: { toString(): string };
  readonly producerEpoch?: number;
  readonly compression?: CompressionTypes;
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly PartitionData[];
  }[];
}

interface PartitionData {
  readonly partition: number;
  readonly messages: readonly EncodableMessage[];
  /** The batch's own, by default those of the request. */
  readonly producerId?: { toString(): string };
  readonly producerEpoch?: number;
  readonly firstSequence?: number;
}

/** A partition's records, compressed or measured. */
interface Batch {
  readonly data: PartitionData;
  readonly measured: MeasuredRecords;
  readonly compressed: Buffer | null;
}

/** The parts of kafkajs' Encoder that its users need; a request must return one. */
interface Encoder {
  buf: Buffer;
  offset: number;
}

export interface Codec {
  compress(encoder: { readonly buffer: Buffer }): Promise<Buffer>;
  decompress(buffer: Buffer): Promise<Buffer>;
}

/**
 * The encoded request without its frame.
 *
 * @param roomBytes left in front of it, for the frame.
 */
export async function encodeProduce(
  produce: ProduceArguments,
  nowMs: number,
  lookupCodec: (type: number) => Codec | null,
  roomBytes = 0,
): Promise<Buffer> {
  const codec = lookupCodec(produce.compression ?? 0);
  const shared: SharedHeaders = new Map();
  const topics: { readonly name: Buffer; readonly batches: readonly Batch[] }[] = [];
  const transactionalId = produce.transactionalId ?? null;
  const transactionalBytes = transactionalId === null ? null : Buffer.from(transactionalId);
  let bytes = roomBytes + stringBytes(transactionalBytes) + 2 + 4 + 4;
  for (const { topic, partitions } of produce.topicData) {
    const batches: Batch[] = [];
    const name = Buffer.from(topic);
    bytes += stringBytes(name) + 4;
    for (const data of partitions) {
      const measured = measureRecords(data.messages, nowMs, shared);
      const compressed = codec === null ? null : await compress(codec, measured, shared);
      bytes += 4 + 4 + BATCH_HEADER_BYTES + (compressed?.length ?? measured.totalBytes);
      batches.push({ data, measured, compressed });
    }
    topics.push({ name, batches });
  }

  const target = Buffer.allocUnsafe(bytes);
  let at = writeString(target, roomBytes, transactionalBytes);
  at = target.writeInt16BE(produce.acks, at);
  at = target.writeInt32BE(produce.timeout, at);
  at = target.writeInt32BE(topics.length, at);
  for (const { name, batches } of topics) {
    at = writeString(target, at, name);
    at = target.writeInt32BE(batches.length, at);
    for (const batch of batches) {
      at = target.writeInt32BE(batch.data.partition, at);
      at = writeBatch(target, at, batch, produce, shared);
    }
  }
  return target;
}

/** Writes the batch with its length in front and returns the position after it. */
function writeBatch(
  target: Buffer,
  sizeAt: number,
  { data, measured, compressed }: Batch,
  produce: ProduceArguments,
  shared: SharedHeaders,
): number {
  const start = sizeAt + 4;
  const count = data.messages.length;
  const attributes = (produce.compression ?? 0) | (produce.transactionalId ? TRANSACTIONAL : 0);
  // Base offset and leader epoch are the broker's to fill in.
  target.writeBigInt64BE(0n, start);
  target.writeInt32BE(0, start + BATCH_LENGTH_END);
  target.writeInt8(MAGIC, start + 16);
  target.writeInt16BE(attributes, start + ATTRIBUTES_AT);
  target.writeInt32BE(count - 1, start + 23);
  target.writeBigInt64BE(BigInt(measured.firstTimestampMs), start + 27);
  target.writeBigInt64BE(BigInt(measured.maxTimestampMs), start + 35);
  target.writeBigInt64BE(BigInt(`${data.producerId ?? produce.producerId ?? -1}`), start + 43);
  target.writeInt16BE(data.producerEpoch ?? produce.producerEpoch ?? 0, start + 51);
  target.writeInt32BE(data.firstSequence ?? 0, start + 53);
  target.writeInt32BE(count, start + 57);
  let end = start + BATCH_HEADER_BYTES;
  if (compressed === null) {
    end = writeRecords(target, end, measured, shared);
  } else {
    target.set(compressed, end);
    end += compressed.length;
  }
  target.writeInt32BE(end - start, sizeAt);
  target.writeInt32BE(end - start - BATCH_LENGTH_END, start + 8);
  target.writeUInt32BE(crc32c(target.subarray(start + ATTRIBUTES_AT, end)), start + CRC_AT);
  return end;
}

function compress(codec: Codec, measured: MeasuredRecords, shared: SharedHeaders): Promise<Buffer> {
  const records = Buffer.allocUnsafe(measured.totalBytes);
  writeRecords(records, 0, measured, shared);
  return codec.compress({ buffer: records });
}

function stringBytes(text: Buffer | null): number {
  return 2 + (text?.length ?? 0);
}

function writeString(target: Buffer, at: number, text: Buffer | null): number {
  const start = target.writeInt16BE(text?.length ?? -1, at);
  if (text !== null) target.set(text, start);
  return start + (text?.length ?? 0);
}

export const produceEncoder: Replacement = {
  name: "encode-produce",
  module: "src/protocol/requests/produce/v3/request.js",
  replace: produceRequest,
};

function produceRequest(load: LoadInternal): unknown {
  const Encoder = load("src/protocol/encoder.js") as new (bytes: number) => Encoder;
  const { lookupCodec } = load("src/protocol/message/compression/index.js") as {
    lookupCodec(type: number): Codec | null;
  };
  const { Produce: apiKey } = load("src/protocol/requests/apiKeys.js") as { Produce: number };
  return (produce: ProduceArguments) => ({
    apiKey,
    apiVersion: 3,
    apiName: "Produce",
    expectResponse: () => produce.acks !== 0,
    encode: async (roomBytes = 0) => {
      const buf = await encodeProduce(produce, Date.now(), lookupCodec, roomBytes);
      return Object.assign(new Encoder(1), { buf, offset: buf.length, roomBytes });
    },
  });
}
