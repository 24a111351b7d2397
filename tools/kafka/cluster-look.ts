/** Reads the state of a cluster and triggers elections, for tests and benches. */

import { setTimeout as sleep } from "node:timers/promises";
import { type Reader, Writer } from "@platformatic/kafka";
import { Kafka, logLevel } from "kafkajs";
import { createLog } from "../../src/base/telemetry/log.ts";
import type { Broker } from "../../src/kafka/broker/broker-connection.ts";
import { encodedRequest } from "../../src/kafka/broker/request.ts";
import { Clients } from "../../src/kafka/cluster/connection.ts";
import { fetchMetadata } from "../../src/kafka/cluster/topic-metadata.ts";

/** The topic in which Kafka stores the committed offsets of groups. */
export const OFFSETS_TOPIC = "__consumer_offsets";

type KafkajsAdmin = ReturnType<Kafka["admin"]>;

/**
 * This is long enough for a busy machine, and shorter than the limit of a test, so that brokers that hang are reported.
 */
const KNOWN_LIMIT_MS = 110_000;
const STEP_MS = 100;
/** This is enough for brokers that restart. */
const CONNECT_TRIES = 9;
const CONNECT_LIMIT_MS = 5_000;
const CONNECT_AGAIN_MS = 1_000;
const ELECT_LEADERS = { apiKey: 43, apiName: "ElectLeaders", versions: [1] };
const PREFERRED = 0;
const ELECTION_LIMIT_MS = 10_000;
/** The preferred replica is already the leader. */
const ELECTION_NOT_NEEDED = 84;
/** The replica is restarting, or is not in sync yet. */
const PREFERRED_LEADER_NOT_AVAILABLE = 80;
const NOT_ELECTED: readonly number[] = [ELECTION_NOT_NEEDED, PREFERRED_LEADER_NOT_AVAILABLE];

export interface Replicas {
  readonly partition: number;
  /** Negative if there is no leader. */
  readonly leader: number;
  readonly replicas: readonly number[];
  readonly inSync: readonly number[];
}

export class ClusterLook {
  readonly #brokers: readonly string[];

  /** @param brokers plaintext addresses. */
  constructor(brokers: readonly string[]) {
    this.#brokers = brokers;
  }

  /** Returns the IDs of the running brokers. */
  async brokers(): Promise<readonly number[]> {
    const { brokers } = await this.#askBroker((broker) => fetchMetadata(broker, null));
    return brokers.map(({ nodeId }) => nodeId).sort((a, b) => a - b);
  }

  async untilKnown(brokers: number): Promise<void> {
    await this.#until(`${brokers} brokers`, async () => (await this.brokers()).length === brokers);
  }

  /** Returns an empty list if the topic does not exist. */
  async partitions(topic: string): Promise<readonly Replicas[]> {
    const { topics } = await this.#askBroker((broker) => fetchMetadata(broker, [topic]));
    return (topics[0]?.partitions ?? [])
      .map(({ partitionIndex, leaderId, replicaNodes, isrNodes }) => ({
        partition: partitionIndex,
        leader: leaderId,
        replicas: replicaNodes,
        inSync: isrNodes,
      }))
      .sort((one, other) => one.partition - other.partition);
  }

  /** Returns the ID of the broker that coordinates a group: Java's hash of the group's name determines the partition. */
  async coordinatorOf(group: string): Promise<number> {
    const partitions = await this.partitions(OFFSETS_TOPIC);
    let hash = 0;
    for (const character of group) hash = (Math.imul(31, hash) + character.charCodeAt(0)) | 0;
    return partitions[(hash & 0x7fff_ffff) % partitions.length]?.leader ?? -1;
  }

  /** Creates a topic whose partitions have exactly these replicas, the preferred one first. */
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

