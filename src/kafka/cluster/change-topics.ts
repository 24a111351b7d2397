/**
 * Makes and deletes topics, by the controller. kafkajs first asks for the metadata of all topics of the
 * cluster, and fails while a single partition of any of them is without a leader.
 */

import { request } from "../kafkajs/internals.ts";
import type { OnRejected, TopicSpec } from "../port.ts";
import { allowedConfig, isRejection, likewise } from "./allowed-config.ts";
import type { Brokers } from "./brokers.ts";
import { protocolError } from "./kafka-error.ts";

const LIMIT_MS = 15_000;
const BROKERS_DEFAULT = -1;
/** Of one request, so that none gets too large or slow. */
const TOPICS_MAX = 100;

interface TopicsResponse {
  readonly topicErrors: readonly {
    readonly topic: string;
    readonly errorCode: number;
    readonly errorMessage?: string | null;
  }[];
}

/** The name of the topic, Kafka's name of the error, and the broker's words. */
type TopicError = Error & { readonly type: string; readonly topic: string };

/**
 * @param onRejected called for each setting that the cluster does not allow.
 * @throws Error with the failures in `errors`; the other topics are made.
 */
export async function createTopics(
  brokers: Brokers,
  specs: readonly TopicSpec[],
  onRejected: OnRejected,
): Promise<void> {
  const { rejected, failed } = await create(brokers, specs);
  const left = await createAllowed(brokers, rejected, onRejected);
  throwAny("Topic creation errors", [...failed, ...left]);
}

/** @throws likewise. */
export async function deleteTopics(brokers: Brokers, topics: readonly string[]): Promise<void> {
  const options = { topics: [...topics], timeout: LIMIT_MS };
  throwAny("Topic deletion errors", await sendToController(brokers, "DeleteTopics", options));
}

interface RejectedTopic {
  readonly spec: TopicSpec;
  readonly error: TopicError;
}

/** Those refused because of their settings, and all other failures. */
async function create(
  brokers: Brokers,
  specs: readonly TopicSpec[],
): Promise<{
  readonly rejected: readonly RejectedTopic[];
  readonly failed: readonly TopicError[];
}> {
  const byName = new Map(specs.map((spec) => [spec.name, spec]));
  const rejected: RejectedTopic[] = [];
  const failed: TopicError[] = [];
  for (let at = 0; at < specs.length; at += TOPICS_MAX) {
    const some = specs.slice(at, at + TOPICS_MAX);
    for (const error of await sendToController(brokers, "CreateTopics", optionsOf(some))) {
      const spec = byName.get(error.topic);
      // Somebody else may have created it in the meantime.
      if (error.type === "TOPIC_ALREADY_EXISTS") continue;
      if (spec !== undefined && isRejection(error.type)) rejected.push({ spec, error });
      else failed.push(error);
    }
  }
  return { rejected, failed };
}

/**
 * With as much of their settings as the cluster allows. The findings of one topic are tried with
 * all of them. Returns the failures.
 */
async function createAllowed(
  brokers: Brokers,
  rejected: readonly RejectedTopic[],
  onRejected: OnRejected,
): Promise<readonly TopicError[]> {
  const failures: TopicError[] = [];
  let left = rejected;
  for (let [first] = left; first !== undefined; [first] = left) {
    const { spec, error } = first;
    const found = await allowedConfig(spec.config, error.message, (config) =>
      reasonAgainst(brokers, { ...spec, config }),
    );
    if (found === null) {
      // It is not the settings; nor is it for the others of which the cluster says the same.
      failures.push(...left.map((each) => each.error).filter(isAlike(error)));
      left = left.filter((each) => !isAlike(error)(each.error));
      continue;
    }
    const adapted = left.map((each) => {
      const { config } = each.spec;
      return each === first ? found : likewise(config, found.rejected, each.error.message);
    });
    const specs = left.map((each, at) => ({ ...each.spec, ...adapted[at] }));
    const again = await create(brokers, specs);
    const errors = [...again.failed, ...again.rejected.map((each) => each.error)];
    const missed = new Set(errors.map(({ topic }) => topic));
    for (const { name: topic, rejected } of specs) {
      if (missed.has(topic)) continue;
      for (const each of rejected ?? []) onRejected({ topic, ...each });
    }
    failures.push(
      ...errors.filter((each) => again.failed.includes(each) || each.topic === spec.name),
    );
    const unsettled = new Set(again.rejected.map((each) => each.spec.name));
    left = left.filter((each) => each !== first && unsettled.has(each.spec.name));
  }
  return failures;
}

function isAlike({ message }: TopicError): (other: TopicError) => boolean {
  return (other) => other.message === message;
}

/** @throws TopicError when it is not the settings. */
async function reasonAgainst(brokers: Brokers, spec: TopicSpec): Promise<string | null> {
  const [against] = await sendToController(brokers, "CreateTopics", {
    ...optionsOf([spec]),
    validateOnly: true,
  });
  if (against !== undefined && !isRejection(against.type)) throw against;
  return against?.message ?? null;
}

function optionsOf(specs: readonly TopicSpec[]): object {
  const topics = specs.map(({ name, partitions, replicationFactor, config }) => ({
    topic: name,
    numPartitions: partitions,
    replicationFactor: replicationFactor ?? BROKERS_DEFAULT,
    configEntries: Object.entries(config).map(([key, value]) => ({ name: key, value })),
  }));
  return { topics, validateOnly: false, timeout: LIMIT_MS };
}

async function sendToController(
  brokers: Brokers,
  name: "CreateTopics" | "DeleteTopics",
  options: object,
): Promise<readonly TopicError[]> {
  // Any topic: only the controller counts.
  const { controllerId } = await brokers.metadata(["__consumer_offsets"]);
  const response = await request<TopicsResponse>(await brokers.leader(controllerId), name, options);
  return response.topicErrors.flatMap(({ topic, errorCode, errorMessage }) => {
    if (errorCode === 0) return [];
    const error = protocolError(errorCode, topic);
    if (errorMessage) error.message = errorMessage;
    return [Object.assign(error, { topic })];
  });
}

function throwAny(says: string, errors: readonly TopicError[]): void {
  if (errors.length > 0) throw Object.assign(new Error(says), { errors });
}
