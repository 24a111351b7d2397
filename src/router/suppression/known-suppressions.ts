/**
 * What is known from the topic `suppressions`: the suppressed users and the key for user hashes. Stages ask it before they
 * do anything for a user.
 *
 *   a call                            matches
 *   has a userId                      if that user is suppressed
 *   is an alias                       also if the user with its previousId is suppressed
 *   has only an anonymousId           never
 *   is a delivery with a header of    if one of the header's users is suppressed (`user-header.ts`)
 *     user hashes
 */

import type { IncomingRecord } from "../../domain/record.ts";
import { SuppressedUsers } from "./suppressed-users.ts";
import { readSuppression } from "./suppression-record.ts";
import { type CallIds, UserHeaders } from "./user-header.ts";

/** Called with the ID of a user who was suppressed or lifted. */
type Listener = (userId: string) => void;

/** The result of a record. */
export type Applied =
  | { readonly kind: "user"; readonly userId: string }
  | { readonly kind: "key" }
  | { readonly kind: "invalid"; readonly error: string };

interface Key {
  readonly bytes: Buffer;
  readonly offset: number;
  readonly headers: UserHeaders;
}

const KEY: Applied = { kind: "key" };

export class KnownSuppressions {
  readonly #random: number;
  readonly #listeners = new Set<Listener>();
  #users: SuppressedUsers;
  #key: Key | null = null;
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

  /** The key for user hashes; null if the topic contained none. */
  get key(): Buffer | null {
    return this.#key?.bytes ?? null;
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
    if (users.size === 0 || this.#key === null) return false;
    return this.#key.headers.some(header, (hashed) => users.hasHash(hashed));
  }

  /** The header for a delivery whose bytes do not show the call's user; null without a key. */
  headerOf(call: CallIds): string | null {
    return this.#key?.headers.of(call) ?? null;
  }

  /** Returns a function that removes the listener. */
  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Applies a record. @param users where its user is added or removed, if not here. */
  apply(record: IncomingRecord, users = this.#users): Applied {
    const read = readSuppression(record);
    switch (read.kind) {
      case "suppressed":
        users.add(read.userId);
        return { kind: "user", userId: read.userId };
      case "lifted":
        users.remove(read.userId);
        return { kind: "user", userId: read.userId };
      case "key":
        this.#useKey(read.key, record.offset);
        return KEY;
      case "invalid":
        return read;
    }
  }

  /** An empty set of users, for another reading of the whole topic. */
  newUsers(): SuppressedUsers {
    return new SuppressedUsers(this.#random);
  }

  replace(users: SuppressedUsers): void {
    this.#users = users;
    this.version += 1;
  }

  /** The topic lost its key: the next one that is read is used, even if its offset is higher. */
  forgetKeyOffset(): void {
    if (this.#key !== null) this.#key = { ...this.#key, offset: Number.POSITIVE_INFINITY };
  }

  /** Notifies listeners of a user who was suppressed or lifted. */
  tell(userId: string): void {
    this.version += 1;
    for (const listener of this.#listeners) listener(userId);
  }

  #useKey(bytes: Buffer, offset: number): void {
    if (this.#key !== null && this.#key.offset <= offset) return;
    this.#key = { bytes, offset, headers: new UserHeaders(bytes) };
  }
}
