/**
 * Two brokers for a producer, without sockets. They check the numbers of batches like Kafka, which counts a batch as
 * already written if its ID and sequence numbers are those of one of the last five batches of the partition.
 */

import type { OutgoingRecord } from "../../../src/domain/record.ts";
import type { Clients } from "../../../src/kafka/cluster/connection.ts";
import type { Address } from "../../../src/kafka/kafkajs/address.ts";
import type { Broker } from "../../../src/kafka/kafkajs/internals.ts";
import { KafkaProducer } from "../../../src/kafka/produce/producer.ts";

export const NODES = [1, 2] as const;
const KNOWN_BATCHES = 5;
const OUT_OF_ORDER = 45;
const UNKNOWN_TOPIC = 3;
const API = { Produce: 0, Metadata: 3, InitProducerId: 22 };

/** How a node handles a partition's batch. */
export interface FinalState {
  /** If true, the batch is neither written nor rejected because of its sequence number. */
  readonly isIgnored?: boolean;
  /** The error code to return instead of the normal response. */
  readonly errorCode?: number;
  /** If true, the response does not contain the partition. */
  readonly isSkipped?: boolean;
  /** If true, the connection breaks before the response. */
  readonly isCut?: boolean;
  /** The response waits for this promise. */
  readonly after?: Promise<void>;
}

export interface SentBatch {
  readonly partition: number;
  readonly id: string;
  readonly sequence: number;
  readonly values: readonly string[];
}

interface PartitionData {
  readonly partition: number;
  readonly producerId: string;
  readonly firstSequence: number;
  readonly messages: readonly OutgoingRecord[];
}

interface Request {
  readonly apiKey: number;
  readonly options: {
    readonly acks: number;
    readonly topics: readonly string[];
    readonly topicData: readonly {
      readonly topic: string;
      readonly partitions: readonly PartitionData[];
    }[];
  };
}

export class NumberingCluster {
  /** Leaders by partition; -1 if there is none. */
  readonly leaders: number[] = [...NODES];
  isTopicMissing = false;
  /** By node, the handling of its next Produce requests. Later requests succeed. */
  readonly finalStates = new Map<number, FinalState[]>();
  /** By node, a promise for which connecting waits. */
  readonly reachable = new Map<number, Promise<void>>();
  /** Values by partition, in order. */
  readonly written: string[][] = NODES.map(() => []);
  readonly sent: SentBatch[] = [];
  /** The acknowledgments that Produce requests have requested. */
  readonly acks = new Set<number>();
  /** Log lines that are written once a minute, each time that they are due. */
  readonly warned: { readonly msg: string; readonly fields: object }[] = [];
  metadataRequests = 0;
  ids = 0;
  /** Number of requests for a producer ID that will fail. */
  idFailures = 0;
  /** Log lines about problems. */
  readonly healthProblems: { readonly msg: string; readonly fields: object }[] = [];
  /** Number of attempts to connect that are waiting. */
  connecting = 0;
  readonly producer: KafkaProducer;
  readonly #known = new Map<string, { readonly first: number; readonly last: number }[]>();

  constructor() {
    const client = {
      shared: { any: (send: (broker: Broker) => unknown) => send(this.#broker(NODES[0])) },
      createBroker: ({ host }: Address) => this.#broker(Number(host.replace("node-", ""))),
      destroy: () => undefined,
    };
    const clients = {
      createForRecords: () => client,
      outages: {
        warnOnce: (_text: string, fields: object, msg: string) => this.warned.push({ msg, fields }),
        warnUnlessOutage: (_text: string, fields: object, msg: string) =>
          this.healthProblems.push({ msg, fields }),
      },
      connection: {
        ...{ brokers: ["broker:9092"], tls: null, sasl: null },
        recordMaxBytes: () => 1_000_000,
      },
      // Tests replace this function.
      clock: { nowMs: () => Date.now() },
    };
    this.producer = new KafkaProducer(clients as unknown as Clients);
  }

  /** Sends a record for each value. */
  send(partition: number, ...values: string[]) {
    return this.producer.send(
      values.map((value) => ({
        topic: "t",
        partition,
        key: null,
        value: Buffer.from(value),
        headers: [],
      })),
    );
  }

  #broker(nodeId: number): Broker {
    let isUp = false;
    return {
      versions: null,
      isConnected: () => isUp,
      connect: async () => {
        this.connecting += 1;
        await this.reachable.get(nodeId);
        this.connecting -= 1;
        isUp = true;
      },
      disconnect: () => {
        isUp = false;
        return Promise.resolve();
      },
      protocolOf: (name, options) => ({
        request: { apiKey: API[name as keyof typeof API], options },
        response: { decode: () => Promise.resolve() },
      }),
      connectionPool: {
        host: "broker",
        port: 9092,
        pool: [],
        send: ({ request }) => this.#respond(nodeId, request as unknown as Request),
      },
    };
  }

  async #respond(nodeId: number, { apiKey, options }: Request): Promise<unknown> {
    if (apiKey === API.Metadata) return this.#metadata(options.topics);
    if (apiKey === API.InitProducerId) {
      if (this.idFailures > 0) {
        this.idFailures -= 1;
        throw new Error("no id now");
      }
      this.ids += 1;
      return { errorCode: 0, producerId: `${this.ids}`, producerEpoch: 0 };
    }
    if (apiKey !== API.Produce) throw new Error(`an unexpected request: ${apiKey}`);
    this.acks.add(options.acks);
    const finalState = this.finalStates.get(nodeId)?.shift() ?? {};
    const topics = options.topicData.map(({ topic, partitions }) => ({
      topicName: topic,
      partitions: partitions.flatMap((data) => {
        const errorCode = finalState.isIgnored ? 0 : this.#take(data);
        if (finalState.isSkipped) return [];
        return { partition: data.partition, errorCode: finalState.errorCode ?? errorCode };
      }),
    }));
    await finalState.after;
    if (finalState.isCut) throw new Error("the connection is closed");
    return { topics };
  }

  #metadata(topics: readonly string[]): unknown {
    this.metadataRequests += 1;
    return {
      brokers: NODES.map((nodeId) => ({ nodeId, host: `node-${nodeId}`, port: 9092 })),
      topicMetadata: topics.map((topic) => ({
        topic,
        topicErrorCode: this.isTopicMissing ? UNKNOWN_TOPIC : 0,
        partitionMetadata: (this.isTopicMissing ? [] : this.leaders).map((leader, partitionId) => ({
          partitionId,
          leader,
          replicas: [],
        })),
      })),
    };
  }

  #take({ partition, producerId, firstSequence, messages }: PartitionData): number {
    const values = messages.map(({ value }) => `${value}`);
    this.sent.push({ partition, id: producerId, sequence: firstSequence, values });
    const batch = { first: firstSequence, last: firstSequence + values.length - 1 };
    const key = `${producerId} ${partition}`;
    const known = this.#known.get(key) ?? [];
    if (known.some(({ first, last }) => first === batch.first && last === batch.last)) return 0;
    if (batch.first !== (known.at(-1)?.last ?? -1) + 1) return OUT_OF_ORDER;
    this.#known.set(key, [...known, batch].slice(-KNOWN_BATCHES));
    this.written[partition]?.push(...values);
    return 0;
  }
}
