/** The requests of the admin port. `admin-session.ts` runs them, one at a time. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Grant, Operation } from "../../domain/permissions.ts";
import type { Broker } from "../broker/broker-connection.ts";
import * as requests from "../broker/requests.ts";
import type {
  Admin,
  ClusterVersions,
  CommittedOffset,
  OnRejected,
  OnUnknown,
  PartitionOffset,
  PartitionOffsets,
  TopicSpec,
  TopicState,
} from "../port.ts";
import { AdminSession } from "./admin-session.ts";
import type { Brokers } from "./brokers.ts";
import {
  alterAllowed,
  commitOffsets,
  createTopics,
  deleteGroup,
  deleteTopics,
} from "./change-topics.ts";
import { clusterVersions } from "./cluster-versions.ts";
import type { Clients } from "./connection.ts";
import { protocolError } from "./kafka-error.ts";
import {
  chunks,
  committedOf,
  offsetsAt,
  offsetsOf,
  readableOffsets,
  topicIdsOf,
} from "./offsets.ts";
import { type Identity, withPermission } from "./permission.ts";
import { isUsable, type TopicMetadata } from "./topic-metadata.ts";

/** Maximum number of topics per request, so that requests do not become too large or slow. */
const TOPICS_MAX = 100;
const USABLE_POLL_MS = 50;
const TOPIC = 2;
const BROKER = 4;
/** TOPIC_AUTHORIZATION_FAILED. */
const FORBIDDEN = 29;
/** CLUSTER_AUTHORIZATION_FAILED. */
const HIDDEN_CLUSTER = 31;

interface ConfigsQuery {
  readonly kind: typeof TOPIC | typeof BROKER;
  /** Topics, or a broker's node ID. */
  readonly names: readonly string[];
  readonly keys: readonly string[];
}

interface DescribedConfigs {
  /** Kafka's error code; 0 if there is no error. */
  readonly errorCode: number;
  readonly errorMessage?: string | null | undefined;
  readonly resourceName: string;
  readonly configs: readonly {
    readonly name: string;
    readonly value?: string | null | undefined;
  }[];
}

export class KafkaAdmin implements Admin {
  readonly #identity: Identity;
  readonly #session: AdminSession;

  constructor(clients: Clients) {
    this.#identity = clients.connection;
    this.#session = new AdminSession(clients);
  }

  topics(): Promise<readonly string[]> {
    return this.#session.call("topics", topicNames);
  }

  describe(
    names: readonly string[],
    configKeys: readonly string[],
    isPartial = false,
  ): Promise<TopicState[]> {
    const describe = async (brokers: Brokers, onStep: () => void) => {
      const states: TopicState[] = [];
      for (const some of chunks(names, TOPICS_MAX)) {
        states.push(...(await describeSome(brokers, some, configKeys, isPartial)));
        onStep();
      }
      return states;
    };
    return this.#session.call("describe", describe, [on("topic", names, "DescribeConfigs")]);
  }

  assertVisible(names: readonly string[]): Promise<void> {
    const describeAll = async (brokers: Brokers, onStep: () => void) => {
      const found: TopicMetadata[] = [];
      for (const some of chunks(names, TOPICS_MAX)) {
        found.push(...(await brokers.metadata(some)).topics);
        onStep();
      }
      throwHidden(found);
    };
    return this.#session.call("assertVisible", describeAll, [on("topic", names, "Describe")]);
  }

  create(topics: readonly TopicSpec[], onRejected: OnRejected = ignore): Promise<void> {
    const all = topics.map(({ name }) => name);
    const create = async (brokers: Brokers, onStep: () => void) => {
      const existing = new Set(await topicNames(brokers));
      const missing = topics.filter(({ name }) => !existing.has(name));
      await createTopics(brokers, missing, onRejected, onStep);
      for (const names of chunks(all, TOPICS_MAX)) {
        while (!(await areUsable(brokers, names))) await sleep(USABLE_POLL_MS);
        onStep();
      }
    };
    return this.#session.call("create", create, [on("topic", all, "Create")]);
  }

