/**
 * Commits a consumer's progress about once a second (`commit-pace.ts`), or sooner after many records, with one commit
 * in flight at a time.
 *
 *   the commit fails because           then
 *   the group is rebalancing           the member commits again before it joins
 *   the metadata exceeds the broker's  a warning is logged once. From then on, the metadata has only the
 *   `offset.metadata.max.bytes`        topic's ID, or is empty, so a restart repeats records that were
 *                                      processed out of order
 *   of any other error                 it is retried with the next commit
 *
 * The last commit before partitions are revoked is repeated while it fails and time remains. It is not repeated if
 * the coordinator has removed this member from the group, because that will not change. While the coordinator is
 * unreachable, the limit for outages applies, which may be longer: no member can join meanwhile, so the wait does not
 * delay any other member.
 */

import { asError } from "../../base/runtime/as-error.ts";
import { atMost, Signal } from "../../base/runtime/signal.ts";
import type { Log } from "../../base/telemetry/log.ts";
import { errorKind, errorTypes } from "../cluster/kafka-error.ts";
import type { Member, OffsetToCommit } from "../membership.ts";
import type { ConsumeOptions } from "../port.ts";
import type { CommitPace } from "./commit-pace.ts";
import { type Commit, withoutRanges } from "./finished-ranges.ts";
import type { OwnedPartition } from "./owned-partition.ts";

/** The time between attempts of the last commit. */
const AGAIN_MS = 250;
/** The coordinator's responses to a member that it has removed. */
const NOT_A_MEMBER: ReadonlySet<string> = new Set([
  "UNKNOWN_MEMBER_ID",
  "ILLEGAL_GENERATION",
  "FENCED_INSTANCE_ID",
]);
/** After this many processed records, the next commit does not wait for its turn. */
const PROGRESS_MAX = 20_000;

interface Change {
  readonly owned: OwnedPartition;
  readonly commit: Commit;
}

export class Committer {
  readonly #groupId: string;
  readonly #log: Log;
  readonly #onFailed: () => void;
  readonly #beforeCommit: ConsumeOptions["beforeCommit"];
  /** Set by `own`, for each assignment. */
  #member: Member | null = null;
  /** Set by `own`; empty from `stop` on. */
  #partitions: readonly OwnedPartition[] = [];
  readonly #pace: CommitPace;
  /** Cancels the commit that waits for its turn; null if none waits. */
  #cancel: (() => void) | null = null;
  /** Records that were processed since the last commit. */
  #finished = 0;
  /** Ends with the latest commit, so that the next one starts after it. */
  #last: Promise<void> = Promise.resolve();
  /** What commits still contain. Becomes less when the broker rejects the metadata, for good. */
  #metadata: "whole" | "topic" | "none" = "whole";
  /** The error of the last commit; null if it succeeded, or if there was nothing to commit. */
  #error: Error | null = null;

  /** @param pace the pace that all consumers of the process share. */
  constructor(
    { groupId, beforeCommit }: Pick<ConsumeOptions, "groupId" | "beforeCommit">,
    log: Log,
    pace: CommitPace,
    onFailed: () => void = () => undefined,
  ) {
    this.#groupId = groupId;
    this.#beforeCommit = beforeCommit;
    this.#log = log;
    this.#pace = pace;
    this.#onFailed = onFailed;
  }

  /** Makes later commits cover these partitions, on behalf of this member. */
  own(member: Member, partitions: readonly OwnedPartition[]): void {
    this.#member = member;
    this.#partitions = partitions;
  }

  /** Call when a record was processed. */
  progressed(): void {
    this.#finished += 1;
    if (this.#finished >= PROGRESS_MAX) {
      this.#finished = 0;
      void this.commit();
    } else if (this.#cancel === null) {
      this.#commitInTurn();
    }
  }

  /** Commits all changes, after the commit in flight has ended. Never rejects. */
  commit(): Promise<void> {
    this.#waitNoMore();
    this.#last = this.#last.then(() => this.#commitChanges());
    return this.#last;
  }

