/** What brokers say of their cluster, and elections: for tests, benches and people. */

import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fetchMetadata } from "../../src/kafka/cluster/topic-metadata.ts";
import {
  createClient,
  type DriverAdmin,
  type DriverClient,
} from "../../src/kafka/kafkajs/client.ts";
import { type Broker, Decoder, Encoder, sendRequest } from "../../src/kafka/kafkajs/internals.ts";

/** For brokers that hang, not for a machine that is busy; less than the limit of a test. */
const KNOWN_LIMIT_MS = 110_000;
const STEP_MS = 100;
const ELECT_LEADERS = 43;
const PREFERRED = 0;
const ELECTION_LIMIT_MS = 10_000;
/** The leader is the preferred one already. */
const ELECTION_NOT_NEEDED = 84;
/** It restarts, or is not in sync yet. */
const PREFERRED_LEADER_NOT_AVAILABLE = 80;
const NOT_ELECTED: readonly number[] = [ELECTION_NOT_NEEDED, PREFERRED_LEADER_NOT_AVAILABLE];

export interface Replicas {
  readonly partition: number;
  /** Below 0: none. */
  readonly leader: number;
  readonly replicas: readonly number[];
  readonly inSync: readonly number[];
}

export class ClusterLook {
  readonly #client: DriverClient;

  /** @param brokers plaintext addresses. */
  constructor(brokers: readonly string[]) {
    this.#client = createClient({
      brokers,
      clientId: "cluster-look",
      tls: undefined,
      sasl: undefined,
      openSocket: ({ host, port, onConnect }) => connect({ host, port }, onConnect),
      isDebug: false,
      onLog: () => undefined,
    });
  }

  /** Ids of the brokers that are up. */
  async brokers(): Promise<readonly number[]> {
    const { brokers } = await this.#askBroker((broker) => fetchMetadata(broker, null));
    return brokers.map(({ nodeId }) => nodeId).sort((a, b) => a - b);
  }

  async untilKnown(brokers: number): Promise<void> {
    await this.#until(`${brokers} brokers`, async () => (await this.brokers()).length === brokers);
  }

  /** Empty when there is no such topic. */
  async partitions(topic: string): Promise<readonly Replicas[]> {
    const { topicMetadata } = await this.#askBroker((broker) => fetchMetadata(broker, [topic]));
    return (topicMetadata[0]?.partitionMetadata ?? [])
      .map(({ partitionId, leader, replicas, isr }) => ({
        partition: partitionId,
        leader,
        replicas,
        inSync: isr,
      }))
      .sort((one, other) => one.partition - other.partition);
  }

  /** Makes a topic whose partitions have exactly these replicas; the first one is preferred. */
  async create(topic: string, replicas: readonly (readonly number[])[]): Promise<void> {
    const replicaAssignment = replicas.map((each, partition) => ({
      partition,
      replicas: [...each],
    }));
    await this.#ask((admin) =>
      admin.createTopics({ topics: [{ topic, replicaAssignment }], waitForLeaders: true }),
    );
  }

  async addPartitions(topic: string, count: number): Promise<void> {
    await this.#ask((admin) =>
      admin.createPartitions({ topicPartitions: [{ topic, count }], timeout: ELECTION_LIMIT_MS }),
    );
  }

  /** Deletes what lies before these offsets, as retention does. */
  async deleteRecordsBefore(
    topic: string,
    offsets: readonly { readonly partition: number; readonly offset: number }[],
  ): Promise<void> {
    const partitions = offsets.map(({ partition, offset }) => ({ partition, offset: `${offset}` }));
    await this.#ask(async (admin) => {
      // It looks for the leaders of topics alone that it has been asked about before.
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions });
    });
  }

  /** All copies of all partitions are in sync. */
  async untilInSync(topics: readonly string[]): Promise<void> {
    await this.#until(`copies of ${topics.join(", ")} in sync`, async () => {
      for (const topic of topics) {
        const all = await this.partitions(topic);
        if (all.some(({ replicas, inSync }) => inSync.length < replicas.length)) return false;
      }
      return true;
    });
  }

  /** Makes the first replica of each partition its leader again, where it is in sync. */
  async electPreferred(topic: string): Promise<void> {
    const partitions = (await this.partitions(topic)).map(({ partition }) => partition);
    await this.#askBroker((broker) => electLeaders(broker, topic, partitions));
  }

  /** A new one each time: kafkajs' admin does not get over topics that were made anew. */
  async #ask<Answer>(act: (admin: DriverAdmin) => Promise<Answer>): Promise<Answer> {
    const admin = this.#client.admin();
    try {
      await admin.connect();
      return await act(admin);
    } finally {
      await admin.disconnect();
    }
  }

  /** kafkajs' admin throws where a partition has no leader. */
  async #askBroker<Answer>(act: (broker: Broker) => Promise<Answer>): Promise<Answer> {
    const pool = this.#client.brokerPool();
    try {
      await pool.connect();
      return await act(pool.seedBroker);
    } finally {
      await pool.disconnect();
    }
  }

  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const untilMs = performance.now() + KNOWN_LIMIT_MS;
    let last: unknown = null;
    while (performance.now() < untilMs) {
      try {
        if (await isSo()) return;
      } catch (error) {
        last = error;
      }
      await sleep(STEP_MS);
    }
    throw new Error(`no ${what} within ${KNOWN_LIMIT_MS / 1_000} s`, { cause: last });
  }
}

/** ElectLeaders version 1, which kafkajs lacks. Throws when the brokers refuse. */
async function electLeaders(
  broker: Broker,
  topic: string,
  partitions: readonly number[],
): Promise<void> {
  const one = (partition: number) => new Encoder().writeInt32(partition);
  const ofTopic = new Encoder().writeString(topic).writeArray(partitions.map(one));
  const payload = await sendRequest<Buffer>(broker, {
    request: {
      apiKey: ELECT_LEADERS,
      apiVersion: 1,
      apiName: "ElectLeaders",
      encode: async () =>
        new Encoder().writeInt8(PREFERRED).writeArray([ofTopic]).writeInt32(ELECTION_LIMIT_MS),
    },
    response: { decode: async (buffer) => buffer },
  });
  const decoder = new Decoder(payload);
  decoder.readInt32();
  const code = decoder.readInt16();
  const codes = decoder.readArray((ofOne) => {
    ofOne.readString();
    return ofOne.readArray((result) => {
      result.readInt32();
      const errorCode = result.readInt16();
      result.readString();
      return errorCode;
    });
  });
  const failed = [code, ...codes.flat()].find((each) => each !== 0 && !NOT_ELECTED.includes(each));
  if (failed !== undefined) throw new Error(`the election for ${topic} failed with code ${failed}`);
}
