/**
 * The topic plan as `KafkaTopic` resources of Strimzi, whose topic operator makes the topics.
 *
 *   planned                                     the resource
 *   a name that Kubernetes takes for one, too   has that name
 *   any other, such as with `_` or capitals     a name like it, and the topic's in `topicName`
 *   replicas by the brokers' default            says nothing of replicas
 */

import { createHash } from "node:crypto";
import { Document } from "yaml";

import type { PlannedTopic } from "../../topics/topic-plan.ts";
import { RESOURCE_NAME } from "../resource-name.ts";

/** With a dash and the hash at most 253. */
const LIKENESS_CHARACTERS_MAX = 242;
const HASH_DIGITS = 10;

/**
 * One YAML document for each topic.
 *
 * @param cluster of the `Kafka` resource, as the label `strimzi.io/cluster` has it
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

/** Two topics never share one: a name that had to be changed ends with a hash of the topic's. */
export function resourceName(topic: string): string {
  if (RESOURCE_NAME.test(topic)) return topic;
  const hash = createHash("sha256").update(topic).digest("hex").slice(0, HASH_DIGITS);
  const like = topic.toLowerCase().replaceAll(/[^a-z\d-]+/g, "-");
  const start = like.replace(/^-+/, "").slice(0, LIKENESS_CHARACTERS_MAX).replace(/-+$/, "");
  return start === "" ? hash : `${start}-${hash}`;
}
