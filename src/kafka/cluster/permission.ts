/**
 * Names the permission that a request lacked: the principal, the operation, the resource, and the command that
 * grants it. Brokers return only an error code, which identifies only the type of the resource.
 *
 *   authentication               principal
 *   plain, SCRAM                 the user in `kafka.sasl`
 *   a client certificate         its subject, as brokers print it by default
 *   a token, an MSK role         known only to the brokers
 *   none                         ANONYMOUS
 */

import { X509Certificate } from "node:crypto";

import { aclCommand } from "../../domain/acl-command.ts";
import type { Grant } from "../../domain/permissions.ts";
import { type KafkaConnection, MissingPermissionError } from "../port.ts";
import { causesOf } from "./kafka-error.ts";

/** Kafka's names for errors about a permission, with the resource type; null for types that our requests never use. */
const RESOURCES: Readonly<Record<string, Grant["on"] | null>> = {
  TOPIC_AUTHORIZATION_FAILED: "topic",
  GROUP_AUTHORIZATION_FAILED: "group",
  CLUSTER_AUTHORIZATION_FAILED: "cluster",
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: null,
  DELEGATION_TOKEN_AUTHORIZATION_FAILED: null,
};
/** Maximum number of names in a sentence, so that it remains readable. */
const NAMES_MAX = 5;
const UNKNOWN_PRINCIPAL = "User:<principal>";

export type Identity = Pick<KafkaConnection, "brokers" | "tls" | "sasl">;

/**
 * Adds the missing permission to an error. Any other error is returned unchanged.
 *
 * @param needed the permissions that the request needs; the entry for the resource type in the brokers' error
 *   code is used.
 */
export function withPermission(error: Error, needed: readonly Grant[], identity: Identity): Error {
  const causes = causesOf(error);
  if (causes.some((cause) => cause instanceof MissingPermissionError)) return error;
  const rejected = causes.filter(({ type }) => isAboutPermission(type));
  const type = rejected[0]?.type;
  if (typeof type !== "string") return error;
  const grant = needed.find(({ on }) => on === RESOURCES[type]);
  if (grant === undefined) return new MissingPermissionError(`${type}: ${error.message}`, error);
  const named = rejected.flatMap(({ resource }) => (resource === undefined ? [] : [resource]));
  const names = named.length === 0 ? grant.names : [...new Set(named)];
  return missingPermission({ ...grant, names }, type, identity, error);
}

function missingPermission(
  grant: Grant,
  type: string,
  identity: Identity,
  cause?: unknown,
): MissingPermissionError {
  return new MissingPermissionError(permissionText(grant, type, identity), cause);
}

/** `true` if this is Kafka's name for an error about a permission. */
export function isAboutPermission(type: unknown): boolean {
  return typeof type === "string" && type in RESOURCES;
}

export function permissionText(grant: Grant, type: string, identity: Identity): string {
  const { on, names, operations } = grant;
  const principal = principalOf(identity);
  const whose = principal ?? "the principal of this process";
  const permission = `the permission ${operations.join(" and ")} on ${resourceText(on, names)}`;
  const all = "`switchyard acls` prints everything that a role needs";
  const missing = `${permission} is missing for ${whose} (${type})`;
  if (names.length > NAMES_MAX) return `${missing}; ${all}`;
  const tool = { command: "kafka-acls.sh", bootstrapServer: identity.brokers.join(",") };
  const command = aclCommand(grant, principal ?? UNKNOWN_PRINCIPAL, tool);
  return `${missing}. Grant it: ${command} (${all})`;
}

function resourceText(on: Grant["on"], names: readonly string[]): string {
  if (on === "cluster") return "the cluster";
  const some = names.slice(0, NAMES_MAX).join(", ");
  const more = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : "";
  return `the ${on}${names.length === 1 ? "" : "s"} ${some}${more}`;
}

/** The principal; null if only the brokers can determine it. */
export function principalOf({ tls, sasl }: Identity): string | null {
  if (sasl !== null) return "username" in sasl ? `User:${sasl.username}` : null;
  const cert = tls?.cert ?? null;
  if (cert === null) return "User:ANONYMOUS";
  // Java prints the last part of the name first.
  const parts = new X509Certificate(cert).subject.split("\n").reverse();
  return `User:${parts.join(",")}`;
}
