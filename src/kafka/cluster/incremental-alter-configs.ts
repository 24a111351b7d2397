/**
 * IncrementalAlterConfigs version 0, which kafkajs lacks: it sets some keys and leaves the others.
 * (kafkajs' AlterConfigs sets every key that is not named back to its default.)
 */

import { type Broker, Decoder, Encoder, sendRequest } from "../kafkajs/internals.ts";
import { errorType } from "./kafka-error.ts";

const API_KEY = 44;
const TOPIC = 2;
const SET = 0;

/** A broker's error, with its words. */
export interface AlterRefusal {
  readonly code: number;
  readonly type: string;
  readonly reason: string;
}

/** Of a topic all keys are set, or none. @returns null when they are, or would be. */
export async function incrementalAlterConfigs(
  broker: Broker,
  topic: string,
  config: Readonly<Record<string, string>>,
  validateOnly = false,
): Promise<AlterRefusal | null> {
  const entries = Object.entries(config).map(([key, value]) =>
    new Encoder().writeString(key).writeInt8(SET).writeString(value),
  );
  const resource = new Encoder().writeInt8(TOPIC).writeString(topic).writeArray(entries);
  const payload = await sendRequest<Buffer>(broker, {
    request: {
      apiKey: API_KEY,
      apiVersion: 0,
      apiName: "IncrementalAlterConfigs",
      encode: async () => new Encoder().writeArray([resource]).writeBoolean(validateOnly),
    },
    response: { decode: async (buffer) => buffer },
  });
  const decoder = new Decoder(payload);
  decoder.readInt32();
  const refused = decoder.readArray(readResult).find(({ code }) => code !== 0);
  if (refused === undefined) return null;
  const type = errorType(refused.code);
  return { code: refused.code, type, reason: refused.text ?? type };
}

function readResult(decoder: Decoder): { readonly code: number; readonly text: string | null } {
  const result = { code: decoder.readInt16(), text: decoder.readString() };
  decoder.readInt8();
  decoder.readString();
  return result;
}
