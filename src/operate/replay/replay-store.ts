/**
 * A replay in Kafka, in the commits of two groups without members:
 *
 *   group                          says                     written
 *   `<prefix>replay.<name>`        how far the replay is    by its owner, after each batch
 *                                  (`stored-replay.ts`)
 *   `<prefix>replay.<name>.owner`  who works on it          by each process that takes it over
 *
 * The last commit counts, and nothing refuses an old one. That is why the owner stands apart from
 * the positions: taking a replay over undoes no progress, and a late commit undoes no take-over.
 * The owner asks twice whether it still is the owner: before it writes a batch, and before it
 * commits. So a process that loses the replay repeats at most the batch in hand:
 *
 *   another process takes the replay over     then the one before
 *   before the question before a batch        stops; it has committed all that it sent
 *   between the two questions                 stops; its batch is sent again
 *   after the second one                      commits and stops; its batch is perhaps sent again
 *
 * Every ten minutes the owner writes its name again, because Kafka forgets. A process that took the
 * replay over in that instant has lost it again, and stops.
 *
 * A replay that is done has no commits. A process that was about to take it over sees that when it
 * reads the positions again. One case remains. A process is frozen between the second answer and
 * its commit, and another one goes on meanwhile. The commit that it makes on waking is old. The
 * other one's next commit puts that right. More than a batch is repeated only if the other one dies
 * first, or has already finished, and the replay is resumed by hand again. Nothing is ever left
 * out.
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

/** The part of Kafka's administration that it takes. */
export type Groups = Pick<Admin, "committed" | "commit" | "deleteGroup">;

/** Every topic has it. */
const OWNER_PARTITION = 0;
/** Clocks of brokers and stages differ a little. */
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

/** A replay that has not started: from the first record of its time to the present ends. */
export async function planReplay<Kind extends ReplayKind>(
  { admin }: Pick<Kafka, "admin">,
  topics: TopicNames,
  of: Kind,
  plan: ReplayPlan<Kind>,
): Promise<StoredReplay<Kind>> {
  // A dead letter's time is its stage's, and a call's is that of the record.
  const sinceMs = "asked" in plan ? plan.asked.sinceMs : marginBefore(plan.filter.sinceMs);
  const ranges = await rangesSince(admin, topicOf(of, topics), sinceMs);
  const partitions = ranges.map(({ partition, from, to }) => {
    return { partition, position: from, to, counts: {} };
  });
  return { of, plan, partitions };
}

/** From where dead letters of a time are read. */
export function marginBefore(sinceMs: number | null): number | null {
  return sinceMs === null ? null : sinceMs - CLOCK_MARGIN_MS;
}

/** A new replay, or the stored one. @param by the process that takes it over; null: it only counts. */
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

  /** Null: there is no such replay, or it is done. */
  async read(): Promise<StoredReplay<Kind> | null> {
    return decodeReplay(this.#of, await this.#groups.committed(this.#group, this.#topic));
  }

  /** Stores a replay that has not started. Nothing may be sent before. */
  async begin(stored: StoredReplay<Kind>, by: string): Promise<void> {
    await this.own(by);
    await this.commit(encodeReplay(stored));
  }

  /** The replay as it is from when it is this process's. Null: there is none, or it is done. */
  async takeOver(by: string): Promise<StoredReplay<Kind> | null> {
    if ((await this.read()) === null) return null;
    await this.own(by);
    // Only now: until then its owner went on.
    const stored = await this.read();
    if (stored === null) await this.#groups.deleteGroup(this.#ownerGroup);
    return stored;
  }

  async own(by: string): Promise<void> {
    const owner = { partition: OWNER_PARTITION, offset: 0, metadata: by };
    await this.#groups.commit(this.#ownerGroup, this.#topic, [owner]);
  }

  /** @throws Error when the replay is not this process's any more. */
  async assertOwned(by: string): Promise<void> {
    const [owner] = await this.#groups.committed(this.#ownerGroup, this.#topic);
    if (owner?.metadata === by) return;
    const what = owner === undefined ? "ended the replay" : "taken the replay over";
    throw new Error(`another process has ${what} (group ${this.#group})`);
  }

  async commit(commits: readonly CommittedOffset[]): Promise<void> {
    if (commits.length > 0) await this.#groups.commit(this.#group, this.#topic, commits);
  }

  /** The replay is done. */
  async delete(): Promise<void> {
    await this.#groups.deleteGroup(this.#group);
    await this.#groups.deleteGroup(this.#ownerGroup);
  }
}
