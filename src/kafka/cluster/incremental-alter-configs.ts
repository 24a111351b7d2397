/**
 * IncrementalAlterConfigs version 0, which kafkajs lacks: it sets some keys and leaves the others.
 * (kafkajs' AlterConfigs sets every key that is not named back to its default.)
 */

import { type Broker, Decoder, Encoder, sendRequest } from "../kafkajs/internals.ts";
import { errorType, protocolError } from "./kafka-error.ts";

const API_KEY = 44;
const TOPIC = 2;
const SET = 0;

/** Throws an error that names topic and problem when the broker refuses. */
export async function incrementalAlterConfigs(
  broker: Broker,
  topic: string,
  config: Readonly<Record<string, string>>,
): Promise<void> {
  const entries = Object.entries(config).map(([key, value]) =>
    new Encoder().writeString(key).writeInt8(SET).writeString(value),
  );
  const resource = new Encoder().writeInt8(TOPIC).writeString(topic).writeArray(entries);
  const payload = await sendRequest<Buffer>(broker, {
    request: {
      apiKey: API_KEY,
      apiVersion: 0,
      apiName: "IncrementalAlterConfigs",
      encode: async () => new Encoder().writeArray([resource]).writeBoolean(false),
    },
    response: { decode: async (buffer) => buffer },
  });
  const decoder = new Decoder(payload);
  decoder.readInt32();
  for (const { code, text } of decoder.readArray(readResult)) {
    if (code === 0) continue;
    const message = `${errorType(code)}: the configuration of ${topic} was refused: ${text ?? ""}`;
    throw Object.assign(protocolError(code, topic), { message });
  }
}

function readResult(decoder: Decoder): { readonly code: number; readonly text: string | null } {
  const result = { code: decoder.readInt16(), text: decoder.readString() };
  decoder.readInt8();
  decoder.readString();
  return result;
}
