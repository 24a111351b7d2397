/** Sets as much of a topic's settings as the cluster allows. */

import type { Broker } from "../kafkajs/internals.ts";
import type { OnRejected } from "../port.ts";
import { allowedConfig, isRefusal, type TopicConfig } from "./allowed-config.ts";
import { type AlterRefusal, incrementalAlterConfigs } from "./incremental-alter-configs.ts";
import { protocolError } from "./kafka-error.ts";

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
  const reason = reasonOf(topic, await incrementalAlterConfigs(broker, topic, config));
  if (reason === null) return;
  const ask = async (some: TopicConfig): Promise<string | null> => {
    // A setting that is left out stays as it is.
    if (Object.keys(some).length === 0) return null;
    return reasonOf(topic, await incrementalAlterConfigs(broker, topic, some, true));
  };
  const otherwiseBytes = Number(is["max.message.bytes"] ?? Number.NaN);
  const found = await allowedConfig(config, reason, ask, otherwiseBytes || undefined);
  if (found === null) return;
  if (Object.keys(found.config).length > 0) {
    reasonOf(topic, await incrementalAlterConfigs(broker, topic, found.config));
  }
  for (const each of found.rejected) onRejected({ topic, ...each });
}

function reasonOf(topic: string, refusal: AlterRefusal | null): string | null {
  if (refusal === null || isRefusal(refusal.type)) return refusal?.reason ?? null;
  const { code, type, reason } = refusal;
  const message = `${type}: the configuration of ${topic} was refused: ${reason}`;
  throw Object.assign(protocolError(code, topic), { message });
}
