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

import type { Config } from "./config.ts";
import {
  canonicalText,
  plainAudiences,
  plainDestinations,
  plainRest,
  plainSources,
} from "./plain-form.ts";

const HASH_BYTES = 6;
/** 2 MiB and about 10 ms, for which a process stands still at each reading. */
const COST = { N: 2_048, r: 8, p: 1 };
const SALT = "switchyard configuration";

export function configHash(config: Config): string {
  const { audience, ingest, admin } = config;
  const counted = plainRest({
    ...config,
    audience: { ...audience, stateDir: "" },
    ingest: { ...ingest, host: "", port: 0 },
    admin: { ...admin, host: "", port: 0 },
  });
  const lists = [plainSources(config), plainDestinations(config), plainAudiences(config)];
  const text = canonicalText([counted, ...lists.map((list) => Object.fromEntries(list))]);
  const digest = createHash("sha256").update(text).digest();
  return scryptSync(digest, SALT, HASH_BYTES, COST).toString("hex");
}
