/**
 * Processes the records of one partition of `audience-syncs` while this process owns the partition. The records are
 * applied one at a time, in order. Their results are written in steps.
 *
 *   state      meaning
 *   opening    records wait while the store is found and then brought up to date or rebuilt
 *   settling   before the first records, their topic is identified (`own-offsets.ts`)
 *   working    records are applied; a step is written when it is large enough or no records wait
 *   draining   the current write ends and the store is closed; the rest will be processed again
 */

import type { IncomingRecord, OutgoingRecord } from "../../domain/record.ts";
import { serialRunner } from "../stage/serial-runner.ts";
import { arriveGathered } from "./apply-members.ts";
import { abandonOld, applyRecord } from "./apply-record.ts";
import { Gathering } from "./batch-lookups.ts";
import { asItCame, needsEnd, originOf, usedOffsets, withOwnOffset } from "./own-offsets.ts";
import type { PartitionState, Pending } from "./partition-state.ts";
import type { DeadLetterWriter, Writer } from "./ports.ts";
import type { Work } from "./work.ts";

/** Maximum number of writes in one step: small enough to limit memory, and large enough to keep the brokers busy. */
const STEP_SIZE = 2_000;
/** Maximum number of records in one step. This limit is separate, because many records may change nothing. */
const STEP_RECORDS = 500;
/** If no record arrives for this long, the age of open syncs is checked. */
const IDLE_MS = 600_000;

export interface PartitionDeps
  extends Omit<StepWriter, "state" | "mustBeOurs">,
    Omit<Work, "state" | "settings" | "gathering" | "write" | "breathe"> {
  /** The current settings, which can change. */
  readonly settingsNow: () => Work["settings"];
  /**
   * @param check throws if the partition is being revoked.
   * @param mustBeOurs throws if the partition may belong to another process.
   */
  readonly open: (check: () => void, mustBeOurs: () => Promise<void>) => Promise<PartitionState>;
  readonly opened: () => void;
  /** Closes the store, even if it was not opened completely. */
  readonly close: () => Promise<void>;
  /** The offset is a Kafka offset, as for `hold`. */
  readonly finish: (offset: number) => void;
  readonly hold: (offset: number | null) => void;
  /** ID of the topic from which the current records come; empty if the brokers do not support IDs. */
  readonly topicId: () => string;
  readonly topicEnd: () => Promise<number>;
  /** Resolves with true if the partition cannot have been assigned to another process yet. */
  readonly isOurs: () => Promise<boolean>;
  /** Resolves after other work has had a chance to run. */
  readonly otherWork: () => Promise<void>;
  /** Called after the removal of values that must also be erased from the disk. */
  readonly erased: () => void;
  readonly fail: (thrown: unknown) => void;
}

/** Thrown to stop the work because the partition is being revoked. */
class Interrupted extends Error {
  override readonly name = "Interrupted";
}

export interface PartitionWork {
  readonly take: (records: readonly IncomingRecord[]) => void;
  /** Resolves when no work is in progress and the store is closed. */
  readonly drain: () => Promise<void>;
  /**
   * Abandons syncs that are too old. Needed because a sync is otherwise abandoned only when the next record arrives.
   */
  readonly checkOpenSyncs: () => void;
  readonly state: () => PartitionState | null;
}

interface Taken {
  readonly topicId: string;
  readonly records: readonly IncomingRecord[];
}

export function workOnPartition(deps: PartitionDeps): PartitionWork {
  const waiting: Taken[] = [];
  /** The ID of the topic from which the last records came. */
  let settled: string | null = null;
  let state: PartitionState | null = null;
  let isDraining = false;
  let isCheckDue = false;
  let lastTakenAtMs = deps.nowMs();

  const check = () => {
    if (isDraining) throw new Interrupted("the partition is being revoked");
  };
  const mustBeOurs = async () => {
    if (!(await deps.isOurs()))
      throw new Interrupted("the partition has been assigned to another process");
  };
  const open = async () => {
    const opened = await deps.open(check, mustBeOurs);
    check();
    // This must happen before any record is finished.
    deps.hold(opened.firstOpen());
    state = opened;
    deps.opened();
  };
  const apply = async (opened: PartitionState, { topicId, records }: Taken) => {
    const work = createWork(opened, deps, check, mustBeOurs);
    if (topicId !== settled) {
      await settle(work, deps, topicId);
      settled = topicId;
    }
    await applyAll(work, deps, records, () => {
      return waiting[0]?.topicId === topicId ? (waiting.shift()?.records ?? null) : null;
    });
  };
  const abandonOldSyncs = async (opened: PartitionState) => {
    const work = createWork(opened, deps, check, mustBeOurs);
    await abandonOld(work, work.nowMs(), opened.position);
    await work.write(opened.position);
  };
  const next = (): Promise<void> | null => {
    if (isDraining) return null;
    if (state === null) return open();
    const taken = waiting.shift();
    if (taken !== undefined) return apply(state, taken);
    if (isCheckDue) {
      isCheckDue = false;
      return abandonOldSyncs(state);
    }
    if (state.takeErased()) deps.erased();
    return null;
  };
  const working = serialRunner(next, (thrown) => {
    if (!(thrown instanceof Interrupted) && !isDraining) deps.fail(thrown);
  });
  working.wake();
  return {
    take: (records) => {
      lastTakenAtMs = deps.nowMs();
      waiting.push({ topicId: deps.topicId(), records });
      working.wake();
    },
    checkOpenSyncs: () => {
      if (state === null || deps.nowMs() - lastTakenAtMs < IDLE_MS) return;
      isCheckDue = true;
      working.wake();
    },
    drain: async () => {
      isDraining = true;
      waiting.length = 0;
      await working.ended();
      state = null;
      await deps.close();
    },
    state: () => state,
  };
}

