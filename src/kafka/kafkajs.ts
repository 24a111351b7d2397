/**
 * The one module that loads kafkajs. Everything else in this folder takes its values from here
 * and only types from the package, so that nothing gets kafkajs without the replacements.
 */

import type * as Kafkajs from "kafkajs";

import { registerCodecs } from "./codecs.ts";
import { commitMetadataHook, joinHook } from "./consumer-group.ts";
import { fetchDecoder, fetchErrors } from "./decode-fetch.ts";
import { produceEncoder } from "./encode-produce.ts";
import { abortedFilter } from "./filter-aborted.ts";
import { requestFrame } from "./frame-request.ts";
import { loadKafkajs, type Replacement } from "./load-kafkajs.ts";
import { requestQueue } from "./request-queue.ts";

/** The version that the replacements were written against and tested with. */
export const SUPPORTED_VERSION = "2.2.4";

/** In an order in which none loads a module that a later one replaces. */
export const REPLACEMENTS: readonly Replacement[] = [
  requestFrame,
  produceEncoder,
  fetchDecoder,
  ...fetchErrors,
  abortedFilter,
  requestQueue,
  commitMetadataHook,
  joinHook,
];

const loaded = loadKafkajs(SUPPORTED_VERSION, REPLACEMENTS);
const kafkajs = loaded.exports as typeof Kafkajs;
// A part of kafkajs' public interface, so done with any version.
registerCodecs(kafkajs.CompressionCodecs);

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
