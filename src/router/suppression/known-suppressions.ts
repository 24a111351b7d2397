/**
 * What is known from the topic `suppressions`: the suppressed users and the keys for user hashes. Stages ask it before they
 * do anything for a user.
 *
 *   a call                            matches
 *   has a userId                      if that user is suppressed
 *   is an alias                       also if the user with its previousId is suppressed
 *   has only an anonymousId           never
 *   is a delivery with a header of    if one of the header's users is suppressed (`user-header.ts`)
 *     user hashes
 *
 * Headers are written with the key that was read first, which is the one with the lowest offset. After compaction, or
 * when the topic was recreated, processes may have read the keys in different orders. Each header is therefore compared
 * with all of them.
 */

import type { IncomingRecord } from "../../domain/record.ts";
import { SuppressedUsers } from "./suppressed-users.ts";
import { readSuppression, type SuppressionRecord } from "./suppression-record.ts";
import { type CallIds, UserHeaders } from "./user-header.ts";

/** Called with the ID of a user who was suppressed or lifted. */
type Listener = (userId: string) => void;

export class KnownSuppressions {
  readonly #random: number;
  readonly #listeners = new Set<Listener>();
  #users: SuppressedUsers;
  readonly #keys: UserHeaders[] = [];
  /** Increases with each change. */
  version = 0;

  /** @param random 32 bits that others cannot know. */
  constructor(random: number) {
    this.#random = random;
    this.#users = new SuppressedUsers(random);
  }

  /** The number of suppressed users. */
  get size(): number {
    return this.#users.size;
  }

  /** The keys for user hashes, in the order in which they were read. */
  get keys(): readonly Buffer[] {
    return this.#keys.map(({ key }) => key);
  }

  isSuppressed(userId: string): boolean {
    return this.#users.has(userId);
  }

  matches({ type, userId, previousId }: CallIds): boolean {
    const users = this.#users;
    if (users.size === 0) return false;
    if (userId !== null && users.has(userId)) return true;
    return type === "alias" && previousId !== null && users.has(previousId);
  }

  matchesHeader(header: string): boolean {
    const users = this.#users;
    if (users.size === 0) return false;
    return this.#keys.some((key) => key.some(header, (hashed) => users.hasHash(hashed)));
  }

  /** The header for a delivery whose bytes do not show the call's user; null without a key. */
  headerOf(call: CallIds): string | null {
    return this.#keys[0]?.of(call) ?? null;
  }

  /** Returns a function that removes the listener. */
  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Applies a record. @param users where its user is added or removed; by default here, so that listeners are notified. */
  apply(record: IncomingRecord, users = this.#users): SuppressionRecord {
    const read = readSuppression(record);
    if (read.kind === "suppressed") users.add(read.userId);
    else if (read.kind === "lifted") users.remove(read.userId);
    else if (read.kind === "key") this.#addKey(read.key);
    if ("userId" in read && users === this.#users) this.#changed(read.userId);
    return read;
  }

  /** A set of users for another reading of the whole topic. @param isKept true if it starts with the known users. */
  newUsers(isKept: boolean): SuppressedUsers {
    return isKept ? this.#users.copy() : new SuppressedUsers(this.#random);
  }

  /** @param changed the users of whom listeners are notified. */
  replace(users: SuppressedUsers, changed: readonly string[]): void {
    this.#users = users;
    this.version += 1;
    for (const userId of changed) this.#changed(userId);
  }

  #changed(userId: string): void {
    this.version += 1;
    for (const listener of this.#listeners) listener(userId);
  }

  #addKey(bytes: Buffer): void {
    if (!this.#keys.some(({ key }) => key.equals(bytes))) this.#keys.push(new UserHeaders(bytes));
  }
}
