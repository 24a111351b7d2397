/**
 * The only module that loads kafkajs. All other modules import kafkajs' values from this one, and only types
 * from the package, so that kafkajs is never used without the replacements.
 */

import type * as Kafkajs from "kafkajs";

import { CODECS, type Codec } from "../wire/codecs.ts";
import { loadKafkajs } from "./load-kafkajs.ts";
import { REPLACEMENTS } from "./replacements.ts";

/** The version for which the replacements were written and tested. */
export const SUPPORTED_VERSION = "2.2.4";

const loaded = loadKafkajs(SUPPORTED_VERSION, REPLACEMENTS);
const kafkajs = loaded.exports as typeof Kafkajs;
// kafkajs decodes message sets of Kafka before 0.11 with these codecs. They are set through its public
// interface, so this is done with any version.
for (const [type, codec] of Object.entries(CODECS)) {
  const bounded = { decompress: (buffer: Buffer) => atOnce(codec, buffer) };
  (kafkajs.CompressionCodecs as Record<number, () => unknown>)[Number(type)] = () => bounded;
}

/** The limit for one message set, which kafkajs keeps in memory as a whole. */
const MESSAGE_SET_MAX_BYTES = 64 * 1024 * 1024;

async function atOnce(codec: Codec, buffer: Buffer): Promise<Buffer> {
  const inflated = await codec.decompress(buffer, MESSAGE_SET_MAX_BYTES);
  if (inflated === null)
    throw new Error(`a message set inflates to more than ${MESSAGE_SET_MAX_BYTES} bytes`);
  return inflated;
}

/** Logged at startup. `replacements` is empty unless the version is the supported one. */
export const kafkajsInUse: {
  readonly version: string;
  readonly replacements: readonly string[];
} = { version: loaded.version, replacements: loaded.active };

export type Kafka = Kafkajs.Kafka;
export const { AssignerProtocol, Kafka, PartitionAssigners, Partitioners, logLevel } = kafkajs;

/** Loads internal modules of the same copy of kafkajs; `internals.ts` adds their types. */
export const loadInternal = loaded.load;
