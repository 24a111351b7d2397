/** Decodes message sets of Kafka before 0.11, with kafkajs. */

import type { DecodeMessageSet } from "../wire/decode-records.ts";
import { Decoder } from "./internals.ts";
import { loadInternal } from "./kafkajs.ts";

const decode = loadInternal("src/protocol/messageSet/decoder.js") as (
  decoder: Decoder,
  bytes: number,
) => Promise<readonly unknown[]>;

export const messageSet: DecodeMessageSet = (records) =>
  decode(new Decoder(records), records.length);
