/**
 * kafkajs' own `ConsumerGroup` with one partition, as it is after a join. Brokers answer a fetch
 * when the test says so, so that an answer can come late.
 */

import type { Assigner, Cluster, Logger } from "kafkajs";

import {
  type ConsumerGroup,
  type ConsumerGroupHooks,
  consumerGroupHooks,
} from "../../src/kafka/consumer-group.ts";
import { loadInternal } from "../../src/kafka/kafkajs.ts";

export const TOPIC = "t";
export const PARTITION = 0;

export type KafkajsGroup = ConsumerGroup & {
  subscriptionState: { assign(assignment: readonly object[]): void };
  offsetManager: ConsumerGroup["offsetManager"];
  lastRequest: number;
  memberId: string;
  coordinator: object;
};

const Group = loadInternal("src/consumer/consumerGroup.js") as new (
  options: object,
) => KafkajsGroup;
const OffsetManager = loadInternal("src/consumer/offsetManager/index.js") as new (
  options: object,
) => ConsumerGroup["offsetManager"];

interface CommitRequest {
  readonly topics: readonly { readonly partitions: readonly { readonly offset: string }[] }[];
}

/** The group's coordinator, with all that was committed. */
class Coordinator {
  readonly commits: number[] = [];
  readonly versions = {};
  heartbeats = 0;

  isConnected(): boolean {
    return true;
  }

  async heartbeat(): Promise<void> {
    this.heartbeats += 1;
  }

  async offsetFetch(): Promise<object> {
    return { responses: [{ topic: TOPIC, partitions: [at(this.commits.at(-1) ?? 0)] }] };
  }

  async offsetCommit({ topics }: CommitRequest): Promise<void> {
    this.commits.push(Number(topics[0]?.partitions[0]?.offset));
  }
}

/** A fetch that its broker has not answered. */
interface Asked {
  readonly answer: (response: object) => void;
  readonly refuse: (error: Error) => void;
}

export class GroupWorld {
  readonly group: KafkajsGroup;
  readonly coordinator = new Coordinator();
  leader = "1";
  readonly #asked = new Map<string, (asked: Asked) => void>();

  constructor(hooks: ConsumerGroupHooks) {
    const offsets = {};
    const cluster = {
      refreshMetadataIfNecessary: async () => undefined,
      findTopicPartitionMetadata: () => [{ partitionId: PARTITION, leader: this.leader }],
      committedOffsets: () => offsets,
      defaultOffset: () => -2,
      fetchTopicsOffset: async () => [{ topic: TOPIC, partitions: [at(0)] }],
      findBroker: async ({ nodeId }: { readonly nodeId: string }) => ({
        fetch: () =>
          new Promise<object>((answer, refuse) => this.#asked.get(nodeId)?.({ answer, refuse })),
      }),
    } as unknown as Cluster;
    const { partitionAssigners } = consumerGroupHooks(() => ({}) as Assigner, hooks);
    for (const hook of partitionAssigners) hook({ cluster, groupId: "g", logger: {} as Logger });

    const silent = () => undefined;
    const logger: object = { namespace: () => logger, debug: silent, info: silent, error: silent };
    const options = {
      cluster,
      groupId: "g",
      topics: [TOPIC],
      topicConfigurations: { [TOPIC]: {} },
      instrumentationEmitter: { emit: silent },
      logger,
      coordinator: this.coordinator,
      memberAssignment: { [TOPIC]: [PARTITION] },
      maxWaitTimeInMs: 10,
    };
    this.group = new Group(options);
    this.group.memberId = "m";
    this.group.coordinator = this.coordinator;
    this.group.subscriptionState.assign([{ topic: TOPIC, partitions: [PARTITION] }]);
    this.group.offsetManager = new OffsetManager(options);
  }

  /** A fetch loop asks its broker; each of the two gives what kafkajs makes of the answer. */
  async fetch(nodeId: string) {
    const asked = new Promise<Asked>((resolve) => this.#asked.set(nodeId, resolve));
    const fetched = this.group.fetch(nodeId);
    const { answer, refuse } = await asked;
    return {
      answered: (offsets: readonly number[], end = 1_000) => {
        const partitions = [
          {
            partition: PARTITION,
            highWatermark: `${end}`,
            abortedTransactions: [],
            messages: offsets.map(message),
          },
        ];
        answer({ responses: [{ topicName: TOPIC, partitions }] });
        return fetched;
      },
      outOfRange: () => {
        const where = { topic: TOPIC, partition: PARTITION };
        refuse(Object.assign(new Error("gone"), { name: "KafkaJSOffsetOutOfRange", ...where }));
        return fetched;
      },
    };
  }
}

function at(offset: number): object {
  return { partition: PARTITION, offset: `${offset}`, metadata: "" };
}

function message(offset: number): object {
  return { offset: `${offset}`, timestamp: "0", key: null, value: Buffer.from("v"), headers: {} };
}
