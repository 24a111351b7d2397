/** Converts the configuration into the values that the Kafka adapter and the topic plan need. */

import type { Config } from "../../config/config.ts";
import { isAttempted } from "../../domain/destination.ts";
import {
  delayMsOfTopic,
  delayName,
  delayOfTopic,
  type TopicNames,
  topicNames,
} from "../../domain/topics.ts";
import type { KafkaConnection } from "../../kafka/port.ts";
import { type PlannedTopic, recordMaxBytes, topicPlan } from "../../router/topics/topic-plan.ts";

const CLIENT_ID = "switchyard";

/** @param current returns the current configuration. New connections use its certificates and passwords. */
export function kafkaConnection(config: Config, current = (): Config => config): KafkaConnection {
  const { brokers, sessionTimeoutMs } = config.kafka;
  return {
    brokers,
    clientId: CLIENT_ID,
    get tls() {
      return current().kafka.tls;
    },
    get sasl() {
      return current().kafka.sasl;
    },
    sessionTimeoutMs,
    recordMaxBytes: recordMaxBytes(configuredTopics(config)),
  };
}

export function configuredTopics(config: Config): TopicNames {
  return topicNames(config.kafka.topicPrefix, config.kafka.topics);
}

export function configuredPlan(config: Config): readonly PlannedTopic[] {
  const { partitions, replicationFactor, maxMessageBytes } = config.kafka;
  const { retryDelaysMs, retryWindowMs } = config.delivery;
  const destinations = config.destinations.map(({ id }) => id);
  const attempted = config.destinations.filter(isAttempted);
  const webhooks = attempted.map(({ id }) => id);
  const strict = attempted.filter(({ order }) => order === "strict").map(({ id }) => id);
  const topics = configuredTopics(config);
  const partitionsOf = new Map(
    config.destinations.flatMap(({ id, partitions: own }) => (own === null ? [] : [[id, own]])),
  );
  const named = { topics, destinations, webhooks, strict, partitionsOf };
  const { enabled, retentionMs } = config.attempts;
  const attemptsRetentionMs = enabled ? retentionMs : null;
  const counts = { partitions, replicationFactor, maxMessageBytes };
  const hasOperatorEvents = config.operatorEvents.enabled;
  const hasLedger = config.audit.enabled;
  const asked = { attemptsRetentionMs, hasOperatorEvents, hasLedger };
  return topicPlan({ ...named, retryDelaysMs, retryWindowMs, ...counts, ...asked });
}

/**
 * The delays of all delay topics: first the configured delays, then other delays whose topics still exist, from the
 * shortest to the longest.
 */
export function knownDelays(config: Config, existing: Iterable<string>): readonly string[] {
  const topics = configuredTopics(config);
  const configured = config.delivery.retryDelaysMs.map(delayName);
  const retired = [...existing]
    .flatMap((topic) => delayOfTopic(topic, topics) ?? [])
    .sort((one, other) => (delayMsOfTopic(one) ?? 0) - (delayMsOfTopic(other) ?? 0));
  return [...new Set([...configured, ...retired])];
}
