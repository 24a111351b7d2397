/**
 * The header by which the deliver stage finds out whether a delivery's user is suppressed, if the delivery's bytes do not
 * show the user (`switchyard-user-hash`).
 *
 *   the destination's rules                                      header
 *   do not change the call, or keep its user ID                  none: the bytes show the user
 *   change the user ID, or change an alias, whose `previousId`   the hash of the user ID; for an alias, also that of
 *     may be different                                             the previousId, separated by a comma
 *   change a call that had no user ID, and may give it one       `-`: no user
 *
 *   the header of a delivery                                     matches
 *   none                                                         the user ID in its bytes (`known-suppressions.ts`)
 *   `-`                                                          nobody
 *   hashes                                                       if one of them is that of a suppressed user
 *   anything else                                                nobody
 *
 * A hash is the first 128 bits of the SHA-256 of the ID, encrypted with a key on the topic `suppressions`
 * (`suppression-record.ts`). A reader of the delivery without that key can therefore not test user IDs. A topic
 * destination gets no header, because its deliveries are never attempted.
 */

import { type Cipheriv, createCipheriv, createDecipheriv, type Decipheriv } from "node:crypto";
import { type UserHash, userHash } from "./suppressed-users.ts";

/** The IDs of a call that can match. */
export interface CallIds {
  readonly type: string;
  readonly userId: string | null;
  readonly previousId: string | null;
}

const NO_USER = "-";
/** One block of the cipher. It is encrypted alone, so no mode with an initialization vector is needed. */
const CIPHER = "aes-128-ecb";
const HASH_CHARACTERS = 22;

export class UserHeaders {
  readonly key: Buffer;
  readonly #encrypt: Cipheriv;
  readonly #decrypt: Decipheriv;

  /** @param key 16 bytes. */
  constructor(key: Buffer) {
    this.key = key;
    this.#encrypt = createCipheriv(CIPHER, key, null);
    this.#decrypt = createDecipheriv(CIPHER, key, null).setAutoPadding(false);
  }

  of({ type, userId, previousId }: CallIds): string {
    if (userId === null) return NO_USER;
    const hashed = this.#hashed(userId);
    return type === "alias" && previousId !== null
      ? `${hashed},${this.#hashed(previousId)}`
      : hashed;
  }

  /** Returns true if the condition is true for one of the hashes in the header. */
  some(header: string, holds: (hashed: UserHash) => boolean): boolean {
    return header.split(",", 2).some((text) => {
      if (text.length !== HASH_CHARACTERS) return false;
      const block = Buffer.from(text, "base64url");
      if (block.length !== 16) return false;
      return holds(wordsOf(this.#decrypt.update(block)));
    });
  }

  #hashed(userId: string): string {
    const words = userHash(userId);
    const block = Buffer.alloc(16);
    for (const [at, word] of words.entries()) block.writeUInt32LE(word, 4 * at);
    return this.#encrypt.update(block).toString("base64url");
  }
}

function wordsOf(block: Buffer): UserHash {
  return Uint32Array.from({ length: 4 }, (_, at) => block.readUInt32LE(4 * at));
}
