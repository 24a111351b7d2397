/**
 * kafkajs' own `ConsumerGroup` with one partition. Brokers respond to a fetch when the test requests it, so that a
 * response can be late.
 */

import type { Cluster, ConsumerConfig, Logger } from "kafkajs";

import type { ConsumerGroup } from "../../../src/kafka/kafkajs/consumer-group.ts";
import { AssignerProtocol, loadInternal } from "../../../src/kafka/kafkajs/kafkajs.ts";

export const TOPIC = "t";
export const PARTITION = 0;

const Group = loadInternal("src/consumer/consumerGroup.js") as new (
  options: object,
) => ConsumerGroup;

interface CommitRequest {
  readonly topics: readonly { readonly partitions: readonly { readonly offset: string }[] }[];
}

/** The group's coordinator, with all commits. */
class Coordinator {
  readonly commits: number[] = [];
  readonly versions = {};
  heartbeats = 0;
  /** Called before the coordinator responds. */
  onSync: () => void = () => undefined;
  onHeartbeat: () => void | Promise<void> = () => undefined;
  onCommit: () => Promise<void> = async () => undefined;

  isConnected(): boolean {
    return true;
  }

  async joinGroup(): Promise<object> {
    return { generationId: 1, leaderId: "another", memberId: "m", members: [] };
  }

  async syncGroup(): Promise<object> {
    this.onSync();
    const assignment = { [TOPIC]: [PARTITION] };
    const { MemberAssignment } = AssignerProtocol;
    const userData = Buffer.alloc(0);
    return { memberAssignment: MemberAssignment.encode({ version: 0, assignment, userData }) };
  }

  async heartbeat(): Promise<void> {
    this.heartbeats += 1;
    await this.onHeartbeat();
  }

  async offsetFetch(): Promise<object> {
    return { responses: [{ topic: TOPIC, partitions: [at(this.commits.at(-1) ?? 0)] }] };
  }

  async offsetCommit({ topics }: CommitRequest): Promise<void> {
    await this.onCommit();
    this.commits.push(Number(topics[0]?.partitions[0]?.offset));
  }
}

interface FetchRequest {
  readonly topics: readonly { readonly partitions: readonly { readonly maxBytes: number }[] }[];
}

/** A fetch that has no response yet. */
interface Asked {
  readonly request: FetchRequest;
  readonly answer: (response: object) => void;
  readonly refuse: (error: Error) => void;
}

export class GroupWorld {
  readonly group: ConsumerGroup;
  readonly coordinator = new Coordinator();
  leader = "1";
  /** Called when the group requests the metadata of its topics. */
  onRefresh: () => void = () => undefined;
  readonly #asked = new Map<string, (asked: Asked) => void>();

  /** @param emit called with events such as `consumer.group_join`. */
  constructor(
    { partitionAssigners = [] }: Pick<ConsumerConfig, "partitionAssigners">,
    emit: (event: string, payload: unknown) => void = () => undefined,
  ) {
    const offsets = {};
    const cluster = {
      refreshMetadata: async () => this.onRefresh(),
      refreshMetadataIfNecessary: async () => undefined,
      findGroupCoordinator: async () => this.coordinator,
      findTopicPartitionMetadata: () => [{ partitionId: PARTITION, leader: this.leader }],
      committedOffsets: () => offsets,
      defaultOffset: () => -2,
      fetchTopicsOffset: async () => [{ topic: TOPIC, partitions: [at(0)] }],
      findBroker: async ({ nodeId }: { readonly nodeId: string }) => ({
        fetch: (request: FetchRequest) =>
          new Promise<object>((answer, refuse) =>
            this.#asked.get(nodeId)?.({ request, answer, refuse }),
          ),
      }),
    } as unknown as Cluster;
    const assigners = partitionAssigners.map((create) =>
      create({ cluster, groupId: "g", logger: {} as Logger }),
    );
    const silent = () => undefined;
    const logger: object = { namespace: () => logger, debug: silent, info: silent, error: silent };
    this.group = new Group({
      cluster,
      groupId: "g",
      topics: [TOPIC],
      topicConfigurations: { [TOPIC]: {} },
      assigners,
      instrumentationEmitter: { emit },
      logger,
      maxWaitTimeInMs: 10,
    });
  }

  /**
   * A fetch loop sends a request to its broker. Each of the three functions returns the result that kafkajs creates
   * from the response.
   */
  async fetch(nodeId: string) {
    const asked = new Promise<Asked>((resolve) => this.#asked.set(nodeId, resolve));
    const fetched = this.group.fetch(nodeId);
    const { request, answer, refuse } = await asked;
    return {
      asked: request,
      fetched,
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
      failed: (error: Error) => {
        refuse(error);
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
