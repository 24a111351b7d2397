/**
 * Stores a replay in Kafka, in the commits of two groups without members:
 *
 *   group                          stores                     written by
 *   `<prefix>replay.<name>`        the plan and the progress  its owner, after each batch
 *                                  (`stored-replay.ts`)
 *   `<prefix>replay.<name>.owner`  the owner's name           each process that takes the replay over
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

import { randomBytes } from "node:crypto";
import { groupNames, type TopicNames } from "../../domain/topics.ts";
import type { Admin, CommittedOffset, Kafka } from "../../kafka/port.ts";
import { type Range, rangesSince } from "./read-records.ts";
import {
  type CallReplayPlan,
  decodeReplay,
  encodeReplay,
  type ReplayKind,
  type ReplayPlan,
  type StoredReplay,
  topicOf,
} from "./stored-replay.ts";

/** The part of the Kafka admin client that is used here. */
export type Groups = Pick<Admin, "committed" | "commit" | "deleteGroup">;

/** The owner is committed for partition 0, which every topic has. */
const OWNER_PARTITION = 0;
/** The clocks of brokers and stages are assumed to differ by less than this. */
const CLOCK_MARGIN_MS = 300_000;

/** The plan of a new replay, or the name of a replay to resume. */
export type ChosenReplay<Kind extends ReplayKind> =
  | { readonly kind: "new"; readonly plan: ReplayPlan<Kind> }
  | { readonly kind: "resume"; readonly name: string; readonly perSecond: number | null };

/** Creates a name that sorts by time, such as `20260301-093015-3f9c`. */
export function newReplayName(): string {
  const [date = "", time = ""] = new Date().toISOString().slice(0, 19).split("T");
  const stamp = `${date.replaceAll("-", "")}-${time.replaceAll(":", "")}`;
  return `${stamp}-${randomBytes(2).toString("hex")}`;
}

/**
 * Plans a replay from the first record of its time range to the current ends of the partitions, or of one record.
 * @throws Error if this record no longer exists.
 */
export async function planReplay<Kind extends ReplayKind>(
  { admin }: Pick<Kafka, "admin">,
  topics: TopicNames,
  of: Kind,
  plan: ReplayPlan<Kind>,
): Promise<StoredReplay<Kind>> {
  // The time of a dead letter comes from the clock of its stage, so there is a margin. The time of a call is the time
  // of its record.
  const sinceMs = "asked" in plan ? plan.asked.sinceMs : marginBefore(plan.filter.sinceMs);
  const all = await rangesSince(admin, topicOf(of, topics), sinceMs);
  const only = "asked" in plan ? plan.only : undefined;
  const ranges = only === undefined ? all : all.flatMap((range) => oneRecord(range, only));
  if (ranges.length === 0) throw new Error("This call no longer exists: its retention has ended.");
  const partitions = ranges.map(({ partition, from, to }) => {
    return { partition, position: from, to, counts: {} };
  });
  return { of, plan, partitions };
}

function oneRecord(
  { partition, from, to }: Range,
  { partition: own, offset }: NonNullable<CallReplayPlan["only"]>,
): readonly Range[] {
  const isIn = partition === own && from <= offset && offset < to;
  return isIn ? [{ partition, from: offset, to: offset + 1 }] : [];
}

/** The time from which records are read to find all dead letters of a time range. */
export function marginBefore(sinceMs: number | null): number | null {
  return sinceMs === null ? null : sinceMs - CLOCK_MARGIN_MS;
}

/** Opens a new or a stored replay. @param by the process that takes over the replay; null if it only counts. */
export async function openReplay<Kind extends ReplayKind>(
  kafka: Pick<Kafka, "admin">,
  topics: TopicNames,
  of: Kind,
  chosen: ChosenReplay<Kind>,
  by: string | null,
): Promise<StoredReplay<Kind> | null> {
  if (chosen.kind === "new") return planReplay(kafka, topics, of, chosen.plan);
  const store = new ReplayStore(kafka.admin, topics, chosen.name, of);
  const stored = by === null ? await store.read() : await store.takeOver(by);
  if (stored === null) return null;
  const perSecond = chosen.perSecond ?? stored.plan.perSecond;
  return { ...stored, plan: { ...stored.plan, perSecond } };
}

export class ReplayStore<Kind extends ReplayKind> {
  readonly #groups: Groups;
  readonly #of: Kind;
  readonly #topic: string;
  readonly #group: string;
  readonly #ownerGroup: string;

  constructor(groups: Groups, topics: TopicNames, name: string, of: Kind) {
    const names = groupNames(topics.prefix);
    this.#groups = groups;
    this.#of = of;
    this.#topic = topicOf(of, topics);
    this.#group = names.replay(name);
    this.#ownerGroup = names.replayOwner(name);
  }

  /** Returns null if the replay does not exist, or is done. */
  async read(): Promise<StoredReplay<Kind> | null> {
    return decodeReplay(this.#of, await this.#groups.committed(this.#group, this.#topic));
  }

  /** Stores a replay that has not started. Call this before anything is sent. */
  async begin(stored: StoredReplay<Kind>, by: string): Promise<void> {
    await this.own(by);
    await this.commit(encodeReplay(stored));
  }

  /** Makes this process the owner, and returns the replay. Null if the replay does not exist, or is done. */
  async takeOver(by: string): Promise<StoredReplay<Kind> | null> {
    if ((await this.read()) === null) return null;
    await this.own(by);
    // The positions are read after the takeover, because the previous owner may have committed until then.
    const stored = await this.read();
    if (stored === null) await this.#groups.deleteGroup(this.#ownerGroup);
    return stored;
  }

  async own(by: string): Promise<void> {
    const owner = { partition: OWNER_PARTITION, offset: 0, metadata: by };
    await this.#groups.commit(this.#ownerGroup, this.#topic, [owner]);
  }

  /** @throws Error if this process no longer owns the replay. */
  async assertOwned(by: string): Promise<void> {
    const [owner] = await this.#groups.committed(this.#ownerGroup, this.#topic);
    if (owner?.metadata === by) return;
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
