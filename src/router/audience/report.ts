/** Reports metrics, log events and health problems of audiences, without user IDs. */

import { countDeadLetters } from "../../base/telemetry/count-dead-letters.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import { type AudienceStatus, approveCommand } from "../../domain/audience.ts";
import type { StageDeps } from "../stage/running-stage.ts";
import { approvalOf } from "./audience.ts";
import type { PartitionWork } from "./partition-work.ts";
import type { Events, SyncOutcome } from "./ports.ts";

/** The outcomes that are logged as warnings, because an operator should check them. */
const UNUSUAL: ReadonlySet<SyncOutcome> = new Set([
  "awaiting-approval",
  "abandoned",
  "count-mismatch",
]);

export function audienceEvents(deps: Pick<StageDeps, "metrics" | "log" | "clock">): Events {
  const { metrics, log, clock } = deps;
  const stage = "audience";
  const recordsIn = metrics.recordsIn.bind({ stage });
  const entered = metrics.audienceChanges.bind({ change: "entered" });
  const left = metrics.audienceChanges.bind({ change: "left" });
  const traits = metrics.audienceChanges.bind({ change: "trait" });
  return {
    started: ({ id, key }, syncId) => {
      metrics.audienceSyncs.bind({ outcome: "started" }).inc();
      log.info({ stage, audience: id, key, sync: syncId }, "audience.sync.started");
    },
    ended: ({ audience, syncId, outcome, ...rest }) => {
      const durationMs = Math.max(0, clock.nowMs() - rest.beganAtMs);
      metrics.audienceSyncs.bind({ outcome }).inc();
      const { members, arrived } = rest;
      const fields = {
        stage,
        audience: audience.id,
        key: audience.key,
        sync: syncId,
        outcome,
        members,
        received: arrived,
        removed: rest.left,
        durationMs,
      };
      if (UNUSUAL.has(outcome)) log.warn(fields, "audience.sync.ended");
      else log.info(fields, "audience.sync.ended");
    },
    changed: (changes) => {
      entered.inc(changes.entered);
      left.inc(changes.left);
      traits.inc(changes.traits);
    },
    applied: (records) => recordsIn.inc(records),
    topicRecreated: (partition) => log.warn({ stage, partition }, "audience.topic.recreated"),
    deadLettered: countDeadLetters(deps),
  };
}

/** How much of a partition's changelog has been read so far while its store is being opened. */
export interface RestoreProgress {
  readonly offset: number;
  readonly end: number;
}

/** Returns one sentence for each partition whose store is still being restored. */
export function restoreProblems(
  works: ReadonlyMap<number, Pick<PartitionWork, "state">>,
  reading: ReadonlyMap<number, RestoreProgress>,
  topic: string,
): readonly string[] {
  return [...works].flatMap(([partition, work]) => {
    const { offset, end } = reading.get(partition) ?? { offset: 0, end: 0 };
    if (work.state !== null || end === 0) return [];
    const percent = Math.floor((100 * offset) / end);
    return [
      `the state store of partition ${partition} is being restored from ${topic} (${percent} % of ${end} records have been read); the partition's syncs wait until the restore is complete`,
    ];
  });
}

export function approvalProblems(audiences: readonly AudienceStatus[]): readonly string[] {
  return audiences.flatMap(({ id, awaitingApproval }) => {
    if (awaitingApproval === null) return [];
    const { syncId, removals } = awaitingApproval;
    return [
      `sync ${syncId} of audience ${id} awaits approval, because it would remove ${removals} members. To apply it, run ${approveCommand(id)}`,
    ];
  });
}

/** The audiences in those owned partitions whose stores are open. */
export function audiencesOf(
  works: ReadonlyMap<number, Pick<PartitionWork, "state">>,
): readonly AudienceStatus[] {
  return [...works.values()].flatMap((work) =>
    [...(work.state?.audiences() ?? [])].map((audience) => ({
      id: audience.id,
      awaitingApproval: approvalOf(audience),
    })),
  );
}

/**
 * Before each scrape, sets the gauges for the partitions that this process owns at that time. The gauges of a
 * partition are NaN until its store is open. Returns a function that stops the updates.
 */
export function watchAudiences(
  metrics: Metrics,
  works: ReadonlyMap<number, Pick<PartitionWork, "state">>,
  failedStores: () => number,
): () => void {
  const unavailable = metrics.audienceStoresUnavailable.bind({});
  const members = metrics.audienceMembers.bind({});
  const open = metrics.audienceOpenSyncs.bind({});
  const awaitingApproval = metrics.audienceSyncsAwaitingApproval.bind({});
  return metrics.onScrape(() => {
    unavailable.set(failedStores());
    const sums = { members: 0, open: 0, awaitingApproval: 0 };
    let isKnown = true;
    for (const work of works.values()) {
      const state = work.state;
      isKnown &&= state !== null;
      for (const audience of state?.audiences() ?? []) {
        sums.members += state?.counts(audience.first).members ?? 0;
        sums.open += audience.open === null ? 0 : 1;
        sums.awaitingApproval += audience.awaitingApproval === null ? 0 : 1;
      }
    }
    members.set(isKnown ? sums.members : Number.NaN);
    open.set(isKnown ? sums.open : Number.NaN);
    awaitingApproval.set(isKnown ? sums.awaitingApproval : Number.NaN);
  });
}
