/**
 * The source whose calls a request brings.
 *
 *   Authorization          writeKey in the body     result
 *   Basic with a user      whatever                 the source with that key, else unknown
 *   none of the kind       text                     the source with that key, else unknown
 *   none of the kind       absent, empty, no text   missing
 *
 * A key is compared with all keys of all sources, by digests of one length and without an early
 * end, so that the time tells nothing about how much of a guess was right or whose key it was.
 */

import { hash, timingSafeEqual } from "node:crypto";

import type { Source } from "../domain/destination.ts";

export type Authenticated =
  | { readonly kind: "source"; readonly source: Source }
  | { readonly kind: "missing-write-key" }
  | { readonly kind: "unknown-write-key" };

export interface WriteKeys {
  /** @param key as a client gave it. */
  find(key: string): Source | null;
}

export function writeKeys(sources: readonly Source[]): WriteKeys {
  const known = sources.flatMap((source) =>
    source.writeKeys.map((key) => ({ source, digest: digestOf(key) })),
  );
  return {
    find: (key) => {
      const given = digestOf(key);
      let found: Source | null = null;
      for (const { source, digest } of known) if (timingSafeEqual(digest, given)) found = source;
      return found;
    },
  };
}

/** The user name of Basic credentials; null: there is none. */
export function basicUser(authorization: string | undefined): string | null {
  const [, encoded] = /^Basic +([\w+/=-]+) *$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return null;
  const [user = ""] = Buffer.from(encoded, "base64").toString().split(":", 1);
  return user === "" ? null : user;
}

/** @param inBody the body's `writeKey`, of any type. */
export function authenticate(user: string | null, inBody: unknown, keys: WriteKeys): Authenticated {
  const key = user ?? (typeof inBody === "string" && inBody !== "" ? inBody : null);
  if (key === null) return { kind: "missing-write-key" };
  const source = keys.find(key);
  return source === null ? { kind: "unknown-write-key" } : { kind: "source", source };
}

function digestOf(key: string): Buffer {
  return hash("sha256", key, "buffer");
}
