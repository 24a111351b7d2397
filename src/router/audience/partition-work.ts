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

import type { IncomingRecord } from "../../domain/record.ts";
import type { AssignedPartition } from "../../kafka/port.ts";
import { serialRunner } from "../stage/serial-runner.ts";
import { arriveGathered } from "./apply-members.ts";
import { abandonOld, applyRecord } from "./apply-record.ts";
import { applyForget } from "./apply-user.ts";
import { Gathering } from "./batch-lookups.ts";
import type { Ownership } from "./open-partition.ts";
import { asItCame, needsEnd, originOf, usedOffsets, withOwnOffset } from "./own-offsets.ts";
import type { PartitionState, Pending } from "./partition-state.ts";
import type { DeadLetterWriter, Writer } from "./ports.ts";
import type { OwnedStore } from "./store/owned-store.ts";
import type { Work } from "./work.ts";

/** Maximum number of writes in one step: small enough to limit memory, and large enough to keep the brokers busy. */
const STEP_SIZE = 2_000;
/** Maximum number of records in one step. This limit is separate, because many records may change nothing. */
const STEP_RECORDS = 500;
/** If no record arrives for this long, no record of an open sync is still to be read. */
const IDLE_MS = 600_000;
/** Maximum number of users who are forgotten in one step. */
const FORGOTTEN_USERS = 500;

export interface PartitionDeps
  extends Pick<
    Work,
    "partition" | "callsTopic" | "registry" | "events" | "nowMs" | "isSuppressed"
  > {
  readonly writer: Writer;
  readonly deadLetterWriter: DeadLetterWriter;
  readonly assigned: Pick<AssignedPartition, "finish" | "hold" | "topicId" | "isOurs">;
  readonly store: Pick<OwnedStore, "close" | "erased" | "compactWhenDue">;
  /** The current settings, which can change. */
  readonly settingsNow: () => Work["settings"];
  readonly open: (ownership: Ownership) => Promise<PartitionState>;
  readonly topicEnd: () => Promise<number>;
  /** Resolves after other work has had a chance to run. */
  readonly otherWork: () => Promise<void>;
  readonly fail: (thrown: unknown) => void;
}

/** Thrown to stop the work because the partition is being revoked. */
class Interrupted extends Error {
  override readonly name = "Interrupted";
}

interface Taken {
  readonly topicId: string;
  readonly records: readonly IncomingRecord[];
}

export class PartitionWork {
  readonly #deps: PartitionDeps;
  readonly #ownership: Ownership;
  /** `take` adds records, and a step removes them. `drain` clears the list. */
  readonly #waiting: Taken[] = [];
  /** The ID of the topic from which the last records came. Only a step changes it. */
  #settled: string | null = null;
  /** Null until the first step has opened the store, and again after `drain`. */
  #state: PartitionState | null = null;
  /** True from `drain` on. Steps that are in progress then end with `Interrupted`. */
  #isDraining = false;
  #isCheckDue = false;
  /** Users who were suppressed or lifted. Added by `forget`, removed by a step. Until then, they count as suppressed. */
  readonly #forgetting = new Set<string>();
  /** True if records have their turn before users who are forgotten. */
  #isRecordsTurn = false;
  #lastTakenAtMs: number;
  #lastRecordAtMs = 0;
  readonly #working = serialRunner(
    () => this.#next(),
    (thrown) => {
      if (!(thrown instanceof Interrupted) && !this.#isDraining) this.#deps.fail(thrown);
    },
  );

  constructor(deps: PartitionDeps) {
    const isSuppressed = (userId: string) =>
      deps.isSuppressed(userId) || this.#forgetting.has(userId);
    this.#deps = { ...deps, isSuppressed };
    this.#lastTakenAtMs = deps.nowMs();
    this.#ownership = {
      check: () => {
        if (this.#isDraining) throw new Interrupted("the partition is being revoked");
      },
      mustBeOurs: async () => {
        if (await deps.assigned.isOurs()) return;
        throw new Interrupted("the partition has been assigned to another process");
      },
    };
    this.#working.wake();
  }

  /** Null while the store is being opened, and after `drain`. */
  get state(): PartitionState | null {
    return this.#state;
  }

