/**
 * Stores a replay in Kafka, in the commits of two groups without members:
 *
 *   group                          stores                              written by
 *   `<prefix>replay.<name>`        for each partition of the topic     its owner, after each batch
 *                                  that is replayed, the offset of
 *                                  the next record and, as metadata,
 *                                  the plan, `to` and `counts`
 *   `<prefix>replay.<name>.owner`  the owner's name                    each process that takes the replay over
 *
 * The offsets are the progress, as in any consumer group. The metadata is what cannot be found out again when the
 * replay is resumed, perhaps by another process on another machine:
 *
 *   stored        without it, a resumed replay
 *   the plan      would have no destination, filters, limit or rate
 *   `to`          would also read the records that were written since it started, such as the dead letters that it
 *                 caused, or calls that the route stage has routed
 *   `counts`      would exceed its limit, and would report only what the last process did
 *
 * The last commit counts, and Kafka does not reject an outdated commit. The owner is therefore stored separately
 * from the positions, so that a takeover does not undo progress, and a late commit does not undo a takeover. A
 * process checks twice that it is still the owner: before it writes a batch, and before it commits. If another
 * process takes over the replay, at most one batch is therefore repeated:
 *
 *   another process takes the replay over     the previous owner
 *   before the first check                    stops; it has committed everything that it sent
 *   between the two checks                    stops; its batch is sent again
 *   after the second check                    commits and stops; its batch may be sent again
 *
 * Every ten minutes, the owner writes its name again, because Kafka deletes old commits. If another process takes over
 * the replay at that very moment, the other process loses the replay again and stops.
 *
 * A replay that is done has no commits, so a process that was about to take it over finds none when it reads the
 * positions again. One case remains: if a process is frozen between the second check and its commit, another process
 * may continue the replay, and the first process commits an outdated position when it wakes up. The next commit of
 * the other process corrects this position. More than one batch is repeated only if the other process ends before
 * that commit and an operator then resumes the replay. No record is ever omitted.
 */

import { jsonObjectIn } from "../../domain/json.ts";
import { groupNames, type TopicNames } from "../../domain/topics.ts";
import type { Admin, CommittedOffset } from "../../kafka/port.ts";
import type { AskedCalls, RoutedAgain } from "../../router/route/route-for-replay.ts";
import type { PartitionRange } from "../connect/partition-ranges.ts";
import type { DeadLetterFilter } from "./dead-letter-record.ts";

export interface CallReplayPlan {
  readonly destination: string;
  readonly asked: AskedCalls;
  /** If set, only this record of `calls` is replayed. */
  readonly only?: { readonly partition: number; readonly offset: number };
  /** Null for no limit. */
  readonly perSecond: number | null;
}

export interface DeadLetterReplayPlan {
  readonly filter: DeadLetterFilter;
  /** Maximum number of dead letters to replay; null for all that pass the filter. */
  readonly limit: number | null;
  readonly perSecond: number | null;
  /** If `true`, dead letters that another replay has sent are included. By default, they are not. */
  readonly includeReplayed?: boolean;
  /** If `true`, dead letters are not sent; users who wait for them wait no longer. */
  readonly cancels?: boolean;
}

interface Plans {
  readonly calls: CallReplayPlan;
  readonly "dead-letters": DeadLetterReplayPlan;
}

export type ReplayKind = keyof Plans;

/** The plan of a new replay, or the name of a replay to resume. */
export type ChosenReplay<Kind extends ReplayKind> =
  | { readonly kind: "new"; readonly plan: Plans[Kind] }
  | { readonly kind: "resume"; readonly name: string; readonly perSecond: number | null };

/**
 * The outcome of a record: `written`, `refused`, `skipped:suppressed` or, only for calls, others such as
 * `skipped:disabled`.
 */
export type CountKey =
  | "written"
  /** The record cannot be replayed, or the brokers rejected it as too large. */
  | "refused"
  | `${Exclude<RoutedAgain["kind"], "written">}:${string}`;
export type Counts = Readonly<Partial<Record<CountKey, number>>>;

export interface PartitionReplay {
  readonly partition: number;
  readonly position: number;
  readonly to: number;
  readonly counts: Counts;
}

export interface StoredReplay<Kind extends ReplayKind = ReplayKind> {
  readonly of: Kind;
  readonly plan: Plans[Kind];
  readonly partitions: readonly PartitionReplay[];
}

/** Brokers accept 4,096 bytes by default. Positions and counts can grow by at most 650 bytes during a replay. */
const METADATA_MAX_BYTES = 3_400;
const VERSION = 1;

