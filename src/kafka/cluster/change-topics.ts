/**
 * Creates and deletes topics through the controller, and changes topics' settings. Also deletes groups and changes
 * their committed offsets, through their coordinators.
 */

import type { Broker } from "../broker/broker-connection.ts";
import * as requests from "../broker/requests.ts";
import type { CommittedOffset, OnRejected, TopicSpec } from "../port.ts";
import { allowedConfig, isRejection, likewise, type TopicConfig } from "./allowed-config.ts";
import type { Brokers } from "./brokers.ts";
import { errorType, protocolError } from "./kafka-error.ts";

const LIMIT_MS = 15_000;
const BROKERS_DEFAULT = -1;
/** Maximum number of topics per request, so that requests do not become too large or slow. */
const TOPICS_MAX = 100;

interface TopicResult {
  readonly name?: string | null | undefined;
  readonly errorCode: number;
  readonly errorMessage?: string | null | undefined;
}

/** Contains the topic's name, Kafka's name for the error, and the broker's message. */
type TopicError = Error & { readonly type: string; readonly topic: string };

/**
 * @param onRejected called for each setting that the cluster does not allow.
 * @param onStep called after each request that has created topics.
 * @throws Error with the failures in `errors`; all other topics are created.
 */
export async function createTopics(
  brokers: Brokers,
  specs: readonly TopicSpec[],
  onRejected: OnRejected,
  onStep: () => void,
): Promise<void> {
  const { rejected, failed } = await create(brokers, specs, onStep);
  const left = await createAllowed(brokers, rejected, onRejected);
  throwAny("Topic creation errors", [...failed, ...left]);
}

/** @throws Error with the failures in `errors`; all other topics are deleted. */
export async function deleteTopics(brokers: Brokers, topics: readonly string[]): Promise<void> {
  const request = requests.deleteTopics(
    topics.map((name) => ({ name })),
    LIMIT_MS,
  );
  const { responses } = await (await controller(brokers)).send(request);
  throwAny("Topic deletion errors", errorsIn(responses));
}

interface RejectedTopic {
  readonly spec: TopicSpec;
  readonly error: TopicError;
}

/** Returns the topics that were rejected because of their settings, and all other failures. */
async function create(
  brokers: Brokers,
  specs: readonly TopicSpec[],
  onStep: () => void = () => undefined,
): Promise<{
  readonly rejected: readonly RejectedTopic[];
  readonly failed: readonly TopicError[];
}> {
  const byName = new Map(specs.map((spec) => [spec.name, spec]));
  const rejected: RejectedTopic[] = [];
  const failed: TopicError[] = [];
  for (let at = 0; at < specs.length; at += TOPICS_MAX) {
    const some = specs.slice(at, at + TOPICS_MAX);
    for (const error of await sendCreation(brokers, some)) {
      const spec = byName.get(error.topic);
      // Another process may have created the topic in the meantime.
      if (error.type === "TOPIC_ALREADY_EXISTS") continue;
      if (spec !== undefined && isRejection(error.type)) rejected.push({ spec, error });
      else failed.push(error);
    }
    onStep();
  }
  return { rejected, failed };
}

/**
 * Creates topics with as many of their settings as the cluster allows. If some settings are rejected for one topic,
 * those that are allowed for it are tried for all other topics. Returns the failures.
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
      // The settings are not the reason why this topic, and other topics with the same error, were rejected.
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

/** @throws TopicError if the settings are not the reason. */
async function reasonAgainst(brokers: Brokers, spec: TopicSpec): Promise<string | null> {
  const [against] = await sendCreation(brokers, [spec], true);
  if (against !== undefined && !isRejection(against.type)) throw against;
  return against?.message ?? null;
}

async function sendCreation(
  brokers: Brokers,
  specs: readonly TopicSpec[],
  validateOnly = false,
): Promise<readonly TopicError[]> {
  const wanted = specs.map(({ name, partitions, replicationFactor, config }) => ({
    name,
    numPartitions: partitions,
    replicationFactor: replicationFactor ?? BROKERS_DEFAULT,
    assignments: [],
    configs: Object.entries(config).map(([key, value]) => ({ name: key, value })),
  }));
  const request = requests.createTopics(wanted, LIMIT_MS, validateOnly);
  return errorsIn((await (await controller(brokers)).send(request)).topics);
}

