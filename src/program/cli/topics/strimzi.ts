/**
 * Prints the topic plan as Strimzi `KafkaTopic` resources, from which Strimzi's topic operator creates the topics.
 *
 *   the planned topic has                        the resource has
 *   a name that is valid in Kubernetes           the same name
 *   any other name, such as with `_` or          a similar name, and the topic's name in `topicName`
 *     capital letters
 *   the brokers' default number of replicas      no `replicas`
 */

import { createHash } from "node:crypto";
import { Document } from "yaml";

import type { PlannedTopic } from "../../../router/topics/topic-plan.ts";
import { RESOURCE_NAME } from "../resource-name.ts";

/** A name in Kubernetes has at most 253 characters. This limit leaves room for a dash and the hash. */
const LIKENESS_CHARACTERS_MAX = 242;
const HASH_DIGITS = 10;

/**
 * Returns one YAML document per topic.
 *
 * @param cluster name of the `Kafka` resource, for the label `strimzi.io/cluster`
 */
export function kafkaTopics(plan: readonly PlannedTopic[], cluster: string): string {
  return plan.map((topic) => document(topic, cluster)).join("---\n");
}

function document(topic: PlannedTopic, cluster: string): string {
  const name = resourceName(topic.name);
  const { partitions, replicationFactor: replicas, config } = topic;
  const spec = {
    ...(name === topic.name ? {} : { topicName: topic.name }),
    partitions,
    ...(replicas === null ? {} : { replicas }),
    config,
  };
  const labels = { "strimzi.io/cluster": cluster };
  const metadata = { name, labels };
  const resource = new Document({
    apiVersion: "kafka.strimzi.io/v1",
    kind: "KafkaTopic",
    metadata,
    spec,
  });
  return resource.toString({ lineWidth: 0 });
}

/** Returns a unique name: if the topic's name had to be changed, the result ends with a hash of the topic's name. */
export function resourceName(topic: string): string {
  if (RESOURCE_NAME.test(topic)) return topic;
  const hash = createHash("sha256").update(topic).digest("hex").slice(0, HASH_DIGITS);
  const like = topic.toLowerCase().replaceAll(/[^a-z\d-]+/g, "-");
  const start = like.replace(/^-+/, "").slice(0, LIKENESS_CHARACTERS_MAX).replace(/-+$/, "");
  return start === "" ? hash : `${start}-${hash}`;
}