/** The topic that the replay reads. */
export function topicOf(of: ReplayKind, topics: TopicNames): string {
  return of === "calls" ? topics.calls : topics.deadLetters;
}

/** The records that are still to be processed. */
export function rangesOf({
  partitions,
}: Pick<StoredReplay, "partitions">): readonly PartitionRange[] {
  return partitions.map(({ partition, position: from, to }) => ({ partition, from, to }));
}

export function encodeReplay({ of, plan, partitions }: StoredReplay): readonly CommittedOffset[] {
  return partitions.map(({ partition, position: offset, to, counts }) => {
    const metadata = JSON.stringify({ v: VERSION, of, ...plan, to, counts });
    return { partition, offset, metadata };
  });
}

/** Returns null if these are not commits of a replay. */
export function decodeReplay<Kind extends ReplayKind>(
  of: Kind,
  commits: readonly CommittedOffset[],
): StoredReplay<Kind> | null {
  let stored: StoredReplay<Kind> | null = null;
  for (const { partition, offset: position, metadata } of commits) {
    const { v, of: kind, to, counts, ...plan } = jsonObjectIn(metadata) ?? {};
    // No other program commits for this group, so all commits with this version were written by `encodeReplay`.
    if (v !== VERSION || kind !== of) return null;
    const at = { partition, position, to, counts } as PartitionReplay;
    const partitions: readonly PartitionReplay[] = [...(stored?.partitions ?? []), at];
    stored = { of, plan: plan as unknown as Plans[Kind], partitions };
  }
  return stored;
}

/** Returns true if the commit metadata is small enough for the brokers to store. */
export function fits<Kind extends ReplayKind>(of: Kind, plan: Plans[Kind]): boolean {
  const at = { partition: 0, position: 0, to: Number.MAX_SAFE_INTEGER, counts: {} };
  const [commit] = encodeReplay({ of, plan, partitions: [at] });
  return Buffer.byteLength(commit?.metadata ?? "") <= METADATA_MAX_BYTES;
}

/** The part of the Kafka admin client that is used here. */
type Groups = Pick<Admin, "committed" | "commit" | "deleteGroup">;

/** The owner is committed for partition 0, which every topic has. */
const OWNER_PARTITION = 0;

export class ReplayStore<Kind extends ReplayKind> {
  readonly name: string;
  readonly by: string;
  readonly #groups: Groups;
  readonly #of: Kind;
  readonly #topic: string;
  readonly #group: string;
  readonly #ownerGroup: string;

  /** @param by this process. */
  constructor(groups: Groups, topics: TopicNames, of: Kind, name: string, by: string) {
    const names = groupNames(topics.prefix);
    this.#groups = groups;
    this.#of = of;
    this.name = name;
    this.by = by;
    this.#topic = topicOf(of, topics);
    this.#group = names.replay(name);
    this.#ownerGroup = names.replayOwner(name);
  }

  /** Returns null if the replay does not exist, or is done. */
  async read(): Promise<StoredReplay<Kind> | null> {
    return decodeReplay(this.#of, await this.#groups.committed(this.#group, this.#topic));
  }

  /** Stores a replay that has not started. Call this before anything is sent. */
  async begin(stored: StoredReplay<Kind>): Promise<void> {
    await this.own();
    await this.commit(encodeReplay(stored));
  }

  /** Makes this process the owner, and returns the replay. Null if the replay does not exist, or is done. */
  async takeOver(): Promise<StoredReplay<Kind> | null> {
    if ((await this.read()) === null) return null;
    await this.own();
    // The positions are read after the takeover, because the previous owner may have committed until then.
    const stored = await this.read();
    if (stored === null) await this.#groups.deleteGroup(this.#ownerGroup);
    return stored;
  }

  async own(): Promise<void> {
    const owner = { partition: OWNER_PARTITION, offset: 0, metadata: this.by };
    await this.#groups.commit(this.#ownerGroup, this.#topic, [owner]);
  }

  /** @throws Error if this process no longer owns the replay. */
  async assertOwned(): Promise<void> {
    const [owner] = await this.#groups.committed(this.#ownerGroup, this.#topic);
    if (owner?.metadata === this.by) return;
    const what = owner === undefined ? "ended the replay" : "taken the replay over";
    throw new Error(`another process has ${what} (group ${this.#group})`);
  }

  async commit(commits: readonly CommittedOffset[]): Promise<void> {
    if (commits.length > 0) await this.#groups.commit(this.#group, this.#topic, commits);
  }

  /** Deletes the commits of a replay that is done. */
  async delete(): Promise<void> {
    await this.#groups.deleteGroup(this.#group);
    await this.#groups.deleteGroup(this.#ownerGroup);
  }
}