  alterConfig(
    topic: string,
    config: Readonly<Record<string, string>>,
    onRejected: OnRejected = ignore,
    is: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    return this.#session.call(
      "alterConfig",
      (brokers) => brokers.any((broker) => alterAllowed(broker, topic, config, onRejected, is)),
      [on("topic", [topic], "AlterConfigs")],
    );
  }

  deleteTopics(names: readonly string[]): Promise<void> {
    return this.#session.call(
      "deleteTopics",
      async (brokers) => {
        const existing = new Set(await topicNames(brokers));
        const topics = names.filter((name) => existing.has(name));
        if (topics.length > 0) await deleteTopics(brokers, topics);
      },
      [on("topic", names, "Delete")],
    );
  }

  offsets(topic: string): Promise<readonly PartitionOffsets[]> {
    return this.#session.call("offsets", (brokers) => readableOffsets(brokers, topic), [
      on("topic", [topic], "Describe"),
    ]);
  }

  offsetsAt(topic: string, atMs: number): Promise<readonly PartitionOffset[]> {
    return this.#session.call("offsetsAt", (brokers) => offsetsAt(brokers, topic, atMs), [
      on("topic", [topic], "Describe"),
    ]);
  }

  committed(groupId: string, topic: string): Promise<readonly CommittedOffset[]> {
    return this.#session.call(
      "committed",
      async (brokers) => {
        const found = await committedOf(brokers, new Map([[groupId, [topic]]]));
        return found.get(groupId)?.get(topic) ?? [];
      },
      [on("group", [groupId], "Describe"), on("topic", [topic], "Describe")],
    );
  }

  offsetsOf(
    topics: readonly string[],
    onUnknown?: OnUnknown,
  ): Promise<ReadonlyMap<string, readonly PartitionOffsets[]>> {
    const needed = [on("topic", topics, "Describe")];
    const onUnknownNamed = this.#named(onUnknown, needed);
    const query = (brokers: Brokers) => offsetsOf(brokers, topics, onUnknownNamed);
    return this.#session.call("offsetsOf", query, needed);
  }

  committedOf(
    groups: ReadonlyMap<string, readonly string[]>,
    onUnknown?: OnUnknown,
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly CommittedOffset[]>>> {
    const topics = [...new Set([...groups.values()].flat())];
    const needed = [on("group", [...groups.keys()], "Describe"), on("topic", topics, "Describe")];
    const onUnknownNamed = this.#named(onUnknown, needed);
    const query = (brokers: Brokers) => committedOf(brokers, groups, onUnknownNamed);
    return this.#session.call("committedOf", query, needed);
  }

  topicIds(topics: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#session.call("topicIds", (brokers) => topicIdsOf(brokers, topics));
  }

  commit(groupId: string, topic: string, offsets: readonly CommittedOffset[]): Promise<void> {
    return this.#session.call(
      "commit",
      (brokers) => commitOffsets(brokers, groupId, topic, offsets),
      [on("group", [groupId], "Read"), on("topic", [topic], "Read")],
    );
  }

  deleteGroup(groupId: string): Promise<void> {
    return this.#session.call("deleteGroup", (brokers) => deleteGroup(brokers, groupId), [
      on("group", [groupId], "Delete"),
    ]);
  }

  requestVersions(): Promise<ClusterVersions> {
    return this.#session.call("requestVersions", clusterVersions);
  }

  brokerSetting(key: string): Promise<string | null> {
    return this.#session.call("brokerSetting", async (brokers) => {
      const [node] = (await brokers.metadata(null)).brokers;
      if (node === undefined) return null;
      const query = { kind: BROKER, names: [`${node.nodeId}`], keys: [key] } as const;
      const [described] = await describeConfigs(await brokers.leader(node.nodeId), query);
      if (described === undefined || described.errorCode === HIDDEN_CLUSTER) return null;
      if (described.errorCode !== 0) throw describeError(described);
      return valuesOf(described)[key] ?? null;
    });
  }

  /** Wraps the callback, so that its errors name the missing permission. */
  #named(onUnknown: OnUnknown | undefined, needed: readonly Grant[]): OnUnknown | undefined {
    if (onUnknown === undefined) return undefined;
    return (topic, error) => onUnknown(topic, withPermission(error, needed, this.#identity));
  }

  close(): Promise<void> {
    return this.#session.close();
  }
}

