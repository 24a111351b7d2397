/**
 * Computes 12 hex digits that identify a configuration. Processes with the same digits run the same configuration.
 *
 * The hash covers decoded values and the content of secret files. It ignores the order of maps and of the lists of
 * sources, destinations and audiences, whose entries are identified by their IDs. It also ignores settings that may
 * differ between processes on purpose:
 *
 *   kafka.sasl, kafka.tls        each stage may have a separate user and certificate
 *   registry credentials, tls    the same
 *   ingest, admin                addresses, certificates and limits of one process's ports
 *   console                      only one process serves it
 *   audience.stateDir            where a process keeps its state
 *   log, metrics, tracing        what a process reports about itself, and to which agent
 *
 * The hash covers `ingest.corsOrigins`, because the origins that may send calls must not depend on the process that
 * responds.
 *
 * The digits are public, because the admin port serves them. With a plain digest, anybody who has the rest of the
 * configuration could try a billion passwords per second. With `scrypt`, each try takes milliseconds and megabytes.
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
/**
 * With these values, a hash takes 2 MiB and about 10 ms. The process is blocked for that time whenever it reads the
 * configuration.
 */
const COST = { N: 2_048, r: 8, p: 1 };
const SALT = "switchyard configuration";

const OF_ONE_PROCESS = {
  ingest: null,
  admin: null,
  console: null,
  log: null,
  metrics: null,
  tracing: null,
};

export function configHash(config: Config): string {
  const { kafka, registry, audience, ingest } = config;
  const rest = plainRest({
    ...config,
    kafka: { ...kafka, sasl: null, tls: null },
    registry: registry && { ...registry, authentication: null, tls: null },
    audience: { ...audience, stateDir: "" },
  });
  const counted = { ...rest, ...OF_ONE_PROCESS, corsOrigins: ingest.corsOrigins };
  const lists = [plainSources(config), plainDestinations(config), plainAudiences(config)];
  const text = canonicalText([counted, ...lists.map((list) => Object.fromEntries(list))]);
  const digest = createHash("sha256").update(text).digest();
  return scryptSync(digest, SALT, HASH_BYTES, COST).toString("hex");
}
