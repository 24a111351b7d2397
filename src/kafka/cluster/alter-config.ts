/**
 * Sets as much of a topic's settings as the cluster allows, by IncrementalAlterConfigs, which kafkajs
 * lacks: it sets some keys and leaves the others. (kafkajs' AlterConfigs sets every key that is not
 * named back to its default.)
 */

import { type Broker, Decoder, Encoder } from "../kafkajs/internals.ts";
import { rawRequest } from "../kafkajs/raw-request.ts";
import type { OnRejected } from "../port.ts";
import { ALTER_CONFIGS } from "../wire/request-kinds.ts";
import { allowedConfig, isRejection, type TopicConfig } from "./allowed-config.ts";
import { errorType, protocolError } from "./kafka-error.ts";

const TOPIC = 2;
const SET = 0;

/**
 * @param is what they are now, if that is known.
 * @throws Error naming the topic and the broker's reason when it is not the settings.
 */
export async function alterAllowed(
  broker: Broker,
  topic: string,
  config: TopicConfig,
  onRejected: OnRejected,
  is: TopicConfig,
): Promise<void> {
  const reason = await alter(broker, topic, config);
  if (reason === null) return;
  const tryConfig = async (some: TopicConfig): Promise<string | null> => {
    // A setting that is left out stays as it is.
    if (Object.keys(some).length === 0) return null;
    return alter(broker, topic, some, true);
  };
  const otherwiseBytes = Number(is["max.message.bytes"] ?? Number.NaN);
  const found = await allowedConfig(config, reason, tryConfig, otherwiseBytes || undefined);
  if (found === null) return;
  if (Object.keys(found.config).length > 0) await alter(broker, topic, found.config);
  for (const each of found.rejected) onRejected({ topic, ...each });
}

/**
 * Sets all of them or none.
 *
 * @returns the broker's reason against the settings; null when they are set, or would be.
 * @throws Error when it is not the settings.
 */
async function alter(
  broker: Broker,
  topic: string,
  config: TopicConfig,
  validateOnly = false,
): Promise<string | null> {
  const entries = Object.entries(config).map(([key, value]) =>
    new Encoder().writeString(key).writeInt8(SET).writeString(value),
  );
  const resource = new Encoder().writeInt8(TOPIC).writeString(topic).writeArray(entries);
  const payload = await rawRequest(broker, ALTER_CONFIGS, {
    encode: () => new Encoder().writeArray([resource]).writeBoolean(validateOnly).buffer,
    read: (response) => response,
  });
  const decoder = new Decoder(payload);
  decoder.readInt32();
  const failed = decoder.readArray(readResult).find(({ code }) => code !== 0);
  if (failed === undefined) return null;
  const type = errorType(failed.code);
  const reason = failed.text ?? type;
  if (isRejection(type)) return reason;
  const message = `${type}: the configuration of ${topic} was refused: ${reason}`;
  throw Object.assign(protocolError(failed.code, topic), { message });
}

function readResult(decoder: Decoder): { readonly code: number; readonly text: string | null } {
  const result = { code: decoder.readInt16(), text: decoder.readString() };
  decoder.readInt8();
  decoder.readString();
  return result;
}
