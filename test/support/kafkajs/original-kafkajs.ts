// kafkajs as it is published, with which the replacements are compared. Import this before any module that loads
// kafkajs with replacements.

import { loadKafkajs } from "../../../src/kafka/kafkajs/load-kafkajs.ts";

const original = loadKafkajs("no version", []);

interface Encoded {
  readonly buffer: Buffer;
}

export const originalProduceRequest = original.load(
  "src/protocol/requests/produce/v3/request.js",
) as (produce: object) => { encode(): Promise<Encoded> };

export const originalDecodeMessages = original.load(
  "src/protocol/requests/fetch/v4/decodeMessages.js",
) as (decoder: object) => Promise<readonly Record<string, unknown>[]>;

export const OriginalDecoder = original.load("src/protocol/decoder.js") as new (
  buffer: Buffer,
) => { readonly buffer: Buffer; offset: number };

export const OriginalEncoder = original.load("src/protocol/encoder.js") as new () => {
  readonly buffer: Buffer;
  writeVarInt(value: number): unknown;
  writeVarLong(value: number): unknown;
};

export const originalMurmur2 = original.load("src/producer/partitioners/default/murmur2.js") as (
  key: Buffer,
) => number;
