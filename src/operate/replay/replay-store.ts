/**
 * A replay in Kafka, in the commits of two groups without members:
 *
 *   group                          says                     written
 *   `<prefix>replay.<name>`        how far the replay is    by its owner, after each batch
 *                                  (`ReplayForm`)
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

import { groupNames, type TopicNames } from "../../domain/topics.ts";
import type { Admin, CommittedOffset } from "../../kafka/port.ts";
import { decodeReplay, encodeReplay, type StoredReplay } from "./stored-replay.ts";

/** The part of Kafka's administration that it takes. */
export type Groups = Pick<Admin, "committed" | "commit" | "deleteGroup">;

/** Every topic has it. */
const OWNER_PARTITION = 0;

/** The topic that a replay reads, and its commits. */
export interface ReplayForm<Stored> {
  readonly topic: (topics: TopicNames) => string;
  readonly encode: (stored: Stored) => readonly CommittedOffset[];
  /** Null: these are no commits of such a replay. */
  readonly decode: (commits: readonly CommittedOffset[]) => Stored | null;
}

const OF_DEAD_LETTERS: ReplayForm<StoredReplay> = {
  topic: ({ deadLetters }) => deadLetters,
  encode: ({ plan, partitions }) => partitions.map((at) => encodeReplay(plan, at)),
  decode: decodeReplay,
};

/** Of dead letters. */
export function deadLetterReplay(groups: Groups, topics: TopicNames, name: string) {
  return new ReplayStore(groups, topics, name, OF_DEAD_LETTERS);
}

export class ReplayStore<Stored> {
  readonly #groups: Groups;
  readonly #form: ReplayForm<Stored>;
  readonly #topic: string;
  readonly #group: string;
  readonly #ownerGroup: string;

  constructor(groups: Groups, topics: TopicNames, name: string, form: ReplayForm<Stored>) {
    const names = groupNames(topics.prefix);
    this.#groups = groups;
    this.#form = form;
    this.#topic = form.topic(topics);
    this.#group = names.replay(name);
    this.#ownerGroup = names.replayOwner(name);
  }

  /** Null: there is no such replay, or it is done. */
  async read(): Promise<Stored | null> {
    return this.#form.decode(await this.#groups.committed(this.#group, this.#topic));
  }

  /** Writes down a replay that has not begun. Nothing may be sent before. */
  async begin(stored: Stored, by: string): Promise<void> {
    await this.own(by);
    await this.commit(this.#form.encode(stored));
  }

  /** The replay as it is from when it is this process's. Null: there is none, or it is done. */
  async takeOver(by: string): Promise<Stored | null> {
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
