/**
 * The partitions of one assignment, while the member has them: where reading starts, from which broker each
 * partition is fetched, and what follows if it cannot be read (`start-offsets.ts`).
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Signal } from "../../base/runtime/signal.ts";
import { partitionKey } from "../../domain/record.ts";
import type { LeaderTable } from "../cluster/leader-table.ts";
import { Cursor, type CursorOwner } from "../fetch/cursor.ts";
import type { FetchSources } from "../fetch/sources.ts";
import type {
  Assignment,
  FetchedBatch,
  GroupEvents,
  MembershipOptions,
  OffsetToCommit,
} from "../membership.ts";
import { type StartOffsets, stepAfter } from "./start-offsets.ts";

const AGAIN_MS = 300;
const LEADERLESS_AGAIN_MS = 1_000;
const HALT_MIN_MS = 1_000;
const HALT_MAX_MS = 60_000;

interface TenureOptions {
  readonly options: MembershipOptions;
  readonly events: Pick<GroupEvents, "fetched" | "offsetsFetched" | "halted">;
  readonly leaders: LeaderTable;
  readonly sources: FetchSources;
  readonly starts: StartOffsets;
  /** Fired when waits must not last any longer. */
  readonly wake: Signal;
  readonly commit: (offsets: readonly OffsetToCommit[]) => Promise<void>;
  /** The number of partitions of each topic that this member has assigned; empty if it is not the group's leader. */
  readonly shared: ReadonlyMap<string, number>;
  /** Called when the member has to join again. */
  readonly onStale: () => void;
  readonly onFailed: (error: Error) => void;
}

export class Tenure implements CursorOwner {
  readonly #options: TenureOptions;
  /** By topic and partition. */
  readonly #cursors: ReadonlyMap<string, Cursor>;
  /** Set by `close`, for good. */
  #isOver = false;
  /** The leaders with which all cursors were placed; null if a cursor has no source. */
  #placedBy: readonly unknown[] | null = null;
  /** For each partition that is halted at a corrupt batch, how long it waited last. */
  readonly #haltsMs = new Map<string, number>();
  /** `true` while leaders are about to be looked up again. */
  #isWaitingForLeader = false;

  constructor(assignment: Assignment, options: TenureOptions) {
    this.#options = options;
    const { recordMaxBytes, skipsCorrupt, partitionMaxBytes } = options.options;
    const assigned = Object.entries(assignment);
    const maxBytes = partitionMaxBytes(assigned.flatMap(([, partitions]) => partitions).length);
    const cursors = assigned.flatMap(([topic, partitions]) => {
      const policy = { recordMaxBytes: recordMaxBytes(topic), skipsCorrupt };
      return partitions.map(
        (partition) => new Cursor({ topic, partition }, this, { policy, maxBytes }),
      );
    });
    this.#cursors = new Map(cursors.map((cursor) => [cursor.key, cursor]));
  }

  cursor(topic: string, partition: number): Cursor | undefined {
    return this.#cursors.get(partitionKey({ topic, partition }));
  }

