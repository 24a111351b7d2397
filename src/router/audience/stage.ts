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
 * No call is written for a suppressed user. The user's memberships are forgotten at once (`partition-work.ts`), and at the
 * latest by the next sync that contains the user.
 *
 * Changed settings of audiences apply to the next record. If a crash interrupts the processing of a record, the
 * settings at the next start apply to the rest of the record. A claimed key does not change.
 *
 * Before steps 2, 3 and 4, the owner checks that the partition cannot have been assigned to another process. A
 * process that was suspended for longer than the session timeout therefore stops at this check. A request that was
 * sent before the suspension may still arrive late, because Kafka cannot fence it. Such a request only repeats what
 * the next owner has written.
 */

import type { Clock } from "../../base/runtime/clock.ts";
import { storeErrorOf } from "../../domain/store-error.ts";
import { startConsuming } from "../stage/consuming-stage.ts";
import type { RunningStage, SharedStageConfig } from "../stage/running-stage.ts";
import type { AudienceConfiguration } from "./audience-settings.ts";
import { type AudienceDeps, OwnedPartitions } from "./owned-partitions.ts";
import type { PartitionWork } from "./partition-work.ts";
import { audiencesOf, watchAudiences } from "./report.ts";

const PARTITION_RECORDS_MAX = 1_000;
const CHECK_EVERY_MS = 60_000;

/** Starts the consumer of `audience-syncs`. The topics must exist. */
export function startAudience(
  deps: AudienceDeps,
  config: AudienceConfiguration & SharedStageConfig,
): Promise<RunningStage> {
  const { clock, metrics } = deps;
  const { topics, groups, maxBytes, drainLimitMs } = config;
  const stopping = new AbortController();
  const owned = new OwnedPartitions(deps, config, stopping.signal);
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
    update: (configuration) => owned.update(configuration),
    close: async () => {
      stopping.abort();
      await Promise.all([owned.closed(), checking]);
      stopWatching();
    },
  });
  return Promise.resolve({ ...running, audiences: () => audiencesOf(owned.works) });
}

/**
 * A sync that is too old is abandoned when the next record of its audience arrives. If none arrives, this function
 * abandons it.
 */
async function checkOpenSyncsRegularly(
  clock: Clock,
  works: ReadonlyMap<number, PartitionWork>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(CHECK_EVERY_MS, signal).catch(() => undefined);
    for (const work of works.values()) work.checkRegularly();
  }
}
