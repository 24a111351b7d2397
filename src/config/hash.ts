/**
 * A configuration in 12 hex digits. Processes with the same digits run the same configuration.
 *
 * Everything counts: decoded values, the content of secret files and of TLS files. The order counts
 * neither in maps nor in the lists of sources, destinations and audiences, which go by their ids.
 * Where a process listens and keeps its state does not count either, so that processes on one machine
 * can be compared.
 *
 * The digits are public, on the port of metrics. A plain digest would let anybody who knows the
 * rest of the configuration try a billion passwords a second. `scrypt` makes each try cost
 * milliseconds and megabytes.
 */

import { createHash, scryptSync } from "node:crypto";

import { isMap } from "./collections.ts";
import type { Config } from "./config.ts";

const HASH_BYTES = 6;
/** 8 MiB and about 15 ms. */
const COST = { N: 8_192, r: 8, p: 1 };
const SALT = "switchyard configuration";

export function configHash(config: Config): string {
  const { audience, ingest, admin } = config;
  const counted = {
    ...config,
    audience: { ...audience, stateDir: null },
    ingest: { ...ingest, host: null, port: null },
    admin: { ...admin, host: null, port: null },
    sources: byId(config.sources),
    destinations: byId(config.destinations),
    audiences: byId(config.audiences),
  };
  const digest = createHash("sha256").update(canonicalText(counted)).digest();
  return scryptSync(digest, SALT, HASH_BYTES, COST).toString("hex");
}

function byId<Entry extends { readonly id: string }>(entries: readonly Entry[]): readonly Entry[] {
  return entries.toSorted((a, b) => (a.id < b.id ? -1 : Number(a.id > b.id)));
}

/** JSON with the keys of maps in order. */
export function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (!isMap(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