function on(kind: "topic" | "group", names: readonly string[], operation: Operation): Grant {
  return { on: kind, names, pattern: "literal", operations: [operation] };
}

/** @throws the brokers' errors about hidden topics. It is unknown whether these topics exist. */
function throwHidden(found: readonly TopicMetadata[]): void {
  const errors = found.flatMap(({ name, errorCode }) =>
    errorCode === FORBIDDEN ? [protocolError(errorCode, name ?? "")] : [],
  );
  if (errors.length > 0) throw new AggregateError(errors, "topics are hidden");
}
function ignore(): void {}

async function topicNames(brokers: Brokers): Promise<string[]> {
  return (await brokers.metadata(null)).topics.map(({ name }) => name ?? "");
}

async function describeSome(
  brokers: Brokers,
  names: readonly string[],
  keys: readonly string[],
  isPartial: boolean,
): Promise<TopicState[]> {
  const { topics } = await brokers.metadata(names);
  const existing = topics.filter(({ errorCode }) => errorCode === 0);
  const configs = new Map<string, Record<string, string>>();
  if (keys.length > 0 && existing.length > 0) {
    const query = { kind: TOPIC, names: existing.map(({ name }) => name ?? ""), keys } as const;
    for (const each of await brokers.any((broker) => describeConfigs(broker, query))) {
      if (each.errorCode === FORBIDDEN && isPartial) continue;
      if (each.errorCode !== 0) throw describeError(each);
      configs.set(each.resourceName, valuesOf(each) as Record<string, string>);
    }
  }
  const seen = existing.map((topic) => {
    const name = topic.name ?? "";
    const partitions = topic.partitions.length;
    const replicationFactor = topic.partitions[0]?.replicaNodes.length ?? 0;
    const config = configs.get(name);
    const state = { name, partitions, replicationFactor, config: config ?? {} };
    if (config !== undefined || keys.length === 0) return state;
    return { ...state, lacks: "DescribeConfigs" as const };
  });
  if (!isPartial) return seen;
  const hidden = topics
    .filter(({ errorCode }) => errorCode === FORBIDDEN)
    .map(({ name }) => {
      const nothing = { partitions: 0, replicationFactor: 0, config: {} };
      return { name: name ?? "", ...nothing, lacks: "Describe" as const };
    });
  return [...seen, ...hidden];
}

/** The response contains the errors of individual topics or brokers. */
export async function describeConfigs(
  broker: Broker,
  { kind, names, keys }: ConfigsQuery,
): Promise<readonly DescribedConfigs[]> {
  const resources = names.map((resourceName) => {
    return { resourceType: kind, resourceName, configurationKeys: [...keys] };
  });
  return (await broker.send(requests.describeConfigs(resources))).results;
}

/** Values by key; null for a secret one. */
function valuesOf({ configs }: DescribedConfigs): Readonly<Record<string, string | null>> {
  return Object.fromEntries(configs.map(({ name, value }) => [name, value ?? null]));
}

function describeError({ errorCode, errorMessage, resourceName }: DescribedConfigs): Error {
  const error = protocolError(errorCode, resourceName);
  error.message = `${resourceName}: ${errorMessage ?? error.message}`;
  return error;
}

/** @throws the brokers' error if they hide a topic, because waiting does not help. */
async function areUsable(brokers: Brokers, names: readonly string[]): Promise<boolean> {
  const { topics } = await brokers.metadata(names);
  throwHidden(topics);
  return topics.every(isUsable);
}
