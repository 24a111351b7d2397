/**
 * The audience stage: reads syncs from `audience-syncs`, and writes an identify call for each user who entered or
 * left an audience. Each partition has one owner, a local store and a changelog.
 *
 *   step, for some records or a piece of one     if the process crashes after it
 *   0  look up the schemas of the values         the records are read again
 *   1  decide, without writing                   the same
 *   2  write calls and dead letters              they are written again, with the same message IDs
 *   3  write the changelog                       the store catches up when it is opened, without new calls
 *   4  write store and checkpoint in one batch   the records are skipped
 *   5  write to the topic `audiences`            the same
 *   6  finish the records                        the same, until the consumer commits
 *
 * If a store fails when it is opened, read or written, only this stage crashes: the consumer ends without finishing
 * the records, all stores are closed, and the stage restarts with increasing delays. A corrupt store is then rebuilt
 * from the changelog. Any other failure ends the process.
 *
 * A call is always written before the changelog entry for the same change. The verdict of a sync is written before
 * the sync's removals, so that the removals continue with the same verdict after a crash.
 *
 * The arrivals of an open sync are only in the local store (`seen-members.ts`). The committed offset therefore never
 * passes the `begin` record of an open sync (`hold`). An owner without this store reads the sync again, and counts
 * the users without repeating calls. The position up to which records have been applied is in the checkpoint.
 *
 * All offsets here are own offsets, which continue to increase if `audience-syncs` is recreated (`own-offsets.ts`).
 *
 * Changed settings of audiences apply to the next record. If a crash interrupts the processing of a record, the
 * settings at the next start apply to the rest of the record. A claimed key does not change.
 *
 * Before steps 2, 3 and 4, the owner checks that the partition cannot have been assigned to another process. A
 * process that was suspended for longer than the session timeout therefore stops at this check. A request that was
 * sent before the suspension may still arrive late, because Kafka cannot fence it. Such a request only repeats what
 * the next owner has written.
 */

import { randomUUID } from "node:crypto";
import { setImmediate as otherWork } from "node:timers/promises";
import type { Clock } from "../../base/runtime/clock.ts";
import type { OnCorruptBatch } from "../../domain/corrupt-batch.ts";
import { storeErrorOf } from "../../domain/store-error.ts";
import type { GroupNames, TopicNames } from "../../domain/topics.ts";
import { type AssignedPartition, type PartitionHandler, partitionOfKey } from "../../kafka/port.ts";
import { type Fail, startConsuming } from "../stage/consuming-stage.ts";
import { deadLetterWriter } from "../stage/dead-letter-writer.ts";
import type { RunningStage, StageDeps } from "../stage/running-stage.ts";
import { type TopicReader, topicReader } from "../stage/topic-reader.ts";
import { watchedWriter } from "../stage/watched-writer.ts";
import { type AudienceConfiguration, settingsOf } from "./audience-settings.ts";
import { type OpenDeps, openPartition } from "./open-partition.ts";
import { type PartitionWork, workOnPartition } from "./partition-work.ts";
import type { Registry, Writer } from "./ports.ts";
import { createRegistry } from "./registry.ts";
import {
  approvalProblems,
  audienceEvents,
  audiencesOf,
  type Reading,
  restoreProblems,
  watchAudiences,
} from "./report.ts";
import { FailedStores, type OwnedStore, ownStore, type Stores } from "./store/owned-store.ts";

export interface AudienceDeps extends StageDeps {
  readonly stores: Stores;
  /**
   * For each partition, the limit of memory for users who join in open syncs, as a number of pieces
   * (`seen-members.ts`).
   */
  readonly arrivalPieces?: number;
}

export interface AudienceConfig extends AudienceConfiguration {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  /** Maximum size of records of `audience-syncs` in flight. */
  readonly maxBytes: number;
  /** What the stage does at a corrupt batch: it halts (`stop`, the default) or skips the batch. */
  readonly onCorruptBatch?: OnCorruptBatch;
  readonly drainLimitMs: number;
}

const stage = "audience";
const PARTITION_RECORDS_MAX = 1_000;
const PROGRESS_EVERY_MS = 5_000;
const CHECK_EVERY_MS = 60_000;

/** Starts the consumer of `audience-syncs`. The topics must exist. */
export function startAudience(deps: AudienceDeps, config: AudienceConfig): Promise<RunningStage> {
  const { clock, metrics } = deps;
  const { topics, groups, maxBytes, drainLimitMs } = config;
  const stopping = new AbortController();
  const owned = ownedPartitions(deps, config, stopping.signal);
  const isOurs = (partition: number) =>
    owned.works.has(partition) || running.consumers.some((one) => !one.vitals().isAssigned);
  const failures = () => owned.failed.texts(isOurs);
  const stopWatching = watchAudiences(metrics, owned.works, () => failures().length);
  const checking = checkOpenSyncsRegularly(clock, owned.works, stopping.signal);
  const running = startConsuming(deps, {
    name: "audience",
    deadLetterTopic: topics.deadLetters,
    onCorruptBatch: config.onCorruptBatch,
    consume: (fail) => [
      {
        groupId: groups.audience,
        topics: [topics.audienceSyncs],
        partitionRecordsMax: PARTITION_RECORDS_MAX,
        maxBytes,
        // A large sync in one partition must not block the other partitions.
        whenFull: "pause",
        drainLimitMs,
        onAssigned: (assigned) => owned.own(assigned, fail),
      },
    ],
    outlives: (error) => storeErrorOf(error) !== null,
    healthProblems: () => {
      // If the consumer has stopped, it reports the reason itself.
      const hasStopped = running.consumers.some((consumer) => consumer.healthProblem() !== null);
      return [...(hasStopped ? [] : failures()), ...owned.healthProblems()];
    },
    update: owned.update,
    close: async () => {
      stopping.abort();
      await Promise.all([owned.closed(), checking]);
      stopWatching();
    },
  });
  return Promise.resolve({ ...running, audiences: () => audiencesOf(owned.works) });
}