  take(records: readonly IncomingRecord[]): void {
    this.#lastTakenAtMs = this.#deps.nowMs();
    this.#lastRecordAtMs = records.at(-1)?.timestampMs ?? 0;
    this.#waiting.push({ topicId: this.#deps.assigned.topicId(), records });
    this.#working.wake();
  }

  /**
   * Forgets a user's memberships and traits, without calls: when the user is suppressed, and again when the user is
   * lifted, because the partition may have had another owner in between, who crashed. If it is lost first, the next sync
   * does the same for a user who is still suppressed.
   */
  forget(userId: string): void {
    this.#forgetting.add(userId);
    this.#working.wake();
  }

  /**
   * Abandons syncs that are too old, and compacts the store if that is due. Needed because a sync is otherwise abandoned
   * only when the next record of its audience arrives.
   */
  checkRegularly(): void {
    this.#deps.store.compactWhenDue();
    if (this.#state === null) return;
    this.#isCheckDue = true;
    this.#working.wake();
  }

  /** Resolves when no work is in progress and the store is closed. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#waiting.length = 0;
    await this.#working.ended();
    this.#state = null;
    await this.#deps.store.close();
  }

  #next(): Promise<void> | null {
    if (this.#isDraining) return null;
    const state = this.#state;
    if (state === null) return this.#open();
    this.#isRecordsTurn = !this.#isRecordsTurn;
    if (this.#forgetting.size > 0 && !(this.#isRecordsTurn && this.#waiting.length > 0)) {
      return this.#forget(state);
    }
    const taken = this.#waiting.shift();
    if (taken !== undefined) return this.#apply(state, taken);
    if (this.#isCheckDue) {
      this.#isCheckDue = false;
      return this.#abandonOldSyncs(state);
    }
    if (state.takeErased()) this.#deps.store.erased();
    return null;
  }

  async #open(): Promise<void> {
    const opened = await this.#deps.open(this.#ownership);
    this.#ownership.check();
    // This must happen before any record is finished.
    this.#deps.assigned.hold(opened.firstOpen());
    this.#state = opened;
  }

  async #apply(state: PartitionState, { topicId, records }: Taken): Promise<void> {
    const work = createWork(state, this.#deps, this.#ownership);
    if (topicId !== this.#settled) {
      await settle(work, this.#deps, topicId);
      this.#settled = topicId;
    }
    const waiting = this.#waiting;
    await applyAll(work, this.#deps, records, () =>
      waiting[0]?.topicId === topicId ? (waiting.shift()?.records ?? null) : null,
    );
  }

  async #forget(state: PartitionState): Promise<void> {
    const userIds: string[] = [];
    for (const userId of this.#forgetting) {
      if (userIds.length === FORGOTTEN_USERS) break;
      this.#forgetting.delete(userId);
      userIds.push(userId);
    }
    const work = createWork(state, this.#deps, this.#ownership);
    const cause = { isReplay: false, record: { offset: state.position } };
    await applyForget(work, cause, userIds);
    await work.write(state.position);
  }

  async #abandonOldSyncs(state: PartitionState): Promise<void> {
    const work = createWork(state, this.#deps, this.#ownership);
    const nowMs = work.nowMs();
    const isIdle = nowMs - this.#lastTakenAtMs >= IDLE_MS;
    // Later records of an open sync, and its end, may still have to be read.
    const readUntilMs = isIdle ? nowMs : Math.min(nowMs, this.#lastRecordAtMs);
    for (const audience of state.openAudiences()) {
      await abandonOld(work, audience, readUntilMs, state.position);
    }
    await work.write(state.position);
  }
}

function createWork(state: PartitionState, deps: PartitionDeps, ownership: Ownership): Work {
  const gathering = new Gathering();
  const write = async (position: number) => {
    ownership.check();
    const workedOn = Math.min(position, gathering.from ?? position);
    await writeStep({ ...deps, state, mustBeOurs: ownership.mustBeOurs }, workedOn);
    deps.assigned.hold(state.firstOpen());
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
      ownership.check();
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
    for (const { offset } of done) deps.assigned.finish(offset - base);
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
  const byRecord = Map.groupBy(calls, ([, from]) => asItCame(from));
  const became = [...byRecord].map(([record, own]) => {
    return { record, records: own.map(([call]) => call) };
  });
  const deadLetters = deadLettered.map((each) => ({ ...each, record: asItCame(each.record) }));
  return (await deadLetterWriter.write(became, deadLetters)).deadLetters;
}
