/**
 * Finds the source that a request's calls belong to.
 *
 *   Authorization          writeKey in the body     result
 *   Basic with a user      anything                 the source with that key, otherwise unknown
 *   absent or not Basic    a string                 the source with that key, otherwise unknown
 *   absent or not Basic    absent, empty, not       missing
 *                          a string
 *
 * A key is looked up by its digest. A guess that shares its first characters with a key has a completely different
 * digest, so the duration of the lookup reveals nothing about a key.
 */

import { hash } from "node:crypto";

import type { Source } from "../../domain/destination.ts";

export type Authenticated =
  | { readonly kind: "source"; readonly source: Source }
  | { readonly kind: "missing-write-key" }
  | { readonly kind: "unknown-write-key" };

export interface WriteKeys {
  /** @param key the key as the client sent it. */
  find(key: string): Source | null;
}

export function writeKeys(sources: readonly Source[]): WriteKeys {
  const known = new Map(
    sources.flatMap((source) => source.writeKeys.map((key) => [digestOf(key), source] as const)),
  );
  return { find: (key) => known.get(digestOf(key)) ?? null };
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

function digestOf(key: string): string {
  return hash("sha256", key, "base64");
}
