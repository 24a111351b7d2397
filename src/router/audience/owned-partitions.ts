/**
 * The partitions of `audience-syncs` that this process owns, each with its store and its changelog, and what they share:
 * the writers, the registry of audiences, the settings, and the failures of stores.
 */

import { randomUUID } from "node:crypto";
import { setImmediate as otherWork } from "node:timers/promises";
import type { TopicNames } from "../../domain/topics.ts";
import { type AssignedPartition, type PartitionHandler, partitionOfKey } from "../../kafka/port.ts";
import type { Fail } from "../stage/consuming-stage.ts";
import { deadLetterWriter } from "../stage/dead-letter-writer.ts";
import type { StageDeps } from "../stage/running-stage.ts";
import { type TopicReader, topicReader } from "../stage/topic-reader.ts";
import { watchedWriter } from "../stage/watched-writer.ts";
import { type AudienceConfiguration, settingsOf } from "./audience-settings.ts";
import { type Changelog, type OpenDeps, type Ownership, openPartition } from "./open-partition.ts";
import type { PartitionState } from "./partition-state.ts";
import { PartitionWork } from "./partition-work.ts";
import type { Writer } from "./ports.ts";
import { createRegistry } from "./registry.ts";
import {
  approvalProblems,
  audienceEvents,
  audiencesOf,
  type RestoreProgress,
  restoreProblems,
} from "./report.ts";
import { FailedStores, type OwnedStore, ownStore, type Stores } from "./store/owned-store.ts";

const stage = "audience";
const PROGRESS_EVERY_MS = 5_000;

export interface AudienceDeps extends StageDeps {
  readonly stores: Stores;
  /**
   * For each partition, the limit of memory for users who join in open syncs, as a number of pieces
   * (`seen-members.ts`).
   */
  readonly arrivalPieces?: number;
}

export class OwnedPartitions {
  /** By partition. `own` adds one, and its `drain` removes it. */
  readonly works = new Map<number, PartitionWork>();
  readonly failed = new FailedStores();
  readonly #deps: AudienceDeps;
  readonly #topics: TopicNames;
  readonly #stopping: AbortSignal;
  readonly #reader: TopicReader;
  readonly #shared;
  readonly #endSuppressions: (() => void) | undefined;
  /** Partitions whose changelog is being read. */
  readonly #reading = new Map<number, RestoreProgress>();
  /** Stores of revoked partitions that are still being closed. */
  readonly #closing = new Map<number, Promise<void>>();
  #settings: ReturnType<typeof settingsOf>;

