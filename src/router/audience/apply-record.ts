/**
 * Applies a record of `audience-syncs` to the state of the partition. If partitions were added to the topic, the records
 * of an audience may arrive in another partition than before. They are forwarded to the partition that owns the audience,
 * behind its earlier records; if they are forwarded twice after a crash, the second ones are ignored.
 * `sync-state.ts`, `membership.ts` and
 * `scan-members.ts` make the decisions. Users are applied in pieces, between which pending writes are written and
 * other work can run.
 */

import { usableRecordTime } from "../../domain/call-time.ts";
import { decodeValue } from "../../domain/decode.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { arriveGathered } from "./apply-members.ts";
import { applyForget, applyTrait } from "./apply-user.ts";
import { type Audience, countsAtBegin, countsFor, type OpenSync } from "./audience.ts";
import { type AudienceRecord, type Begin, parseSync, type Snapshot } from "./parse-sync.ts";
import type { PartitionState } from "./partition-state.ts";
import { applyApproval, endSync, removeAudience } from "./scan-members.ts";
import { snakeCase } from "./snake-case.ts";
import { type Cause, isTooOld, replayStepOf, type SyncStep, stepOf } from "./sync-state.ts";
import { clearArrivals, refuse, type Work } from "./work.ts";

/** The users in `members` records are only collected here; `arriveGathered` applies them. */
export async function applyRecord(work: Work, record: IncomingRecord): Promise<void> {
  const { state } = work;
  const atMs = usableRecordTime(record.timestampMs, work.nowMs());
  const cause: Cause = { record, atMs, isReplay: record.offset < state.applied };
  const decoded = decodeValue(record);
  const parsed = decoded.kind === "json" ? parseSync(decoded.json) : decoded;
  const isMembers = parsed.kind === "sync" && parsed.record.type === "members";
  if (!isMembers) await arriveGathered(work);
  if (parsed.kind === "refused") {
    if (!cause.isReplay) state.deadLetter({ record, reason: parsed.reason, error: parsed.error });
    return;
  }
  const sync = parsed.record;
  if (sync.type === "trait") await applyTrait(work, cause, sync);
  else if (sync.type === "forget") await applyForget(work, cause, [sync.userId]);
  else await applySync(work, cause, sync);
}

async function applySync(work: Work, cause: Cause, record: AudienceRecord): Promise<void> {
  const { state } = work;
  const { offset } = cause.record;
  if (!cause.isReplay)
    await abandonOld(work, state.audience(record.audienceId), cause.atMs, offset);
  const audience = state.audience(record.audienceId);
  if (cause.isReplay) return await take(work, cause, replayStepOf({ record, offset, audience }));
  const { registry, partition } = work;
  const owner = audience === null ? await registry.movedFrom(record.audienceId, partition) : null;
  if (owner !== null) {
    const { topic, key, value, headers } = cause.record;
    return state.forward({ topic, key, value, headers, partition: owner }, cause.record);
  }
  const isOver = await isSyncOver(state, audience, record);
  await take(work, cause, stepOf({ record, offset, audience, isOver }), audience);
}

async function isSyncOver(
  state: PartitionState,
  audience: Audience | null,
  record: AudienceRecord,
): Promise<boolean> {
  if (audience === null || record.type === "delete") return false;
  // Most `members` records belong to the open sync, so they need no lookup.
  if (audience.open?.syncId === record.syncId) return false;
  return await state.isOver(audience, record.syncId);
}