  /** Deletes the records before these offsets, like retention. */
  async deleteRecordsBefore(
    topic: string,
    offsets: readonly { readonly partition: number; readonly offset: number }[],
  ): Promise<void> {
    const partitions = offsets.map(({ partition, offset }) => ({ partition, offset: `${offset}` }));
    await this.#ask(async (admin) => {
      // kafkajs only finds the leaders of topics for which it has fetched metadata.
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions });
    });
  }

  /** Waits until all replicas of all partitions are in sync. */
  async untilInSync(topics: readonly string[]): Promise<void> {
    await this.#until(`in-sync replicas of ${topics.join(", ")}`, async () => {
      for (const topic of topics) {
        const all = await this.partitions(topic);
        if (all.some(({ replicas, inSync }) => inSync.length < replicas.length)) return false;
      }
      return true;
    });
  }

  /** Makes the first replica of each partition the leader again, if it is in sync. */
  async electPreferred(topic: string): Promise<void> {
    const partitions = (await this.partitions(topic)).map(({ partition }) => partition);
    await this.#askBroker((broker) => electLeaders(broker, topic, partitions));
  }

  /** Uses a new client each time, because the admin client of kafkajs cannot handle recreated topics. */
  async #ask<Result>(act: (admin: KafkajsAdmin) => Promise<Result>): Promise<Result> {
    const client = new Kafka({
      brokers: [...this.#brokers],
      connectionTimeout: CONNECT_LIMIT_MS,
      retry: { initialRetryTime: STEP_MS, maxRetryTime: CONNECT_AGAIN_MS, retries: CONNECT_TRIES },
      logLevel: logLevel.NOTHING,
    });
    const admin = client.admin();
    try {
      await admin.connect();
      return await act(admin);
    } finally {
      await admin.disconnect();
    }
  }

  /** Sends a request to a broker directly, because the admin client of kafkajs throws if a partition has no leader. */
  async #askBroker<Result>(act: (broker: Broker) => Promise<Result>): Promise<Result> {
    const sizes = { sessionTimeoutMs: 45_000, recordMaxBytes: () => 1_000_000 };
    const access = { clientId: "cluster-look", tls: null, sasl: null };
    const log = createLog("error", { write: () => undefined });
    const client = new Clients({ brokers: this.#brokers, ...access, ...sizes }, log).create();
    const connections = client.shared;
    try {
      for (let left = CONNECT_TRIES; ; left -= 1) {
        try {
          await connections.any(async () => undefined);
          break;
        } catch (error) {
          if (left === 1) throw error;
          await sleep(CONNECT_AGAIN_MS);
        }
      }
      return await connections.any(act);
    } finally {
      client.destroy();
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

/** Sends ElectLeaders version 1, which kafkajs does not support. Throws if the brokers reject it. */
async function electLeaders(
  broker: Broker,
  topic: string,
  partitions: readonly number[],
): Promise<void> {
  const plain = [false, false] as const;
  const encode = () => {
    const writePartition = (to: Writer, partition: number) => to.appendInt32(partition);
    const writeTopic = (to: Writer, name: string) =>
      to.appendString(name, false).appendArray([...partitions], writePartition, ...plain);
    return Writer.create()
      .appendInt8(PREFERRED)
      .appendArray([topic], writeTopic, ...plain)
      .appendInt32(ELECTION_LIMIT_MS).buffer;
  };
  const readPartition = (of: Reader) => {
    of.skip(4);
    const errorCode = of.readInt16();
    of.readNullableString(false);
    return errorCode;
  };
  const request = encodedRequest(ELECT_LEADERS, topic, encode, (reader) => ({
    throttleTimeMs: reader.readInt32(),
    code: reader.readInt16(),
    codes: reader.readArray(
      (of) => {
        of.readString(false);
        return of.readArray(readPartition, ...plain);
      },
      ...plain,
    ),
  }));
  const { code, codes } = await broker.send(request);
  const failed = [code, ...codes.flat()].find((each) => each !== 0 && !NOT_ELECTED.includes(each));
  if (failed !== undefined) throw new Error(`the election for ${topic} failed with code ${failed}`);
}