  /**
   * Commits as much as possible within this time. Never rejects.
   *
   * @returns the error if something could not be committed; null if everything is committed.
   */
  async commitLast(limitMs: number, outageLimitMs = limitMs): Promise<Error | null> {
    const beganMs = performance.now();
    for (;;) {
      await atMost(beganMs + outageLimitMs - performance.now(), this.commit());
      if (this.#changes().length === 0) return null;
      const nowLimitMs = isUnreachable(this.#error) ? outageLimitMs : limitMs;
      const isInTime = beganMs + nowLimitMs - performance.now() > AGAIN_MS;
      if (this.#error !== null && (isNoMember(this.#error) || !isInTime)) return this.#error;
      if (!isInTime) return new Error(`a commit took more than ${outageLimitMs / 1_000} s`);
      await new Signal().wait(AGAIN_MS);
    }
  }

  stop(): void {
    this.#waitNoMore();
    void this.#report(true);
    this.#partitions = [];
  }

  #commitInTurn(): void {
    this.#cancel = this.#pace.wait(() => void this.commit());
  }

  #waitNoMore(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  async #commitChanges(): Promise<void> {
    const member = this.#member;
    if (member === null) return;
    this.#finished = 0;
    this.#error = null;
    const changes = this.#changes();
    if (changes.length === 0) return;
    // Nothing may be processed between the two snapshots: a commit must not cover more than what was reported.
    await this.#report(false);
    // Partitions that were fenced meanwhile may belong to other members, whose commits this one would undo.
    const own = changes.filter(({ owned }) => !owned.isFenced);
    if (own.length === 0) return;
    try {
      await member.commit(own.map((change) => toCommit(change, this.#metadata)));
      for (const { owned, commit } of own) owned.wasCommitted(commit);
    } catch (error) {
      await this.#failed(error);
    }
  }

  async #report(isLast: boolean): Promise<void> {
    if (this.#beforeCommit === undefined) return;
    const processed = this.#partitions.flatMap((owned) => owned.takeProcessed(isLast) ?? []);
    if (processed.length > 0) await this.#beforeCommit(processed, isLast);
  }

  #changes(): readonly Change[] {
    return this.#partitions.flatMap((owned): Change[] => {
      const commit = owned.toCommit();
      return commit === null ? [] : [{ owned, commit }];
    });
  }

  async #failed(error: unknown): Promise<void> {
    const group = this.#groupId;
    if (this.#metadata !== "none" && errorTypes(error).has("OFFSET_METADATA_TOO_LARGE")) {
      const isFirst = this.#metadata === "whole";
      this.#metadata = isFirst ? "topic" : "none";
      if (!isFirst) return this.#commitChanges();
      const hint =
        "Raise offset.metadata.max.bytes to 4096; otherwise, more records are repeated after a restart.";
      this.#log.warn({ group, hint }, "kafka.commit.metadata-rejected");
      await this.#commitChanges();
      return;
    }
    this.#error = asError(error);
    this.#onFailed();
    this.#log.debug({ group, error: this.#error.message }, "kafka.commit.failed");
    // Covers only partitions that are still owned then. After a rebalance, none are.
    if (this.#cancel === null) this.#commitInTurn();
  }
}

/** `true` if the coordinator is unreachable, is moving, or is loading the group. */
function isUnreachable(error: Error | null): boolean {
  if (error === null) return false;
  return errorKind(error) === "outage" || errorTypes(error).has("NOT_COORDINATOR");
}

export function isNoMember(error: unknown): boolean {
  return [...errorTypes(error)].some((type) => NOT_A_MEMBER.has(type));
}

function toCommit({ owned, commit }: Change, kept: "whole" | "topic" | "none"): OffsetToCommit {
  const { topic, partition } = owned;
  const { offset } = commit;
  if (kept === "none") return { topic, partition, offset, metadata: "" };
  const metadata = kept === "whole" ? commit.metadata : withoutRanges(commit.metadata);
  return { topic, partition, offset, metadata };
}
