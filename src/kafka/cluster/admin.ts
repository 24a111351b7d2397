/** The requests of the admin port. `admin-session.ts` runs them, one at a time. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Grant, Operation } from "../../domain/permissions.ts";
import { request } from "../kafkajs/internals.ts";
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
import { type AdminClient, AdminSession } from "./admin-session.ts";
import { alterAllowed, createTopics, deleteTopics } from "./change-topics.ts";
import { clusterVersions } from "./cluster-versions.ts";
import type { Clients } from "./connection.ts";
import { errorType, errorTypes, protocolError } from "./kafka-error.ts";
import { commitOffsets, committedOf, offsetsOf, topicIdsOf } from "./offsets.ts";
import { type Identity, isAboutPermission, withPermission } from "./permission.ts";
import { fetchMetadata, isUsable, type TopicMetadata } from "./topic-metadata.ts";

const TOPIC = 2;
const BROKER = 4;
/** Maximum number of topics per request, so that requests do not become too large or slow. */
const TOPICS_MAX = 100;
const USABLE_POLL_MS = 50;
/** TOPIC_AUTHORIZATION_FAILED. */
const FORBIDDEN = 29;

interface DescribedConfigs {
  readonly resources: readonly {
    readonly errorCode: number;
    readonly errorMessage: string | null;
    readonly resourceName: string;
    readonly configEntries: readonly {
      readonly configName: string;
      readonly configValue: string | null;
    }[];
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
    const describe = async (client: AdminClient, onStep: () => void) => {
      const states: TopicState[] = [];
      for (const some of chunks(names)) {
        states.push(...(await describeSome(client, some, configKeys, isPartial)));
        onStep();
      }
      return states;
    };
    return this.#session.call("describe", describe, [on("topic", names, "DescribeConfigs")]);
  }

  assertVisible(names: readonly string[]): Promise<void> {
    const describeAll = async ({ pool }: AdminClient, onStep: () => void) => {
      const found: TopicMetadata[] = [];
      for (const some of chunks(names)) {
        found.push(...(await fetchMetadata(pool.seedBroker, some)).topicMetadata);
        onStep();
      }
      throwHidden(found);
    };
    return this.#session.call("assertVisible", describeAll, [on("topic", names, "Describe")]);
  }

  create(topics: readonly TopicSpec[], onRejected: OnRejected = ignore): Promise<void> {
    const all = topics.map(({ name }) => name);
    const create = async (client: AdminClient, onStep: () => void) => {
      const existing = new Set(await topicNames(client));
      const missing = topics.filter(({ name }) => !existing.has(name));
      await createTopics(client.brokers, missing, onRejected, onStep);
      for (const names of chunks(all)) {
        while (!(await areUsable(client, names))) await sleep(USABLE_POLL_MS);
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
      ({ pool }) => alterAllowed(pool.seedBroker, topic, config, onRejected, is),
      [on("topic", [topic], "AlterConfigs")],
    );
  }

  deleteTopics(names: readonly string[]): Promise<void> {
    return this.#session.call(
      "deleteTopics",
      async (client) => {
        const existing = new Set(await topicNames(client));
        const topics = names.filter((name) => existing.has(name));
        if (topics.length > 0) await deleteTopics(client.brokers, topics);
      },
      [on("topic", names, "Delete")],
    );
  }

