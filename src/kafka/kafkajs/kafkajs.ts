/**
 * The one module that loads kafkajs. All others take its values from here and only types from the
 * package, so that nothing gets kafkajs without the replacements.
 */

import type * as Kafkajs from "kafkajs";

import { CODECS, type Codec } from "../wire/codecs.ts";
import { abortedFilter } from "./aborted-filter.ts";
import { authenticateToBroker } from "./authentication.ts";
import { connectionPools } from "./connection-pools.ts";
import { coordinatorResponse } from "./coordinator-answer.ts";
import { fetchContext, fetchDecoder } from "./fetch-decoder.ts";
import { commitMetadataHook, joinHook } from "./group-hooks.ts";
import { loadKafkajs, type Replacement } from "./load-kafkajs.ts";
import { produceEncoder } from "./produce-encoder.ts";
import { requestFrame } from "./request-frame.ts";
import { requestQueue } from "./request-queue.ts";
import { brokerVersions, requestVersions } from "./request-versions.ts";
import { seedAddresses } from "./seed-addresses.ts";
import { sessions } from "./sessions.ts";
import { stoppedFetch } from "./stopped-fetch.ts";

/** The version that the replacements were written against and tested with. */
export const SUPPORTED_VERSION = "2.2.4";

/** In an order in which none loads a module that a later one replaces. */
export const REPLACEMENTS: readonly Replacement[] = [
  requestFrame,
  produceEncoder,
  fetchDecoder,
  fetchContext,
  abortedFilter,
  requestVersions,
  brokerVersions,
  requestQueue,
  authenticateToBroker,
  sessions,
  connectionPools,
  seedAddresses,
  coordinatorResponse,
  commitMetadataHook,
  joinHook,
  stoppedFetch,
];

const loaded = loadKafkajs(SUPPORTED_VERSION, REPLACEMENTS);
const kafkajs = loaded.exports as typeof Kafkajs;
// For message sets of Kafka before 0.11, which kafkajs decodes. A part of its public interface, so
// done with any version.
for (const [type, codec] of Object.entries(CODECS)) {
  const bounded = { decompress: (buffer: Buffer) => atOnce(codec, buffer) };
  (kafkajs.CompressionCodecs as Record<number, () => unknown>)[Number(type)] = () => bounded;
}

/** Of one message set: kafkajs holds it whole. */
const MESSAGE_SET_MAX_BYTES = 64 * 1024 * 1024;

async function atOnce(codec: Codec, buffer: Buffer): Promise<Buffer> {
  const inflated = await codec.decompress(buffer, MESSAGE_SET_MAX_BYTES);
  if (inflated === null)
    throw new Error(`a message set inflates to more than ${MESSAGE_SET_MAX_BYTES}`);
  return inflated;
}

/** For a log line at start: with another version than the supported one, `replacements` is empty. */
export const kafkajsInUse: {
  readonly version: string;
  readonly replacements: readonly string[];
} = { version: loaded.version, replacements: loaded.active };

export type Kafka = Kafkajs.Kafka;
export const { AssignerProtocol, Kafka, PartitionAssigners, Partitioners, logLevel } = kafkajs;
export const {
  KafkaJSError,
  KafkaJSNonRetriableError,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSProtocolError,
} = kafkajs;

/** Internals of the same copy of kafkajs; `internals.ts` gives them types. */
export const loadInternal = loaded.load;
