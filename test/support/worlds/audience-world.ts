/** The audience stage with Kafka and stores in memory, on a clock that tests advance. */

import type { AudienceOptions, ConfiguredAudience } from "../../../src/domain/audience.ts";
import type { SourceId } from "../../../src/domain/ids.ts";
import type { IncomingRecord } from "../../../src/domain/record.ts";
import { groupNames, topicNames } from "../../../src/domain/topics.ts";
import type { Consumer, Kafka } from "../../../src/kafka/port.ts";
import type { Schemas } from "../../../src/registry/port.ts";
import { startAudience } from "../../../src/router/audience/stage.ts";
import type { KnownSuppressions } from "../../../src/router/suppression/known-suppressions.ts";
import { valueBytes } from "../build/calls.ts";
import { clockDriver } from "../clock/clock-driver.ts";
import { ManualClock } from "../clock/manual-clock.ts";
import { createPrng } from "../clock/prng.ts";
import { MemoryCluster, type MemoryKafka } from "../memory-kafka/memory-kafka.ts";
import { committedOffsets } from "./committed-offsets.ts";
import { MemoryStores } from "./memory-stores.ts";
import { closing, stageProcess } from "./stage-process.ts";

export const topics = topicNames("sw.");
const groups = groupNames("sw.");
/** The stage lets other work run between pieces, so the clock must not advance too fast. */
const DRIVER = { limitMs: 3_600_000, turns: 100 };
/** Longer than the time between two commits. */
const COMMIT_MS = 3_000;

export interface WorldOptions {
  readonly partitions?: number;
  readonly seed?: number;
  readonly audiences?: readonly ConfiguredAudience[];
  readonly defaults?: Partial<AudienceOptions>;
  readonly defaultSource?: string | null;
  /** How long each step of reading a topic takes. */
  readonly readMs?: number;
  readonly schemas?: Schemas;
  /** Size of a partition's room for arrivals. */
  readonly arrivalPieces?: number;
  /** False if the brokers do not support topic IDs. */
  readonly knowsIds?: () => boolean;
  readonly suppressions?: KnownSuppressions;
}

/** A call that was written for a user. */
export interface ReportedCall {
  readonly userId: string;
  readonly traits: Readonly<Record<string, unknown>>;
  readonly messageId: string;
  readonly timestamp: string;
  readonly integrations?: unknown;
}

