/**
 * Two brokers for a producer, without sockets. They check the numbers of batches like Kafka, which counts a batch as
 * already written if its ID and sequence numbers are those of one of the last five batches of the partition.
 */

import type { OutgoingRecord } from "../../../src/domain/record.ts";
import type { BrokerAddress } from "../../../src/kafka/broker/address.ts";
import type { Request } from "../../../src/kafka/broker/request.ts";
import type { Clients } from "../../../src/kafka/cluster/connection.ts";
import { KafkaProducer } from "../../../src/kafka/produce/producer.ts";

export const NODES = [1, 2] as const;
const KNOWN_BATCHES = 5;
const OUT_OF_ORDER = 45;
const UNKNOWN_TOPIC = 3;

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

interface Produced {
  readonly acks: number;
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly PartitionData[];
  }[];
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
      shared: { any: (send: (broker: object) => unknown) => send(this.#broker(NODES[0])) },
      createBroker: ({ host }: BrokerAddress) => this.#broker(Number(host.replace("node-", ""))),
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

  #broker(nodeId: number): object {
    let isUp = false;
    const broker = {
      versions: {},
      open: async () => {
        if (isUp) return broker;
        this.connecting += 1;
        await this.reachable.get(nodeId);
        this.connecting -= 1;
        isUp = true;
        return broker;
      },
      close: () => {
        isUp = false;
      },
      leave: () => undefined,
      send: (request: Request<unknown>) => this.#respond(nodeId, request),
    };
    return broker;
  }

  async #respond(nodeId: number, { kind, args }: Request<unknown>): Promise<unknown> {
    if (kind.apiName === "Metadata") return this.#metadata(args[0] as readonly string[]);
    if (kind.apiName === "InitProducerId") {
      if (this.idFailures > 0) {
        this.idFailures -= 1;
        throw new Error("no id now");
      }
      this.ids += 1;
      return { errorCode: 0, producerId: BigInt(this.ids), producerEpoch: 0 };
    }
    if (kind.apiName !== "Produce") throw new Error(`an unexpected request: ${kind.apiName}`);
    const options = args[0] as Produced;
    this.acks.add(options.acks);
    const finalState = this.finalStates.get(nodeId)?.shift() ?? {};
    const responses = options.topicData.map(({ topic, partitions }) => ({
      name: topic,
      partitionResponses: partitions.flatMap((data) => {
        const errorCode = finalState.isIgnored ? 0 : this.#take(data);
        if (finalState.isSkipped) return [];
        return {
          index: data.partition,
          errorCode: finalState.errorCode ?? errorCode,
          logAppendTimeMs: -1n,
        };
      }),
    }));
    await finalState.after;
    if (finalState.isCut) throw new Error("the connection is closed");
    return { responses };
  }

  #metadata(topics: readonly string[]): unknown {
    this.metadataRequests += 1;
    return {
      brokers: NODES.map((nodeId) => ({ nodeId, host: `node-${nodeId}`, port: 9092 })),
      topics: topics.map((name) => ({
        name,
        errorCode: this.isTopicMissing ? UNKNOWN_TOPIC : 0,
        partitions: (this.isTopicMissing ? [] : this.leaders).map((leaderId, partitionIndex) => ({
          ...{ partitionIndex, leaderId, replicaNodes: [], isrNodes: [] },
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
