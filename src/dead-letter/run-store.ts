/**
 * A replay run in Kafka, in the commits of two groups without members:
 *
 *   group                         says                            written
 *   `<prefix>replay.<run>`        how far the run is (`run.ts`)   by its owner, after each batch
 *   `<prefix>replay.<run>.owner`  who works on it                 by whoever takes it over
 *
 * The last commit counts, and nothing refuses an old one. That is why the owner stands apart from
 * the positions: taking a run over undoes no progress, and a late commit undoes no take-over. The
 * owner asks whether it still is before it writes a batch and again before it commits, so that who
 * loses the run repeats at most the batch in hand:
 *
 *   another process takes the run over        then the one before
 *   before the question before a batch        stops; it has committed all that it sent
 *   between the two questions                 stops; its batch is sent again
 *   after the second one                      commits and stops; its batch is perhaps sent again
 *
 * Every ten minutes the owner writes its name again, because Kafka forgets. Whoever took the run over in
 * that instant has lost it again, and stops.
 *
 * A run that is done has no commits. Whoever was about to take it over finds that out when it
 * reads the positions again. What remains: a process that is frozen between the second answer and
 * its commit, while another one goes on. What it commits when it wakes up is old. That is put right
 * by the next commit of the other one. Only where that one dies first, or has already finished, and
 * the run is resumed by hand again, is more than a batch repeated. Nothing is ever left out.
 */

import { groupNames, type TopicNames } from "../domain/topics.ts";
import { type Commit, decodeRun, encodeRun, type StoredRun } from "./run.ts";

/** The part of Kafka's administration that it takes. */
export interface Groups {
  committed(group: string, topic: string): Promise<readonly Commit[]>;
  commit(group: string, topic: string, commits: readonly Commit[]): Promise<void>;
  deleteGroup(group: string): Promise<void>;
}

/** Every topic has it. */
const OWNER_PARTITION = 0;

export class RunStore {
  readonly #groups: Groups;
  readonly #topic: string;
  readonly #group: string;
  readonly #ownerGroup: string;

  constructor(groups: Groups, { prefix, deadLetters }: TopicNames, run: string) {
    const names = groupNames(prefix);
    this.#groups = groups;
    this.#topic = deadLetters;
    this.#group = names.replay(run);
    this.#ownerGroup = names.replayOwner(run);
  }

  /** Null: there is no such run, or it is done. */
  async read(): Promise<StoredRun | null> {
    return decodeRun(await this.#groups.committed(this.#group, this.#topic));
  }

  /** Writes down a run that has not begun. Nothing may be sent before. */
  async begin({ plan, partitions }: StoredRun, by: string): Promise<void> {
    await this.own(by);
    await this.commit(partitions.map((at) => encodeRun(plan, at)));
  }

  /** The run as it is from when it is this process's. Null: there is none, or it is done. */
  async takeOver(by: string): Promise<StoredRun | null> {
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

  /** @throws Error when the run is not this process's any more. */
  async assertOwned(by: string): Promise<void> {
    const [owner] = await this.#groups.committed(this.#ownerGroup, this.#topic);
    if (owner?.metadata === by) return;
    const what = owner === undefined ? "ended the run" : "taken the run over";
    throw new Error(`another process has ${what} (group ${this.#group})`);
  }

  async commit(commits: readonly Commit[]): Promise<void> {
    if (commits.length > 0) await this.#groups.commit(this.#group, this.#topic, commits);
  }

  /** The run is done. */
  async delete(): Promise<void> {
    await this.#groups.deleteGroup(this.#group);
    await this.#groups.deleteGroup(this.#ownerGroup);
  }
}
