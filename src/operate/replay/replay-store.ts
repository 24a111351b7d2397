/**
 * Stores a replay in Kafka, in the commits of two groups without members:
 *
 *   group                          stores                     written by
 *   `<prefix>replay.<name>`        the plan and the progress  its owner, after each batch
 *                                  (`stored-replay.ts`)
 *   `<prefix>replay.<name>.owner`  the owner's name           each process that takes the replay over
 *
 * The last commit counts, and Kafka does not reject an outdated one. So the owner is stored separately from the
 * positions: a takeover does not undo progress, and a late commit does not undo a takeover. The owner checks twice that
 * it is still the owner: before it writes a batch, and before it commits. So a process that loses the replay repeats at
 * most one batch:
 *
 *   another process takes the replay over     the previous owner
 *   before the first check                    stops; it has committed everything that it sent
 *   between the two checks                    stops; its batch is sent again
 *   after the second check                    commits and stops; its batch may be sent again
 *
 * Every ten minutes the owner writes its name again, because Kafka deletes old commits. If another process took the
 * replay over at the same time, that process loses the replay and stops.
 *
 * A replay that is done has no commits. A process that was about to take it over finds no commits when it reads the
 * positions again. One case remains: a process is frozen between the second check and its commit, another process
 * continues meanwhile, and the first process commits an outdated position when it wakes up. The next commit of the
 * other process corrects the position. More than a batch is repeated only if the other process ends before that commit
 * and an operator resumes the replay. No record is ever omitted.
 */

import { randomBytes } from "node:crypto";
import { groupNames, type TopicNames } from "../../domain/topics.ts";
import type { Admin, CommittedOffset, Kafka } from "../../kafka/port.ts";
import { rangesSince } from "./read-records.ts";
import {
  decodeReplay,
  encodeReplay,
  type ReplayKind,
  type ReplayPlan,
  type StoredReplay,
  topicOf,
} from "./stored-replay.ts";

/** The part of the Kafka admin client that is used here. */
export type Groups = Pick<Admin, "committed" | "commit" | "deleteGroup">;

/** Every topic has this partition. */
const OWNER_PARTITION = 0;
/** The clocks of brokers and stages differ a little. */
const CLOCK_MARGIN_MS = 300_000;

/** Start a replay, or resume one. */
export type ChosenReplay<Kind extends ReplayKind> =
  | { readonly kind: "new"; readonly plan: ReplayPlan<Kind> }
  | { readonly kind: "resume"; readonly name: string; readonly perSecond: number | null };

/** Sorts by time: `20260301-093015-3f9c`. */
export function newReplayName(): string {
  const [date = "", time = ""] = new Date().toISOString().slice(0, 19).split("T");
  const stamp = `${date.replaceAll("-", "")}-${time.replaceAll(":", "")}`;
  return `${stamp}-${randomBytes(2).toString("hex")}`;
}

/** Plans a replay from the first record of its time range to the current ends of the partitions. */
export async function planReplay<Kind extends ReplayKind>(
  { admin }: Pick<Kafka, "admin">,
  topics: TopicNames,
  of: Kind,
  plan: ReplayPlan<Kind>,
): Promise<StoredReplay<Kind>> {
  // The time of a dead letter is set by the stage that wrote it; the time of a call is that of its record.
  const sinceMs = "asked" in plan ? plan.asked.sinceMs : marginBefore(plan.filter.sinceMs);
  const ranges = await rangesSince(admin, topicOf(of, topics), sinceMs);
  const partitions = ranges.map(({ partition, from, to }) => {
    return { partition, position: from, to, counts: {} };
  });
  return { of, plan, partitions };
}

/** The offsets from which dead letters of a time range are read. */
export function marginBefore(sinceMs: number | null): number | null {
  return sinceMs === null ? null : sinceMs - CLOCK_MARGIN_MS;
}

/** A new or a stored replay. @param by the process that takes the replay over; null if it only counts. */
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

  /** Null if the replay does not exist, or is done. */
  async read(): Promise<StoredReplay<Kind> | null> {
    return decodeReplay(this.#of, await this.#groups.committed(this.#group, this.#topic));
  }

  /** Stores a replay that has not started. Must be called before anything is sent. */
  async begin(stored: StoredReplay<Kind>, by: string): Promise<void> {
    await this.own(by);
    await this.commit(encodeReplay(stored));
  }

  /** The replay from the time at which this process owns it. Null if it does not exist, or is done. */
  async takeOver(by: string): Promise<StoredReplay<Kind> | null> {
    if ((await this.read()) === null) return null;
    await this.own(by);
    // The positions are read only now, because the previous owner may have committed until the takeover.
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
