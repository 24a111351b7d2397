/**
 * Syncs on `audience-syncs` to identify calls on `calls`: exactly for the users who entered or
 * left. Each partition has an owner, a local store and a changelog of its own.
 *
 *   step, for a few records or a piece of one      a crash after it
 *   0  schemas of their values are looked up       the records are read again
 *   1  what they mean is decided, nothing written  the same
 *   2  calls and dead letters, acknowledged        written again, with the same message ids
 *   3  the changelog, acknowledged                 the store catches up when it is opened: no call
 *   4  store and checkpoint, in one batch          the records are skipped
 *   5  the topic `audiences`                       the same
 *   6  the records are finished                    the same, until the consumer commits
 *
 * A store that fails, at 4 or while it is opened or read, is a crash of this stage alone: its consumer
 * ends without finishing the step's records, all its stores are closed, and it starts again, later each
 * time. A corrupt store is then rebuilt from the changelog. Any other failure ends the process.
 *
 * A call always comes before the changelog entry that says the same. The first piece of a sync's
 * removals is written after its verdict, so that a crash in the middle continues with the same one.
 *
 * The arrivals of an open sync are in the local store alone (`seen-members.ts`). So the committed offset never passes
 * the `begin` of an open sync (`hold`): an owner without that store reads the sync again, and
 * counts its users without repeating calls. The checkpoint keeps the true position.
 *
 * All offsets here are own ones, that go on where `audience-syncs` is recreated (`own-offsets.ts`).
 *
 * Other settings of audiences are taken at once; a record is applied by those of its beginning.
 * The rest of one that a crash cut short goes by those of the next start. A claimed key stays.
 *
 * Before 2, 3 and 4 the owner makes sure that nobody else can have been given the partition. So one
 * that stood still for longer than the session timeout stops there. Kafka has no fence for a
 * request that was sent before and arrives late: it repeats what its successor has written.
 */

import { randomUUID } from "node:crypto";
import { setImmediate as otherWork } from "node:timers/promises";

import type { OnCorruptBatch } from "../domain/corrupt-batch.ts";
import { storeErrorOf } from "../domain/store-error.ts";
import type { GroupNames, TopicNames } from "../domain/topics.ts";
import type { AssignedPartition, PartitionHandler } from "../kafka/port.ts";
import type { Clock } from "../runtime/clock.ts";
import { schemasFirst } from "../stage/await-schemas.ts";
import { type Fail, startConsuming } from "../stage/consuming-stage.ts";
import { deadLetterWriter } from "../stage/dead-letter-writer.ts";
import type { RunningStage } from "../stage/running-stage.ts";
import type { StageDeps } from "../stage/stage-deps.ts";
import { type TopicReader, topicReader } from "../stage/topic-reader.ts";
import { watchedWriter } from "../stage/watched-writer.ts";
import { type AudienceConfiguration, settingsOf } from "./audience-settings.ts";
import { FailedStores } from "./failed-stores.ts";
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
  watchFailedStores,
} from "./report.ts";
import { type OwnedStore, ownStore, type Stores } from "./store/owned-store.ts";

export interface AudienceDeps extends StageDeps {
  readonly stores: Stores;
  /** Of the room for arrivals in open syncs, for each partition; by default as `seen-members.ts` says. */
  readonly arrivalPieces?: number;
}

export interface AudienceConfig extends AudienceConfiguration {
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  /** Bytes of unfinished records of `audience-syncs`. */
  readonly maxBytes: number;
  /** Whether a corrupt batch halts the stage or is skipped; by default `stop`. */
  readonly onCorruptBatch?: OnCorruptBatch;
  readonly drainLimitMs: number;
}

const stage = "audience";
const PARTITION_RECORDS_MAX = 1_000;
const PROGRESS_EVERY_MS = 5_000;
const CHECK_EVERY_MS = 60_000;

/** Starts the one consumer of `audience-syncs`. Topics must exist. */
export function startAudience(deps: AudienceDeps, config: AudienceConfig): Promise<RunningStage> {
  const { clock, metrics } = deps;
  const { topics, groups, maxBytes, drainLimitMs } = config;
  const stopping = new AbortController();
  const owned = ownedPartitions(deps, config, stopping.signal);
  const isOurs = (partition: number) =>
    owned.works.has(partition) || running.consumers.some(({ vitals }) => !vitals().isAssigned);
  const failures = () => owned.failed.texts(isOurs);
  const stopWatching = watchAudiences(metrics, owned.works);
  const stopCounting = watchFailedStores(metrics, () => failures().length);
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
        // A large sync in one partition must not stop the others.
        whenFull: "pause",
        drainLimitMs,
        onAssigned: schemasFirst(deps.schemas, (assigned) => owned.own(assigned, fail), fail),
      },
    ],
    outlives: (error) => storeErrorOf(error) !== null,
    healthProblems: () => {
      // The reason why it has stopped is reported next to these.
      const hasStopped = running.consumers.some((consumer) => consumer.healthProblem() !== null);
      return [...(hasStopped ? [] : failures()), ...owned.healthProblems()];
    },
    update: owned.update,
    close: async () => {
      stopping.abort();
      await Promise.all([owned.closed(), checking]);
      stopWatching();
      stopCounting();
    },
  });
  return Promise.resolve({ ...running, audiences: () => audiencesOf(owned.works) });
}

/** The work on partitions, each with a store of its own, and what they share. */
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
  /** Stores of partitions that were taken away may still be closing. */
  const closing = new Map<number, Promise<void>>();
  const failed = new FailedStores();
  const shared = {
    writer,
    deadLetterWriter: deadLetters,
    registry: registryOn(topics.audiences, writer, reader),
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

function registryOn(topic: string, writer: Writer, reader: TopicReader): Registry {
  return createRegistry({
    topic,
    writer,
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

/** Syncs that are too old are noticed with the next record, or here when none comes. */
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
