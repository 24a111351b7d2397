/** The audience stage on a real Kafka, with separate topics for syncs and calls. */

import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../src/base/runtime/clock.ts";
import { createMetrics } from "../../../src/base/telemetry/instruments.ts";
import { createLog } from "../../../src/base/telemetry/log.ts";
import type { SourceId } from "../../../src/domain/ids.ts";
import { groupNames, topicNames } from "../../../src/domain/topics.ts";
import { startAudience } from "../../../src/router/audience/stage.ts";
import { levelStores } from "../../../src/router/audience/store/owned-store.ts";
import { uniquePrefix } from "../build/prefix.ts";
import { readTopic } from "../kit/kafka.ts";
import { until } from "../kit/until.ts";
import { testKafka } from "./test-kafka.ts";

function connect() {
  const recordMaxBytes = () => 1_048_576;
  return testKafka({ sessionTimeoutMs: 6_000, recordMaxBytes });
}

export interface Reported {
  readonly userId: string;
  readonly trait: string;
  readonly value: unknown;
  readonly messageId: string;
}

export class AudienceOnKafka {
  readonly prefix = uniquePrefix("audience");
  readonly topics = topicNames(this.prefix);
  readonly directory = join(tmpdir(), `${this.prefix}state`);
  readonly kafka = connect();
  readonly #producer = this.kafka.producer();
  readonly partitions: number;

  constructor(partitions = 1) {
    this.partitions = partitions;
  }

  async create(): Promise<void> {
    const { calls, audienceSyncs, audienceMembers, audiences, deadLetters } = this.topics;
    const topic = (name: string, partitions: number, config: Record<string, string> = {}) => ({
      name,
      partitions,
      replicationFactor: 1,
      config,
    });
    const compacted = { "cleanup.policy": "compact" };
    await this.kafka.admin.create([
      topic(calls, 1),
      topic(audienceSyncs, this.partitions),
      topic(audienceMembers, this.partitions, compacted),
      topic(audiences, 1, compacted),
      topic(deadLetters, 1),
    ]);
  }

  /** Deletes `audience-syncs` and recreates it, empty. */
  async makeSyncsAnew(): Promise<void> {
    const { admin } = this.kafka;
    const name = this.topics.audienceSyncs;
    await admin.deleteTopics([name]);
    // The controller has deleted the topic, but the broker that lists topics gets this change later.
    const isDeleted = async () => !(await admin.topics()).includes(name);
    if (!(await until(isDeleted, { limitMs: 30_000 }))) throw new Error(`${name} is still listed`);
    await admin.create([{ name, partitions: this.partitions, replicationFactor: 1, config: {} }]);
  }

  /** Starts the stage in this process, and stores its log lines. */
  async start(directory = this.directory) {
    const kafka = connect();
    const producer = kafka.producer();
    const lines: Record<string, unknown>[] = [];
    const failures: Error[] = [];
    const nothing = {
      source: null,
      integrations: null,
      approvalShare: null,
      approvalMinimum: null,
    };
    const stage = await startAudience(
      {
        kafka,
        producer,
        clock: systemClock,
        metrics: createMetrics(),
        stores: levelStores(directory),
        log: createLog("debug", { write: (line) => lines.push(JSON.parse(line)) }),
        onFatal: (error) => failures.push(error),
      },
      {
        topics: this.topics,
        groups: groupNames(this.prefix),
        audiences: [],
        audienceDefaults: nothing,
        defaultSource: "web" as SourceId,
        maxBytes: 8_000_000,
        drainLimitMs: 10_000,
      },
    );
    const stop = async () => {
      await stage[Symbol.asyncDispose]();
      await producer.close(5_000);
      await kafka.close();
      if (failures[0] !== undefined) throw failures[0];
    };
    return { lines, stop };
  }

  async write(records: readonly Readonly<Record<string, unknown>>[]): Promise<void> {
    const topic = this.topics.audienceSyncs;
    await this.#producer.send(
      records.map((record) => ({
        topic,
        key: Buffer.from(String(record.audienceId ?? record.userId)),
        value: Buffer.from(JSON.stringify(record)),
        headers: [],
      })),
    );
  }

  /** Writes a complete sync of the users, in pieces. */
  sync(audienceId: string, syncId: string, userIds: readonly string[], piece = 500): Promise<void> {
    const records: Record<string, unknown>[] = [];
    records.push({ type: "begin", audienceId, audienceName: audienceId, syncId });
    for (let from = 0; from < userIds.length; from += piece) {
      const some = userIds.slice(from, from + piece);
      records.push({ type: "members", audienceId, syncId, userIds: some });
    }
    records.push({ type: "end", audienceId, syncId, count: userIds.length });
    return this.write(records);
  }

  async reported(from = 0): Promise<readonly Reported[]> {
    const records = await readTopic(this.kafka, this.topics.calls);
    return records.slice(from).flatMap(({ value }) => {
      const { userId, traits, messageId } = JSON.parse(`${value}`);
      return Object.entries(traits).map(([trait, each]) => {
        return { userId, trait, value: each, messageId };
      });
    });
  }

  /** The entries that compaction would keep of the changelog's first partition. */
  async changelog(): Promise<ReadonlyMap<string, string>> {
    const left = new Map<string, string>();
    for (const { partition, key, value } of await readTopic(
      this.kafka,
      this.topics.audienceMembers,
    )) {
      if (partition !== 0) continue;
      if (value === null) left.delete(`${key}`);
      else left.set(`${key}`, `${value}`);
    }
    return left;
  }

  /** Resolves when the group has committed all records. */
  async settled(): Promise<void> {
    const { admin } = this.kafka;
    const topic = this.topics.audienceSyncs;
    const group = groupNames(this.prefix).audience;
    for (;;) {
      const ends = await admin.offsets(topic);
      const committed = new Map(
        (await admin.committed(group, topic)).map(({ partition, offset }) => [partition, offset]),
      );
      if (ends.every(({ partition, end }) => end === 0 || committed.get(partition) === end)) return;
    }
  }

  async close(): Promise<void> {
    const existing = await this.kafka.admin.topics();
    await this.kafka.admin.deleteTopics(existing.filter((name) => name.startsWith(this.prefix)));
    await this.#producer.close(1_000);
    await this.kafka.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}
