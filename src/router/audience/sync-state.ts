/**
 * Decides what a record means for its audience (docs/audiences.md#rules). A sync is "over" if it has ended or was
 * abandoned, and its ID is still stored.
 *
 *   record     the audience   its sync is                         step
 *   begin      is unknown     -                                   open, if its ID and key are free
 *              is known       open, awaiting approval or over     ignore
 *                             not seen before                     open; abandons the open one
 *   members    is known       open                                arrive
 *   end        is known       open                                end
 *                             awaiting approval, and force is set approve
 *   snapshot   is unknown     -                                   open, arrive and end
 *              is known       open since this record              arrive and end, after a crash
 *                             awaiting approval, and force is set approve
 *                             open, awaiting approval or over     ignore
 *                             not seen before                     open, arrive and end
 *   approve    is known       awaiting approval                   approve
 *   delete     is known       any                                 delete
 *              is unknown     -                                   ignore
 *   members,   is known       any other of these                  ignore
 *     end,     is known       not seen before                     invalid-sync
 *     approve  is unknown     -                                   invalid-sync
 *
 * If a sync is still open, records after its start are read again after a takeover, even if they were applied
 * before. Such a record is used only if it belongs to that sync: `members` and the `snapshot` are counted again, and
 * all other records are ignored.
 */

import { describe } from "../../domain/json.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { Audience, OpenSync, SyncAwaitingApproval } from "./audience.ts";
import type { AudienceRecord, Begin, End, Members, Snapshot } from "./parse-sync.ts";

/** The record that is being applied, and its time. */
export interface Cause {
  readonly record: IncomingRecord;
  readonly atMs: number;
  /** True if the record was applied before and is read again because of an open sync. */
  readonly isReplay: boolean;
}

export type SyncStep =
  | { readonly kind: "ignore" }
  | { readonly kind: "invalid"; readonly error: string }
  /** The audience is unknown, and has to be claimed first. */
  | { readonly kind: "create"; readonly record: Begin | Snapshot }
  | { readonly kind: "open"; readonly record: Begin | Snapshot }
  | { readonly kind: "arrive"; readonly record: Members; readonly open: OpenSync }
  | { readonly kind: "end"; readonly record: End; readonly open: OpenSync }
  | { readonly kind: "continue"; readonly record: Snapshot; readonly open: OpenSync }
  | { readonly kind: "approve"; readonly awaitingApproval: SyncAwaitingApproval }
  | { readonly kind: "delete" };

export interface Situation {
  readonly record: AudienceRecord;
  readonly offset: number;
  readonly audience: Audience | null;
  readonly isOver: boolean;
}

const IGNORE: SyncStep = { kind: "ignore" };

export function stepOf({ record, offset, audience, isOver }: Situation): SyncStep {
  if (record.type === "delete") return audience === null ? IGNORE : { kind: "delete" };
  if (audience === null) return ofUnknown(record);
  const { syncId } = record;
  const open = audience.open?.syncId === syncId ? audience.open : null;
  const awaitingApproval =
    audience.awaitingApproval?.syncId === syncId ? audience.awaitingApproval : null;
  switch (record.type) {
    case "begin":
      return isOver || open !== null || awaitingApproval !== null
        ? IGNORE
        : { kind: "open", record };
    case "snapshot":
      if (open?.begin === offset) return { kind: "continue", record, open };
      if (awaitingApproval !== null && record.force) return { kind: "approve", awaitingApproval };
      return isOver || open !== null || awaitingApproval !== null
        ? IGNORE
        : { kind: "open", record };
    case "members":
      if (open !== null) return { kind: "arrive", record, open };
      break;
    case "end":
      if (open !== null) return { kind: "end", record, open };
      if (awaitingApproval !== null && record.force) return { kind: "approve", awaitingApproval };
      break;
    case "approve":
      if (awaitingApproval !== null) return { kind: "approve", awaitingApproval };
      break;
  }
  if (isOver || open !== null || awaitingApproval !== null) return IGNORE;
  return invalid(
    `the ${record.type} record belongs to sync ${describe(syncId)}, which has no begin record`,
  );
}

function ofUnknown(record: Exclude<AudienceRecord, { type: "delete" }>): SyncStep {
  if (record.type === "begin" || record.type === "snapshot") return { kind: "create", record };
  return invalid(
    `the ${record.type} record belongs to audience ${describe(record.audienceId)}, which has no sync`,
  );
}

function invalid(error: string): SyncStep {
  return { kind: "invalid", error };
}

/** Returns what remains to be done for a record that was applied before. */
export function replayStepOf(situation: Omit<Situation, "isOver">): SyncStep {
  const { record, offset, audience } = situation;
  const open = audience?.open ?? null;
  if (open === null || record.type === "delete" || record.syncId !== open.syncId) return IGNORE;
  if (record.type === "members") return { kind: "arrive", record, open };
  if (record.type === "snapshot" && open.begin === offset) {
    return { kind: "continue", record, open };
  }
  return IGNORE;
}

/**
 * A sync without an `end` record is abandoned after a day, according to the times of its audience's records. If there are
 * none, other records or the process's clock decide, but only between steps and up to the current time: otherwise, a
 * program with a wrong clock would abandon the syncs of all others.
 */
const ABANDON_AFTER_MS = 86_400_000;

export function isTooOld(open: OpenSync, nowMs: number): boolean {
  return nowMs - open.beganAtMs > ABANDON_AFTER_MS;
}