  /** When a broker last responded to a request for one of these partitions, in epoch milliseconds. */
  respondedAtMs(): number | null {
    const known = [...this.#cursors.values()].flatMap((cursor) => cursor.respondedAtMs() ?? []);
    return known.length === 0 ? null : Math.max(...known);
  }

  /** Gives each cursor a position. Never rejects. */
  async start(): Promise<void> {
    const { starts, events } = this.#options;
    const all = [...this.#cursors.values()];
    try {
      const fetched = await starts.committed(all, this.#isWanted);
      if (this.#isOver) return;
      const restarted = events.offsetsFetched(fetched);
      for (const { topic, partition, offset } of fetched) {
        const isRestarted = restarted.some(
          (each) => each.topic === topic && each.partition === partition,
        );
        if (offset >= 0 && !isRestarted) this.cursor(topic, partition)?.moveTo(offset);
      }
      this.place();
      const others = all.filter(({ position }) => position === null);
      const found = (cursor: Cursor, offset: number) => cursor.moveTo(offset);
      await starts.first(others, this.#isWanted, found, this.#options.onStale);
    } catch (error) {
      this.#failed(asError(error));
    }
  }

  /** Moves each cursor to its partition's leader. */
  place(): void {
    const { leaders, sources, shared, onStale } = this.#options;
    const known = this.#knownLeaders();
    // Most lookups change nothing, and a process may have thousands of members.
    if (this.#placedBy?.every((each, at) => each === known[at]) === true) return;
    let isWhole = true;
    for (const cursor of this.#cursors.values()) {
      // Without a leader, the cursor keeps its source: that broker's response has the error.
      const errorCode = leaders.of(cursor.topic)?.errorCode ?? 0;
      const leader = errorCode === 0 ? leaders.leaderOf(cursor.topic, cursor.partition) : null;
      if (leader !== null) sources.place(cursor, leader);
      else if (cursor.source === null && errorCode !== 0) {
        onStale();
        return;
      } else if (cursor.source === null) {
        isWhole = false;
        void this.#waitForLeader();
      }
    }
    this.#placedBy = isWhole ? known : null;
    const hasMore = ([topic, count]: readonly [string, number]): boolean =>
      (leaders.of(topic)?.nodes.length ?? 0) > count;
    if ([...shared].some(hasMore)) onStale();
  }

  /** Stops all fetching. */
  close(): void {
    this.#isOver = true;
    for (const cursor of this.#cursors.values()) cursor.close();
  }

  #knownLeaders(): readonly unknown[] {
    const { leaders, options, shared } = this.#options;
    const changes: unknown = leaders.addressChanges;
    const topics = shared.size > options.topics.length ? [...shared.keys()] : options.topics;
    return [changes].concat(topics.map((topic) => leaders.of(topic)));
  }

  async #waitForLeader(): Promise<void> {
    if (this.#isWaitingForLeader) return;
    this.#isWaitingForLeader = true;
    const { wake, leaders, options, starts, onStale } = this.#options;
    try {
      await wake.wait(LEADERLESS_AGAIN_MS);
      this.#isWaitingForLeader = false;
      if (this.#isOver) return;
      leaders.refresh(options.topics);
      const missing = [...this.#cursors.values()].filter(
        ({ source, topic, partition }) => source === null && !leaders.has(topic, partition),
      );
      const areRecreated = await starts.areRecreated(missing.map(({ topic }) => topic));
      if (areRecreated && !this.#isOver) onStale();
    } catch (error) {
      this.#failed(asError(error));
    }
  }

  readonly #isWanted = (): boolean => !this.#isOver;

  fetched(cursor: Cursor, batch: FetchedBatch): void {
    this.#haltsMs.delete(cursor.key);
    const done = this.#options.events.fetched(batch);
    if (done === undefined) this.#giveBack(cursor, batch);
    else void done.then(() => this.#giveBack(cursor, batch));
  }

  #giveBack(cursor: Cursor, { last, end }: FetchedBatch): void {
    const { fetchSpacingMs } = this.#options.options;
    const isBehind = last !== null && last + 1 < end;
    if (fetchSpacingMs === 0 || last === null || isBehind) cursor.give();
    else setTimeout(() => cursor.give(), fetchSpacingMs);
  }

  failed(cursor: Cursor, error: Error): void {
    void this.#recover(cursor, error);
  }

  /** Returns the cursor to its source once the partition can be read. Never rejects. */
  async #recover(cursor: Cursor, error: Error): Promise<void> {
    const { leaders, starts, wake, onStale } = this.#options;
    const step = stepAfter(error);
    if (step === "fail") return this.#failed(error);
    if (step === "halt") return this.#halt(cursor, error);
    try {
      if (step === "reset") return await this.#reset(cursor);
      leaders.refresh([cursor.topic]);
      await wake.wait(AGAIN_MS);
      if (this.#isOver) return;
      const isStale = step === "compare-topic" && (await starts.areRecreated([cursor.topic]));
      if (isStale && !this.#isOver) return onStale();
      cursor.give();
    } catch (failure) {
      this.#failed(asError(failure));
    }
  }

  async #halt(cursor: Cursor, error: Error): Promise<void> {
    const lastMs = this.#haltsMs.get(cursor.key) ?? 0;
    const waitMs = Math.min(Math.max(HALT_MIN_MS, 2 * lastMs), HALT_MAX_MS);
    this.#haltsMs.set(cursor.key, waitMs);
    this.#options.events.halted(cursor, error, waitMs);
    await this.#options.wake.wait(waitMs);
    if (!this.#isOver) cursor.give();
  }

  async #reset(cursor: Cursor): Promise<void> {
    const { starts, events, commit, onStale } = this.#options;
    const { topic, partition } = cursor;
    const out = await starts.outOfRange(cursor);
    if (this.#isOver) return;
    events.offsetsFetched([out]);
    const found = (_: Cursor, offset: number) => {
      cursor.moveTo(offset);
      cursor.give();
      // Otherwise the next owner would also be out of range, and count the reset again.
      commit([{ topic, partition, offset, metadata: "" }]).catch(() => undefined);
    };
    await starts.first([cursor], this.#isWanted, found, onStale);
  }

  #failed(error: Error): void {
    if (!this.#isOver) this.#options.onFailed(error);
  }
}