export class AudienceWorld {
  readonly clock = new ManualClock();
  readonly #driver = clockDriver(this.clock, DRIVER);
  readonly until = this.#driver.until;
  readonly during = this.#driver.during;
  readonly cluster: MemoryCluster;
  readonly partitions: number;
  readonly #options: WorldOptions;
  /** Processes whose partitions belong to other processes, which they have not noticed yet. */
  readonly takenForDead = new Set<MemoryKafka>();
  /** The running processes, with their progress by partition. */
  readonly #processes = new Map<
    MemoryKafka,
    { readonly consumer: Consumer; readonly finished: ReadonlyMap<number, number> }
  >();

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.partitions = options.partitions ?? 1;
    const random = createPrng(options.seed ?? 7);
    this.cluster = new MemoryCluster({ clock: this.clock, random });
    for (const topic of [topics.audienceSyncs, topics.audienceMembers, topics.calls]) {
      this.cluster.createTopic(topic, this.partitions);
    }
    this.cluster.createTopic(topics.audiences, 1);
    this.cluster.createTopic(topics.deadLetters, 1);
  }

  /** Starts the stage in a separate process. */
  async start(stores = new MemoryStores()) {
    const own = stageProcess(this.cluster, this.clock);
    const { kafka } = own;
    const { audiences = [], defaults = {}, defaultSource = "web" } = this.#options;
    const { schemas, arrivalPieces, suppressions } = this.#options;
    const more = {
      ...(suppressions === undefined ? {} : { suppressions }),
      ...(schemas === undefined ? {} : { schemas }),
      ...(arrivalPieces === undefined ? {} : { arrivalPieces }),
    };
    const nothing = {
      source: null,
      integrations: null,
      approvalShare: null,
      approvalMinimum: null,
    };
    const stage = await startAudience(
      { ...own.deps, ...more, kafka: this.#watched(kafka), stores },
      {
        topics,
        groups,
        audiences,
        audienceDefaults: { ...nothing, ...defaults },
        defaultSource: defaultSource as SourceId | null,
        maxBytes: 8_000_000,
        drainLimitMs: 10_000,
      },
    );
    const close = () => {
      this.#processes.delete(kafka);
      return closing(stage, own.producer, this);
    };
    const kill = () => {
      this.#processes.delete(kafka);
      kafka.kill();
      stores.release();
    };
    return { ...own, stage, stores, close, kill };
  }

  /** @param key by default, the audience's ID or, if there is none, the user's. */
  append(
    value: Readonly<Record<string, unknown>> | string | Buffer,
    partition?: number,
  ): IncomingRecord {
    const isJson = typeof value === "object" && !Buffer.isBuffer(value);
    const key = isJson ? String(value.audienceId ?? value.userId ?? "") : "";
    const record = {
      topic: topics.audienceSyncs,
      key: Buffer.from(key),
      value: Buffer.isBuffer(value) ? value : valueBytes(value),
      headers: [],
    };
    return this.cluster.append(partition === undefined ? record : { ...record, partition });
  }

  /** Writes a complete sync. */
  sync(audienceId: string, syncId: string, userIds: readonly string[], audienceName = audienceId) {
    this.append({ type: "begin", audienceId, audienceName, syncId });
    for (let from = 0; from < userIds.length; from += 3) {
      this.append({ type: "members", audienceId, syncId, userIds: userIds.slice(from, from + 3) });
    }
    return this.append({ type: "end", audienceId, syncId, count: new Set(userIds).size });
  }

  /** Deletes `audience-syncs` and recreates it, empty. No process may run. */
  async makeSyncsAnew(): Promise<void> {
    const { admin } = this.cluster.connect();
    await this.during(admin.deleteTopics([topics.audienceSyncs]));
    this.cluster.createTopic(topics.audienceSyncs, this.partitions);
  }

  calls(): readonly ReportedCall[] {
    return this.cluster.records(topics.calls).map(({ value }) => JSON.parse(`${value}`));
  }

  /** Short forms of the calls from `from` on: `u1 vip=true`. */
  reported(from = 0): readonly string[] {
    return this.calls()
      .slice(from)
      .map(({ userId, traits }) => {
        const [[trait, value] = []] = Object.entries(traits);
        return `${userId} ${trait}=${JSON.stringify(value)}`;
      });
  }

  deadLetters(): readonly string[] {
    return this.cluster.records(topics.deadLetters).map(({ headers }) => {
      const header = (name: string) =>
        headers.find(([each]) => each === `switchyard-${name}`)?.[1]?.toString();
      return `${header("offset")} ${header("reason")}: ${header("error")}`;
    });
  }

  committed(): Promise<readonly number[]> {
    return committedOffsets(this, groups.audience, topics.audienceSyncs);
  }

  /** Advances the clock until all records so far are processed, and committed if possible. */
  async settle(): Promise<void> {
    const all = [...Array(this.partitions).keys()];
    await this.until(() =>
      all.every((partition) => {
        const end = this.cluster.endOf(topics.audienceSyncs, partition);
        return [...this.#processes.values()].some(({ finished, consumer }) => {
          const owned = consumer.progress().find((each) => each.partition === partition);
          if (owned === undefined) return false;
          return owned.position === end || finished.get(partition) === end;
        });
      }),
    );
    await this.clock.advance(COMMIT_MS);
  }

  async *#slowly<Step>(steps: AsyncIterable<Step>): AsyncGenerator<Step, void, undefined> {
    const { readMs = 0 } = this.#options;
    for await (const step of steps) {
      if (readMs > 0) await this.clock.sleep(readMs, new AbortController().signal);
      yield step;
    }
  }

  #watched(kafka: MemoryKafka): Kafka {
    return {
      admin: kafka.admin,
      read: (range) => this.#slowly(kafka.read(range)),
      follow: (range) => kafka.follow(range),
      corruptionAt: () => kafka.corruptionAt(),
      commitAsMember: () => kafka.commitAsMember(),
      watch: () => kafka.watch(),
      producer: () => kafka.producer(),
      close: () => kafka.close(),
      consume: (options) => {
        const finished = new Map<number, number>();
        const consumer = kafka.consume({
          ...options,
          onAssigned: (assigned) => {
            const { partition } = assigned;
            return options.onAssigned({
              ...assigned,
              topicId: () => ((this.#options.knowsIds?.() ?? true) ? assigned.topicId() : ""),
              isOurs: async () => !this.takenForDead.has(kafka) && (await assigned.isOurs()),
              finish: (offset) => {
                finished.set(partition, Math.max(finished.get(partition) ?? 0, offset + 1));
                assigned.finish(offset);
              },
            });
          },
        });
        this.#processes.set(kafka, { consumer, finished });
        return consumer;
      },
    };
  }
}