  offsets(topic: string): Promise<readonly PartitionOffsets[]> {
    return this.#session.call(
      "offsets",
      async ({ admin }) => {
        const offsets = await admin.fetchTopicOffsets(topic);
        return offsets
          .map(({ partition, low, high }) => ({ partition, first: Number(low), end: Number(high) }))
          .sort((one, other) => one.partition - other.partition);
      },
      [on("topic", [topic], "Describe")],
    );
  }

  offsetsAt(topic: string, atMs: number): Promise<readonly PartitionOffset[]> {
    return this.#session.call(
      "offsetsAt",
      async ({ admin }) => {
        const offsets = await admin.fetchTopicOffsetsByTimestamp(topic, atMs);
        return offsets
          .map(({ partition, offset }) => ({ partition, offset: Number(offset) }))
          .sort((one, other) => one.partition - other.partition);
      },
      [on("topic", [topic], "Describe")],
    );
  }

  committed(groupId: string, topic: string): Promise<readonly CommittedOffset[]> {
    return this.#session.call(
      "committed",
      async ({ brokers }) => {
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
    const query = ({ brokers }: AdminClient) => offsetsOf(brokers, topics, onUnknownNamed);
    return this.#session.call("offsetsOf", query, needed);
  }

  committedOf(
    groups: ReadonlyMap<string, readonly string[]>,
    onUnknown?: OnUnknown,
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly CommittedOffset[]>>> {
    const topics = [...new Set([...groups.values()].flat())];
    const needed = [on("group", [...groups.keys()], "Describe"), on("topic", topics, "Describe")];
    const onUnknownNamed = this.#named(onUnknown, needed);
    const query = ({ brokers }: AdminClient) => committedOf(brokers, groups, onUnknownNamed);
    return this.#session.call("committedOf", query, needed);
  }

  topicIds(topics: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#session.call("topicIds", ({ brokers }) => topicIdsOf(brokers, topics));
  }

  commit(groupId: string, topic: string, offsets: readonly CommittedOffset[]): Promise<void> {
    return this.#session.call(
      "commit",
      ({ brokers }) => commitOffsets(brokers, groupId, topic, offsets),
      [on("group", [groupId], "Read"), on("topic", [topic], "Read")],
    );
  }

  deleteGroup(groupId: string): Promise<void> {
    return this.#session.call(
      "deleteGroup",
      async ({ admin }) => {
        await unless("GROUP_ID_NOT_FOUND", admin.deleteGroups([groupId]));
      },
      [on("group", [groupId], "Delete")],
    );
  }

  requestVersions(): Promise<ClusterVersions> {
    return this.#session.call("requestVersions", ({ brokers }) => clusterVersions(brokers));
  }

  brokerSetting(key: string): Promise<string | null> {
    return this.#session.call("brokerSetting", async ({ admin, pool }) => {
      const { brokers } = await fetchMetadata(pool.seedBroker, null);
      const described = await unless(
        "CLUSTER_AUTHORIZATION_FAILED",
        admin.describeConfigs({
          includeSynonyms: false,
          resources: [{ type: BROKER, name: `${brokers[0]?.nodeId ?? 0}`, configNames: [key] }],
        }),
      );
      const entries = described?.resources[0]?.configEntries ?? [];
      return entries.find(({ configName }) => configName === key)?.configValue ?? null;
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
  const errors = found.flatMap(({ topic, topicErrorCode }) => {
    const isHidden = topicErrorCode !== 0 && isAboutPermission(errorType(topicErrorCode));
    return isHidden ? [protocolError(topicErrorCode, topic)] : [];
  });
  if (errors.length > 0) throw new AggregateError(errors, "topics are hidden");
}
function ignore(): void {}

async function topicNames({ pool }: AdminClient): Promise<string[]> {
  const { topicMetadata } = await fetchMetadata(pool.seedBroker, null);
  return topicMetadata.map(({ topic }) => topic);
}

async function describeSome(
  { pool }: AdminClient,
  names: readonly string[],
  configNames: readonly string[],
  isPartial: boolean,
): Promise<TopicState[]> {
  const { topicMetadata } = await fetchMetadata(pool.seedBroker, names);
  const existing = topicMetadata.filter(({ topicErrorCode }) => topicErrorCode === 0);
  const configs = new Map<string, Record<string, string>>();
  if (configNames.length > 0 && existing.length > 0) {
    const { resources } = await request<DescribedConfigs>(pool.seedBroker, "DescribeConfigs", {
      includeSynonyms: false,
      resources: existing.map(({ topic }) => ({
        type: TOPIC,
        name: topic,
        configNames: [...configNames],
      })),
    });
    for (const { errorCode, errorMessage, resourceName, configEntries } of resources) {
      if (errorCode === FORBIDDEN && isPartial) continue;
      if (errorCode !== 0) throw describeError(errorCode, resourceName, errorMessage);
      const entries = configEntries.map(({ configName, configValue }) => [configName, configValue]);
      configs.set(resourceName, Object.fromEntries(entries) as Record<string, string>);
    }
  }
  const seen = existing.map(({ topic: name, partitionMetadata }) => {
    const partitions = partitionMetadata.length;
    const replicationFactor = partitionMetadata[0]?.replicas.length ?? 0;
    const config = configs.get(name);
    const state = { name, partitions, replicationFactor, config: config ?? {} };
    if (config !== undefined || configNames.length === 0) return state;
    return { ...state, lacks: "DescribeConfigs" as const };
  });
  if (!isPartial) return seen;
  const hidden = topicMetadata
    .filter(({ topicErrorCode }) => topicErrorCode === FORBIDDEN)
    .map(({ topic: name }) => {
      const nothing = { partitions: 0, replicationFactor: 0, config: {} };
      return { name, ...nothing, lacks: "Describe" as const };
    });
  return [...seen, ...hidden];
}

function describeError(code: number, topic: string, says: string | null): Error {
  const error = protocolError(code, topic);
  error.message = `${topic}: ${says ?? error.message}`;
  return error;
}

/** @throws the brokers' error if they hide a topic, because waiting does not help. */
async function areUsable({ pool }: AdminClient, names: readonly string[]): Promise<boolean> {
  const { topicMetadata } = await fetchMetadata(pool.seedBroker, names);
  throwHidden(topicMetadata);
  return topicMetadata.every(isUsable);
}

/** The result of `call`, or null if it failed for exactly this reason. */
async function unless<Result>(type: string, call: Promise<Result>): Promise<Result | null> {
  try {
    return await call;
  } catch (error) {
    const types = errorTypes(error);
    if (types.size === 1 && types.has(type)) return null;
    throw error;
  }
}

function chunks<Item>(items: readonly Item[]): Item[][] {
  const count = Math.ceil(items.length / TOPICS_MAX);
  return Array.from({ length: count }, (_, index) =>
    items.slice(index * TOPICS_MAX, (index + 1) * TOPICS_MAX),
  );
}