async function controller(brokers: Brokers): Promise<Broker> {
  // The name of the topic does not matter, because only the controller is used.
  const { controllerId } = await brokers.metadata(["__consumer_offsets"]);
  return await brokers.leader(controllerId);
}

function errorsIn(results: readonly TopicResult[]): readonly TopicError[] {
  return results.flatMap(({ name, errorCode, errorMessage }) => {
    if (errorCode === 0) return [];
    const topic = name ?? "";
    const error = protocolError(errorCode, topic);
    if (errorMessage) error.message = errorMessage;
    return [Object.assign(error, { topic })];
  });
}

function throwAny(says: string, errors: readonly TopicError[]): void {
  if (errors.length > 0) throw Object.assign(new Error(says), { errors });
}

const TOPIC = 2;
const SET = 0;

/**
 * Sets as many of a topic's settings as the cluster allows. Uses IncrementalAlterConfigs, which sets only the
 * given keys: AlterConfigs would reset every other key to its default.
 *
 * @param is the settings' current values, if known.
 * @throws Error with the topic and the broker's error if the settings are not the reason.
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
    // A setting that is omitted stays as it is.
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
 * Sets all of the settings or none.
 *
 * @returns the broker's reason for rejecting the settings; null if they are set, or would be.
 * @throws Error if the settings are not the reason.
 */
async function alter(
  broker: Broker,
  topic: string,
  config: TopicConfig,
  validateOnly = false,
): Promise<string | null> {
  const configs = Object.entries(config).map(([name, value]) => {
    return { name, configOperation: SET, value } as const;
  });
  const resource = { resourceType: TOPIC, resourceName: topic, configs } as const;
  const { responses } = await broker.send(requests.alterConfigs([resource], validateOnly));
  const failed = responses.find(({ errorCode }) => errorCode !== 0);
  if (failed === undefined) return null;
  const type = errorType(failed.errorCode);
  const reason = failed.errorMessage ?? type;
  if (isRejection(type)) return reason;
  const message = `${type}: the configuration of ${topic} was rejected: ${reason}`;
  throw Object.assign(protocolError(failed.errorCode, topic), { message });
}

/** Changes groups without joining them. The admin session repeats a call while a group has no coordinator. */

/** The generation of a commit by a process that is not a member. */
const NO_GENERATION = -1;
const NO_MEMBER = "";
/** GROUP_ID_NOT_FOUND. */
const NO_GROUP = 69;

/** @throws if the group has members. */
export async function commitOffsets(
  brokers: Brokers,
  groupId: string,
  topic: string,
  offsets: readonly CommittedOffset[],
): Promise<void> {
  const partitions = offsets.map(({ partition, offset, metadata }) => ({
    partitionIndex: partition,
    committedOffset: BigInt(offset),
    committedLeaderEpoch: requests.NO_EPOCH,
    committedMetadata: metadata,
  }));
  const topics = [{ name: topic, partitions }];
  const commit = requests.offsetCommit(groupId, NO_GENERATION, NO_MEMBER, null, topics);
  await atCoordinator(brokers, groupId, async (coordinator) => {
    const response = await coordinator.send(commit);
    return response.topics.flatMap((each) => each.partitions);
  });
}

/** Does nothing if the group does not exist. @throws if the group has members. */
export async function deleteGroup(brokers: Brokers, groupId: string): Promise<void> {
  await atCoordinator(brokers, groupId, async (coordinator) => {
    const { results } = await coordinator.send(requests.deleteGroups([groupId]));
    return results.filter(({ errorCode }) => errorCode !== NO_GROUP);
  });
}

/** @param send returns the results with their error codes. */
async function atCoordinator(
  brokers: Brokers,
  groupId: string,
  send: (coordinator: Broker) => Promise<readonly { readonly errorCode: number }[]>,
): Promise<void> {
  const results = await send(await brokers.coordinator(groupId));
  const failed = results.find(({ errorCode }) => errorCode !== 0);
  if (failed !== undefined) throw protocolError(failed.errorCode);
}
