/** Finds the consumer group that reads a topic, from the table of stages. */

import type { Config } from "../../config/config.ts";
import type { DestinationId } from "../../domain/ids.ts";
import { readerOf } from "../../domain/stages.ts";
import { delayMsOfTopic, destinationOfTopic, groupNames } from "../../domain/topics.ts";
import { configuredPlan, configuredTopics } from "../../operate/connect/connection.ts";

/**
 * Returns null if no stage reads the topic. Topics of removed destinations and of removed retry delays are still read.
 */
export function groupOf(topic: string, config: Config): string | null {
  const topics = configuredTopics(config);
  const groups = groupNames(config.kafka.topicPrefix);
  const planned = configuredPlan(config).find(({ name }) => name === topic);
  if (planned !== undefined) {
    const input = readerOf(planned.kind)?.input;
    if (input?.per === "stage") return groups[input.group];
  }
  const destination: DestinationId | null = destinationOfTopic(topic, topics);
  if (destination !== null) return groups.deliver(destination);
  const start = `${topics.prefix}delays.`;
  const delay = topic.startsWith(start) ? topic.slice(start.length) : "";
  return delayMsOfTopic(delay) === null ? null : groups.delay(delay);
}

export function inputTopics(config: Config): readonly string[] {
  return configuredPlan(config)
    .filter(({ isConsumed }) => isConsumed)
    .map(({ name }) => name);
}