/** Creates the owned partitions, each with its store, and the objects that they share. */
function ownedPartitions(deps: AudienceDeps, config: AudienceConfig, stopping: AbortSignal) {
  const { kafka, clock, metrics } = deps;
  const { topics } = config;
  const recordsOut = metrics.recordsOut.bind({ stage: "audience" });
  const writer = watchedWriter(deps.producer, clock, (records) => recordsOut.inc(records));
  const deadLetters = deadLetterWriter(deps, "audience", topics.deadLetters);
  const reader = topicReader(kafka, clock, stopping);
  const works = new Map<number, PartitionWork>();
  const reading = new Map<number, Reading>();
  let settings = settingsOf(config);
  /** Stores of revoked partitions that are still being closed. */
  const closing = new Map<number, Promise<void>>();
  const failed = new FailedStores();
  const shared = {
    writer,
    deadLetterWriter: deadLetters,
    registry: registryOn(topics, writer, reader),
    settingsNow: () => settings,
    events: audienceEvents(deps),
    callsTopic: topics.calls,
    nowMs: () => clock.nowMs(),
    otherWork: () => otherWork(),
  };
  const own = (assigned: AssignedPartition, fail: Fail): PartitionHandler => {
    const { partition } = assigned;
    const former = {
      closed: closing.get(partition) ?? Promise.resolve(),
      corruption: failed.corruptionOf(partition),
    };
    const store = ownStore(deps, partition, former, stopping);
    const work = workOnPartition({
      ...shared,
      fail: failed.noting(partition, fail),
      partition,
      open: (check, mustBeOurs) =>
        openPartition({
          ...opening(deps, topics, partition, store, reader, check),
          mustBeOurs,
          onProgress: progress(deps, partition, reading),
        }),
      opened: () => failed.opened(partition),
      close: store.close,
      erased: store.erased,
      finish: (offset) => assigned.finish(offset),
      hold: (offset) => assigned.hold(offset),
      topicId: () => assigned.topicId(),
      topicEnd: () => reader.end(topics.audienceSyncs, partition),
      isOurs: () => assigned.isOurs(),
    });
    works.set(partition, {
      ...work,
      checkOpenSyncs: () => {
        work.checkOpenSyncs();
        store.compactWhenDue();
      },
    });
    return {
      take: work.take,
      drain: () => {
        const drained = work.drain();
        closing.set(partition, drained);
        works.delete(partition);
        reading.delete(partition);
        return drained;
      },
    };
  };
  return {
    works,
    failed,
    own,
    update: (configuration: AudienceConfiguration) => {
      settings = settingsOf(configuration);
    },
    closed: () => Promise.all(closing.values()),
    healthProblems: () => [
      ...writer.healthProblems(),
      ...deadLetters.healthProblems(),
      ...reader.healthProblems(),
      ...restoreProblems(works, reading, topics.audienceMembers),
      ...approvalProblems(audiencesOf(works)),
    ],
  };
}

function registryOn(topics: TopicNames, writer: Writer, reader: TopicReader): Registry {
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

function opening(
  deps: AudienceDeps,
  topics: TopicNames,
  partition: number,
  store: OwnedStore,
  reader: TopicReader,
  check: () => void,
): Omit<OpenDeps, "mustBeOurs" | "onProgress"> {
  const { producer, log, metrics, clock } = deps;
  const topic = topics.audienceMembers;
  return {
    at: { topic, partition },
    ...(deps.arrivalPieces === undefined ? {} : { arrivalPieces: deps.arrivalPieces }),
    openStore: () => store.open(check),
    removeStore: store.remove,
    changelogEnd: () => reader.end(topic, partition),
    readChangelog: (from, to) => reader.read(topic, partition, from, to),
    sign: async (key, identity) => {
      const record = { topic, partition, key: Buffer.from(key), headers: [] };
      await producer.send([{ ...record, value: Buffer.from(identity) }]);
    },
    newIdentity: randomUUID,
    nowMs: () => clock.nowMs(),
    onMatch: (found) => {
      metrics.audienceStores.bind({ state: found }).inc();
      const isRebuilt = found !== "current" && found !== "behind";
      if (isRebuilt && found !== "missing")
        log.warn({ stage, partition, storeState: found }, "audience.store.rebuilding");
      else log.info({ stage, partition, storeState: found }, "audience.store.opened");
    },
    check,
  };
}

function progress(
  { log, clock }: AudienceDeps,
  partition: number,
  reading: Map<number, Reading>,
): OpenDeps["onProgress"] {
  let loggedAtMs = clock.nowMs();
  return (offset, end) => {
    reading.set(partition, { offset, end });
    if (clock.nowMs() - loggedAtMs < PROGRESS_EVERY_MS) return;
    loggedAtMs = clock.nowMs();
    log.info({ stage, partition, offset, end }, "audience.store.restoring");
  };
}

/**
 * A sync that is too old is normally abandoned when the next record arrives. If no record arrives, this function
 * abandons it.
 */
async function checkOpenSyncsRegularly(
  clock: Clock,
  works: ReadonlyMap<number, PartitionWork>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(CHECK_EVERY_MS, signal).catch(() => undefined);
    for (const work of works.values()) work.checkOpenSyncs();
  }
}
