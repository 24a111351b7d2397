/** The admin port of the cluster in memory. */

import type {
  Admin,
  ClusterVersions,
  CommittedOffset,
  PartitionOffset,
  PartitionOffsets,
  TopicSpec,
  TopicState,
} from "../../../src/kafka/port.ts";
import type { MemoryBroker } from "./broker.ts";
import type { Party } from "./network.ts";
import type { MemoryTopic } from "./topics.ts";

const DEFAULTS: ReadonlyMap<string, string> = new Map([
  ["cleanup.policy", "delete"],
  ["max.message.bytes", "1048588"],
  ["retention.bytes", "-1"],
  ["retention.ms", "604800000"],
]);

export class MemoryAdmin implements Admin {
  readonly #broker: MemoryBroker;
  readonly #party: Party;
  readonly #onDeleted: (topic: string) => void;

  constructor(broker: MemoryBroker, party: Party, onDeleted: (topic: string) => void) {
    this.#broker = broker;
    this.#party = party;
    this.#onDeleted = onDeleted;
  }

  topics(): Promise<readonly string[]> {
    return this.#ask(() => this.#broker.topics.names());
  }

  /** No topics are hidden here. */
  assertVisible(): Promise<void> {
    return this.#ask(() => undefined);
  }

  describe(
    names: readonly string[],
    configKeys: readonly string[],
  ): Promise<readonly TopicState[]> {
    return this.#ask(() =>
      names.flatMap((name) => {
        const topic = this.#broker.topics.find(name);
        return topic === undefined ? [] : [stateOf(topic, configKeys)];
      }),
    );
  }

  create(topics: readonly TopicSpec[]): Promise<void> {
    return this.#ask(() => {
      for (const spec of topics) this.#broker.topics.create(spec);
    });
  }

  alterConfig(topic: string, config: Readonly<Record<string, string>>): Promise<void> {
    return this.#ask(() => {
      for (const [key, value] of Object.entries(config)) this.#find(topic).config.set(key, value);
    });
  }

  deleteTopics(names: readonly string[]): Promise<void> {
    return this.#ask(() => {
      for (const name of names.map((known) => this.#find(known).name)) {
        this.#broker.topics.delete(name);
        for (const group of this.#broker.groups()) group.forget(name);
        this.#onDeleted(name);
      }
    });
  }

  offsets(topic: string): Promise<readonly PartitionOffsets[]> {
    return this.#ask(() => this.#offsets(topic));
  }

  committed(groupId: string, topic: string): Promise<readonly CommittedOffset[]> {
    return this.#ask(() => this.#committed(groupId, topic));
  }

  offsetsOf(topics: readonly string[]): Promise<ReadonlyMap<string, readonly PartitionOffsets[]>> {
    return this.#ask(() => {
      const existing = topics.filter((name) => this.#broker.topics.find(name) !== undefined);
      return new Map(existing.map((name) => [name, this.#offsets(name)]));
    });
  }

  committedOf(
    groups: ReadonlyMap<string, readonly string[]>,
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly CommittedOffset[]>>> {
    return this.#ask(() => {
      const of = (groupId: string, topics: readonly string[]) =>
        new Map(topics.map((topic) => [topic, this.#committed(groupId, topic)]));
      return new Map([...groups].map(([groupId, topics]) => [groupId, of(groupId, topics)]));
    });
  }

  #committed(groupId: string, topic: string): readonly CommittedOffset[] {
    return this.#broker
      .group(groupId)
      .committedIn(topic)
      .map(({ partition, offset, metadata }) => ({ partition, offset, metadata }))
      .sort((one, other) => one.partition - other.partition);
  }

  #offsets(topic: string): readonly PartitionOffsets[] {
    return this.#find(topic).partitions.map(({ records, end }, partition) => ({
      partition,
      first: records[0]?.offset ?? end,
      end,
    }));
  }

  offsetsAt(topic: string, atMs: number): Promise<readonly PartitionOffset[]> {
    return this.#ask(() => {
      if (!Number.isSafeInteger(atMs)) throw new Error(`${atMs} is not a time`);
      return this.#find(topic).partitions.map(({ records, end }, partition) => ({
        partition,
        offset: records.find(({ timestampMs }) => timestampMs >= atMs)?.offset ?? end,
      }));
    });
  }

  topicIds(topics: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#ask(() => {
      const existing = topics.flatMap((name) => this.#broker.topics.find(name) ?? []);
      return new Map(existing.map(({ name, id }) => [name, id]));
    });
  }

  commit(groupId: string, topic: string, offsets: readonly CommittedOffset[]): Promise<void> {
    return this.#ask(() => {
      this.#find(topic);
      const group = this.#broker.group(groupId);
      if (!group.isEmpty) throw new Error(`the group ${groupId} has members`);
      group.store(offsets.map((entry) => ({ topic, ...entry })));
    });
  }

  deleteGroup(groupId: string): Promise<void> {
    return this.#ask(() => this.#broker.deleteGroup(groupId));
  }

  /** There are no request versions here. */
  requestVersions(): Promise<ClusterVersions> {
    return this.#ask(() => ({ brokers: [], requests: [] }));
  }

  brokerSetting(key: string): Promise<string | null> {
    return this.#ask(() => this.#broker.settings.get(key) ?? null);
  }

  #find(name: string): MemoryTopic {
    const topic = this.#broker.topics.find(name);
    if (topic === undefined) throw new Error(`the topic ${name} does not exist`);
    return topic;
  }

  #ask<BrokerResponse>(question: () => BrokerResponse): Promise<BrokerResponse> {
    const { network } = this.#broker;
    return new Promise((resolve, reject) => {
      network.toBroker(this.#party, () => {
        try {
          const response = question();
          network.toClient(this.#party, () => resolve(response));
        } catch (error) {
          network.toClient(this.#party, () => reject(error as Error));
        }
      });
    });
  }
}

function stateOf(topic: MemoryTopic, configKeys: readonly string[]): TopicState {
  const config: Record<string, string> = {};
  for (const key of configKeys) {
    const value = topic.config.get(key) ?? DEFAULTS.get(key);
    if (value !== undefined) config[key] = value;
  }
  const { name, partitions, replicationFactor } = topic;
  return { name, partitions: partitions.length, replicationFactor, config };
}