  /** @param stopping ends the reading of changelogs. */
  constructor(
    deps: AudienceDeps,
    config: AudienceConfiguration & { readonly topics: TopicNames },
    stopping: AbortSignal,
  ) {
    const { kafka, clock, metrics, producer } = deps;
    const { topics } = config;
    this.#deps = deps;
    this.#topics = topics;
    this.#stopping = stopping;
    this.#settings = settingsOf(config);
    this.#reader = topicReader(kafka, clock, stopping);
    const { suppressions } = deps;
    const suppressed = metrics.suppressed.bind({ stage, destination: "" });
    this.#endSuppressions = suppressions?.onChange((userId) => {
      for (const work of this.works.values()) work.forget(userId);
    });
    const recordsOut = metrics.recordsOut.bind({ stage });
    const writer = watchedWriter(producer, clock, (records) => recordsOut.inc(records));
    this.#shared = {
      writer,
      deadLetterWriter: deadLetterWriter(deps, stage, topics.deadLetters),
      registry: registryOn(topics, writer, this.#reader),
      settingsNow: () => this.#settings,
      events: audienceEvents(deps),
      callsTopic: topics.calls,
      isSuppressed: (userId: string) => {
        const isSuppressed = suppressions?.isSuppressed(userId) ?? false;
        if (isSuppressed) suppressed.inc();
        return isSuppressed;
      },
      nowMs: () => clock.nowMs(),
      otherWork: () => otherWork(),
    };
  }

  own(assigned: AssignedPartition, fail: Fail): PartitionHandler {
    const { partition } = assigned;
    const former = {
      closed: this.#closing.get(partition) ?? Promise.resolve(),
      corruption: this.failed.corruptionOf(partition),
    };
    const store = ownStore(this.#deps, partition, former, this.#stopping);
    const work = new PartitionWork({
      ...this.#shared,
      partition,
      assigned,
      store,
      open: (ownership) => this.#open(partition, store, ownership),
      topicEnd: () => this.#reader.end(this.#topics.audienceSyncs, partition),
      fail: this.failed.noting(partition, fail),
    });
    this.works.set(partition, work);
    return {
      take: (records) => work.take(records),
      drain: () => {
        const drained = work.drain();
        this.#closing.set(partition, drained);
        this.works.delete(partition);
        this.#reading.delete(partition);
        return drained;
      },
    };
  }

  update(configuration: AudienceConfiguration): void {
    this.#settings = settingsOf(configuration);
  }

  /** Resolves when the stores of all revoked partitions are closed. */
  async closed(): Promise<void> {
    this.#endSuppressions?.();
    await Promise.all(this.#closing.values());
  }

  healthProblems(): readonly string[] {
    const { writer, deadLetterWriter: deadLetters } = this.#shared;
    return [
      ...writer.healthProblems(),
      ...deadLetters.healthProblems(),
      ...this.#reader.healthProblems(),
      ...restoreProblems(this.works, this.#reading, this.#topics.audienceMembers),
      ...approvalProblems(audiencesOf(this.works)),
    ];
  }

  async #open(partition: number, store: OwnedStore, ownership: Ownership): Promise<PartitionState> {
    const { clock, arrivalPieces } = this.#deps;
    const state = await openPartition({
      at: { topic: this.#topics.audienceMembers, partition },
      store,
      changelog: this.#changelog(partition),
      ownership,
      events: this.#openingEvents(partition),
      nowMs: () => clock.nowMs(),
      newIdentity: randomUUID,
      arrivalPieces,
    });
    this.failed.opened(partition);
    return state;
  }

  #changelog(partition: number): Changelog {
    const topic = this.#topics.audienceMembers;
    const { producer } = this.#deps;
    return {
      end: () => this.#reader.end(topic, partition),
      read: (from, to) => this.#reader.read(topic, partition, from, to),
      sign: async (key, identity) => {
        const record = { topic, partition, key: Buffer.from(key), headers: [] };
        await producer.send([{ ...record, value: Buffer.from(identity) }]);
      },
    };
  }

  #openingEvents(partition: number): OpenDeps["events"] {
    const { log, clock, metrics } = this.#deps;
    let loggedAtMs = clock.nowMs();
    return {
      matched: (storeState) => {
        metrics.audienceStores.bind({ state: storeState }).inc();
        const fields = { stage, partition, storeState };
        const isUsual = ["current", "behind", "missing"].includes(storeState);
        if (isUsual) log.info(fields, "audience.store.opened");
        else log.warn(fields, "audience.store.rebuilding");
      },
      progressed: (offset, end) => {
        this.#reading.set(partition, { offset, end });
        if (clock.nowMs() - loggedAtMs < PROGRESS_EVERY_MS) return;
        loggedAtMs = clock.nowMs();
        log.info({ stage, partition, offset, end }, "audience.store.restoring");
      },
    };
  }
}

function registryOn(topics: TopicNames, writer: Writer, reader: TopicReader) {
  const topic = topics.audiences;
  return createRegistry({
    topic,
    writer,
    partitionOf: async (id) =>
      partitionOfKey(Buffer.from(id), await reader.partitions(topics.audienceSyncs)),
    end: () => reader.end(topic, 0),
    read: (from, to) => reader.read(topic, 0, from, to),
  });
}