function createWork(
  state: PartitionState,
  deps: PartitionDeps,
  check: () => void,
  mustBeOurs: () => Promise<void>,
): Work {
  const gathering = new Gathering();
  const write = async (position: number) => {
    check();
    const workedOn = Math.min(position, gathering.from ?? position);
    await writeStep({ ...deps, state, mustBeOurs }, workedOn);
    deps.hold(state.firstOpen());
  };
  return {
    ...deps,
    settings: deps.settingsNow(),
    state,
    gathering,
    write,
    breathe: async (position) => {
      if (state.pendingSize >= STEP_SIZE) await write(position);
      else await deps.otherWork();
      check();
    },
  };
}

/** Identifies the topic that the next records come from. Called while no writes are pending. */
async function settle(work: Work, deps: PartitionDeps, topicId: string): Promise<void> {
  const { state, partition, events } = work;
  const facts = { known: state.origin, topicId, used: usedOffsets(state) };
  const { kind, origin } = originOf(facts, needsEnd(facts) ? await deps.topicEnd() : 0);
  if (kind === "same") return;
  if (kind === "another") events.topicRecreated(partition);
  state.setOrigin(origin);
  await work.write(state.position);
}

/** @param more returns the next waiting records, or null. */
async function applyAll(
  work: Work,
  deps: PartitionDeps,
  records: readonly IncomingRecord[],
  more: () => readonly IncomingRecord[] | null,
): Promise<void> {
  const { state, gathering } = work;
  const base = state.origin?.base ?? 0;
  let byNow = work;
  let done: IncomingRecord[] = [];
  const written = async (position: number) => {
    await arriveGathered(byNow);
    await work.write(position);
    for (const { offset } of done) deps.finish(offset - base);
    deps.events.applied(done.length);
    done = [];
  };
  for (let some: typeof records | null = records; some !== null; some = more()) {
    for (const came of some) {
      const record = withOwnOffset(came, base);
      if (record.offset >= state.position) {
        // The settings do not change while a record is applied.
        const settings = deps.settingsNow();
        if (settings !== byNow.settings) {
          await arriveGathered(byNow);
          byNow = { ...byNow, settings };
        }
        await applyRecord(byNow, record);
        await work.breathe(record.offset);
      }
      done.push(record);
      const isStep = state.pendingSize >= STEP_SIZE || done.length >= STEP_RECORDS;
      if (isStep || gathering.isFull) await written(record.offset + 1);
    }
  }
  const last = done.at(-1);
  if (last !== undefined) await written(last.offset + 1);
}

/** Writes one step of a partition, in the order that `partition-state.ts` describes. */
interface StepWriter extends Pick<Work, "state" | "partition" | "registry" | "events"> {
  readonly writer: Writer;
  readonly deadLetterWriter: DeadLetterWriter;
  /** Throws if the partition may belong to another process. */
  readonly mustBeOurs: () => Promise<void>;
}

/** Writes all pending writes. All records below `position` must have been applied. */
async function writeStep(step: StepWriter, position: number): Promise<void> {
  const { state, writer, registry, partition, mustBeOurs } = step;
  const pending = state.take(position);
  await mustBeOurs();
  const deadLetters = await writeCalls(step, pending);
  if (pending.changelog.length > 0) {
    await mustBeOurs();
    const [refused] = await writer.send(pending.changelog);
    if (refused !== undefined) throw new Error(`Cannot write to the changelog: ${refused.error}`);
  }
  // The checkpoint is correct only if no other process has written to the changelog meanwhile.
  await mustBeOurs();
  if (pending.store.length > 0) await state.store.write(pending.store);
  if (pending.toReport.length > 0) {
    const reported = pending.toReport.map((id) => {
      const audience = state.audience(id);
      const counts = state.counts(audience?.first ?? -1);
      return [id, audience === null ? null : { audience, counts }] as const;
    });
    await registry.report(new Map(reported), partition);
  }
  step.events.changed(pending.changeCounts);
  step.events.deadLettered(deadLetters);
}

async function writeCalls({ deadLetterWriter }: StepWriter, { calls, deadLettered }: Pending) {
  const byRecord = new Map<IncomingRecord, OutgoingRecord[]>();
  for (const [call, from] of calls) {
    const record = asItCame(from);
    const records = byRecord.get(record);
    if (records === undefined) byRecord.set(record, [call]);
    else records.push(call);
  }
  const became = [...byRecord].map(([record, records]) => ({ record, records }));
  const deadLetters = deadLettered.map((each) => ({ ...each, record: asItCame(each.record) }));
  return (await deadLetterWriter.write(became, deadLetters)).deadLetters;
}
