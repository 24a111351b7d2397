/**
 * Decodes Fetch responses with `wire/decode-records.ts`, from version 4 (Kafka 0.11) on.
 *
 * kafkajs' `decodeMessages` passes all records of a batch as arguments of one call, which overflows the stack at about
 * 100,000 records. `decodeMessages` gets neither the request nor the topic and partition. So `fetchContext` stores the
 * requested offsets when the request is made, and for each partition the `FetchPolicy` that our fetches add.
 */

import { CorruptBatchError } from "../../domain/corrupt-batch.ts";
import { corruptOffsets, noRecordsOf } from "../wire/corrupt-batch.ts";
import { type DecodeMessageSet, decodeRecords, type Inflated } from "../wire/decode-records.ts";
import { type RecordSet, recordSets } from "../wire/fetch-response.ts";
import type { LoadInternal, Replacement } from "./load-kafkajs.ts";

/** The limit for fetches without a policy, which exist only in tests. */
const RECORD_MAX_BYTES = 64 * 1024 * 1024;
/**
 * Kafka's error code for a broker that cannot read its own log at the offset, because the length of a batch is corrupt.
 */
const CORRUPT_MESSAGE = 2;

/** Limits of a consumer for one partition. They are passed in the partition's entry of the request. */
export interface FetchPolicy {
  readonly recordMaxBytes: number;
  /**
   * `true`: a corrupt batch whose end is known is returned without records. By default, a corrupt batch is an
   * error.
   */
  readonly skipsCorrupt?: boolean;
}

interface Requested extends Partial<FetchPolicy> {
  /** The requested offset. */
  readonly from: number;
  /** See `Wanted`. */
  readonly comesInPieces?: (() => void) | undefined;
}

interface DecodeWith {
  readonly inflated: Inflated;
  readonly messageSet: DecodeMessageSet;
}

interface RequestedPartition {
  readonly partition: number;
  readonly fetchOffset: string | number;
  readonly policy?: FetchPolicy;
}

interface FetchArguments {
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly RequestedPartition[];
  }[];
}

/** What is known about a response that is being decoded. */
interface Context {
  readonly requested: ReadonlyMap<string, RequestedPartition>;
  readonly sets: ReadonlyMap<number, RecordSet>;
  readonly inflated: Inflated;
}

const contextOf = new WeakMap<Buffer, Context>();

/** The part of kafkajs' Decoder that is needed here. */
interface Decoder {
  readonly buffer: Buffer;
  offset: number;
}

type DecodeMessages = (decoder: Decoder) => Promise<readonly unknown[]>;

export const fetchDecoder: Replacement = {
  name: "decode-fetch",
  module: "src/protocol/requests/fetch/v4/decodeMessages.js",
  replace: (load): DecodeMessages => {
    const messageSet = messageSetDecoder(load);
    return async (decoder) => {
      const position = decoder.offset;
      const bytes = Math.max(0, decoder.buffer.readInt32BE(position));
      decoder.offset += 4 + bytes;
      const records = decoder.buffer.subarray(position + 4, position + 4 + bytes);
      return decodeSet(records, position, contextOf.get(decoder.buffer), messageSet);
    };
  },
};

/** For message sets of Kafka before 0.11. */
export function messageSetDecoder(load: LoadInternal): DecodeMessageSet {
  const Decoder = load("src/protocol/decoder.js") as new (buffer: Buffer) => Decoder;
  const MessageSet = load("src/protocol/messageSet/decoder.js") as (
    decoder: Decoder,
    bytes: number,
  ) => Promise<readonly unknown[]>;
  return (records) => MessageSet(new Decoder(records), records.length);
}

async function decodeSet(
  records: Buffer,
  position: number,
  context: Context | undefined,
  messageSet: DecodeMessageSet,
): Promise<readonly unknown[]> {
  const set = context?.sets.get(position);
  if (context === undefined || set === undefined) {
    throw new Error("a Fetch response is decoded without its request");
  }
  const requested = context.requested.get(`${set.topic}/${set.partition}`);
  const from = Number(requested?.fetchOffset ?? 0);
  return await decodePartition(
    records,
    set,
    { from, ...requested?.policy },
    {
      inflated: context.inflated,
      messageSet,
    },
  );
}

/** @throws CorruptBatchError */
export async function decodePartition(
  records: Buffer,
  { topic, partition, end, errorCode }: RecordSet,
  { from, recordMaxBytes = RECORD_MAX_BYTES, skipsCorrupt = false, comesInPieces }: Requested,
  { inflated, messageSet }: DecodeWith,
): Promise<readonly unknown[]> {
  if (errorCode === CORRUPT_MESSAGE) {
    const corruption =
      "the broker itself cannot read the batch, so the end of the batch is " + "unknown";
    const offsets = { offset: from, behind: from + 1, isEndKnown: false };
    throw new CorruptBatchError(corruption, from, { topic, partition, ...offsets, corruption });
  }
  const wanted = { topic, partition, from, end, recordMaxBytes, comesInPieces };
  try {
    return await decodeRecords(records, wanted, messageSet, inflated);
  } catch (error) {
    if (!(error instanceof CorruptBatchError)) throw error;
    const { corruption } = error;
    const batch = { topic, partition, ...corruptOffsets(records, from, end), corruption };
    if (batch.isEndKnown && skipsCorrupt) return noRecordsOf(batch);
    throw new CorruptBatchError(corruption, batch.offset, batch);
  }
}

interface FetchResponse {
  decode(payload: Buffer): Promise<unknown>;
}

interface Protocol {
  readonly response: FetchResponse;
}

interface FetchModule {
  readonly versions: readonly string[];
  readonly protocol: (choice: {
    readonly version: number;
  }) => (options: FetchArguments) => Protocol;
}

/** Stores a request's offsets and policies, so that the decoder of the response can use them. */
export const fetchContext: Replacement = {
  name: "fetch-context",
  module: "src/protocol/requests/fetch/index.js",
  replace: (load: LoadInternal): FetchModule => {
    const original = load("src/protocol/requests/fetch/index.js") as FetchModule;
    return {
      versions: original.versions,
      protocol: ({ version }) => {
        const create = original.protocol({ version });
        return (options) => {
          const protocol = create(options);
          if (version < 4) return protocol;
          const { response } = protocol;
          const decode = (payload: Buffer) => {
            contextOf.set(payload, contextFor(payload, version, options));
            return response.decode(payload);
          };
          return { ...protocol, response: { ...response, decode } };
        };
      },
    };
  },
};

function contextFor(payload: Buffer, version: number, { topics }: FetchArguments): Context {
  const requested = new Map<string, RequestedPartition>();
  for (const { topic, partitions } of topics) {
    for (const each of partitions) requested.set(`${topic}/${each.partition}`, each);
  }
  return { requested, sets: recordSets(payload, version), inflated: { bytes: 0 } };
}
