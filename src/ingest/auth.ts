/**
 * Finds the source that a request's calls belong to.
 *
 *   Authorization          writeKey in the body     result
 *   Basic with a user      anything                 the source with that key, otherwise unknown
 *   absent or not Basic    a string                 the source with that key, otherwise unknown
 *   absent or not Basic    absent, empty, not       missing
 *                          a string
 *
 * A key is compared with the keys of all sources. The comparison uses digests of equal length and never stops early,
 * so that its duration does not reveal how much of a guessed key is correct, or which source has a similar key.
 */

import { hash, timingSafeEqual } from "node:crypto";

import type { Source } from "../domain/destination.ts";

export type Authenticated =
  | { readonly kind: "source"; readonly source: Source }
  | { readonly kind: "missing-write-key" }
  | { readonly kind: "unknown-write-key" };

export interface WriteKeys {
  /** @param key the key as the client sent it. */
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

/** The user name of Basic credentials; null if there are none. */
export function basicUser(authorization: string | undefined): string | null {
  const [, encoded] = /^Basic +([\w+/=-]+) *$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return null;
  const [user = ""] = Buffer.from(encoded, "base64").toString().split(":", 1);
  return user === "" ? null : user;
}

/** @param inBody the `writeKey` in the body, which may be of any type. */
export function authenticate(user: string | null, inBody: unknown, keys: WriteKeys): Authenticated {
  const key = user ?? (typeof inBody === "string" && inBody !== "" ? inBody : null);
  if (key === null) return { kind: "missing-write-key" };
  const source = keys.find(key);
  return source === null ? { kind: "unknown-write-key" } : { kind: "source", source };
}

function digestOf(key: string): Buffer {
  return hash("sha256", key, "buffer");
}