async function take(
  work: Work,
  cause: Cause,
  step: SyncStep,
  known: Audience | null = null,
): Promise<void> {
  if (step.kind === "ignore") return;
  // The collected users are applied first, because the stored position cannot pass their records until then.
  if (step.kind !== "arrive") await arriveGathered(work);
  if (step.kind === "invalid") return refuse(work, cause, step.error);
  if (step.kind === "create") {
    const created = await create(work, cause, step.record);
    return created === null ? undefined : await open(work, cause, created, step.record);
  }
  const id = "record" in step ? step.record.audienceId : (known?.id ?? "");
  const audience = work.state.audience(id);
  if (audience === null) return;
  if (work.settings(audience.id).source === null) return refuse(work, cause, NO_SOURCE);
  switch (step.kind) {
    case "open":
      return await open(work, cause, audience, step.record);
    case "arrive":
      return work.gathering.add(audience, step.open, { cause, userIds: step.record.userIds });
    case "end":
      return await endSync(work, cause, audience, step.open, step.record);
    case "continue":
      return await whole(work, cause, audience, step.open, step.record);
    case "approve":
      return await applyApproval(work, cause, audience, step.awaitingApproval);
    case "delete":
      return await removeAudience(work, cause, audience);
  }
}

const NO_SOURCE =
  "the calls would have no source: set audienceDefaults.source, defaultSource, or the audience's own source";

/** Returns null if the audience was rejected. */
async function create(
  work: Work,
  cause: Cause,
  record: Begin | Snapshot,
): Promise<Audience | null> {
  const { audienceId: id, audienceName: name } = record;
  const settings = work.settings(id);
  if (settings.source === null) {
    refuse(work, cause, NO_SOURCE);
    return null;
  }
  const key = settings.key ?? snakeCase(name);
  const first = cause.record.offset;
  const { partition } = work;
  const claim = await work.registry.claim({ id, name, key, partition, first });
  if (claim.kind === "refused") {
    refuse(work, cause, claim.error);
    return null;
  }
  return { id, name, key, first, open: null, awaitingApproval: null, last: null, closed: 0 };
}

async function open(
  work: Work,
  cause: Cause,
  before: Audience,
  record: Begin | Snapshot,
): Promise<void> {
  const { state, events } = work;
  const begin = cause.record.offset;
  const abandoned = before.open === null ? before : await abandon(work, before, before.open);
  const counts = countsAtBegin(state.counts(before.first), begin);
  const sync: OpenSync = {
    syncId: record.syncId,
    begin,
    beganAtMs: cause.atMs,
    membersBefore: counts.members,
    verdict: null,
  };
  const audience = { ...abandoned, name: record.audienceName, open: sync };
  state.setAudience(audience);
  state.setCounts(audience.first, counts);
  events.started(audience, record.syncId);
  if (before.open !== null) await clearArrivals(work, begin, audience.first, begin);
  if (record.type === "snapshot") await whole(work, cause, audience, sync, record);
}

async function whole(
  work: Work,
  cause: Cause,
  audience: Audience,
  sync: OpenSync,
  record: Snapshot,
): Promise<void> {
  work.gathering.add(audience, sync, { cause, userIds: record.userIds });
  await arriveGathered(work);
  // If the record is read again, `endSync` must not run a second time.
  if (!cause.isReplay) await endSync(work, cause, audience, sync, record);
}

/** Abandons the audience's open sync if it is too old. */
export async function abandonOld(
  work: Work,
  audience: Audience | null,
  nowMs: number,
  position: number,
): Promise<void> {
  const sync = audience?.open ?? null;
  // A sync that has a verdict is not abandoned: a crash interrupted its end, which is now being completed.
  if (audience === null || sync?.verdict !== null || !isTooOld(sync, nowMs)) return;
  await arriveGathered(work);
  work.state.setAudience(await abandon(work, audience, sync));
  await clearArrivals(work, position, audience.first, null);
}

async function abandon(work: Work, audience: Audience, sync: OpenSync): Promise<Audience> {
  const { state, events } = work;
  const { members, arrived } = countsFor(state.counts(audience.first), sync.begin);
  const remembered = await state.remember(audience, sync.syncId);
  const { syncId, beganAtMs } = sync;
  events.ended({
    audience,
    syncId,
    outcome: "abandoned",
    members,
    left: 0,
    arrived,
    beganAtMs,
  });
  state.report(audience.id);
  return { ...remembered, open: null };
}
