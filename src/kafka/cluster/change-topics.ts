/**
 * Makes and deletes topics, by the controller. kafkajs first asks for the metadata of all topics of the
 * cluster, and fails while a single partition of any of them is without a leader.
 */

import { request } from "../kafkajs/internals.ts";
import type { TopicSpec } from "../port.ts";
import type { Brokers } from "./brokers.ts";
import { protocolError } from "./kafka-error.ts";

const LIMIT_MS = 15_000;
const BROKERS_DEFAULT = -1;

interface Answer {
  readonly topicErrors: readonly {
    readonly topic: string;
    readonly errorCode: number;
    readonly errorMessage?: string | null;
  }[];
}

/** @throws Error with the failures in `errors`; the other topics are made. */
export function createTopics(brokers: Brokers, specs: readonly TopicSpec[]): Promise<void> {
  const topics = specs.map(({ name, partitions, replicationFactor, config }) => ({
    topic: name,
    numPartitions: partitions,
    replicationFactor: replicationFactor ?? BROKERS_DEFAULT,
    configEntries: Object.entries(config).map(([key, value]) => ({ name: key, value })),
  }));
  const options = { topics, validateOnly: false, timeout: LIMIT_MS };
  return ask(brokers, "CreateTopics", options, "Topic creation errors");
}

/** @throws likewise. */
export function deleteTopics(brokers: Brokers, topics: readonly string[]): Promise<void> {
  const options = { topics: [...topics], timeout: LIMIT_MS };
  return ask(brokers, "DeleteTopics", options, "Topic deletion errors");
}

async function ask(
  brokers: Brokers,
  name: "CreateTopics" | "DeleteTopics",
  options: object,
  says: string,
): Promise<void> {
  // Any topic: only the controller counts.
  const { controllerId } = await brokers.metadata(["__consumer_offsets"]);
  const answer = await request<Answer>(await brokers.leader(controllerId), name, options);
  const errors = answer.topicErrors.flatMap(({ topic, errorCode, errorMessage }) => {
    if (errorCode === 0) return [];
    const error = protocolError(errorCode, topic);
    if (errorMessage) error.message = errorMessage;
    return [Object.assign(error, { topic })];
  });
  if (errors.length > 0) throw Object.assign(new Error(says), { errors });
}
