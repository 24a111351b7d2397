/**
 * Prints grants as Strimzi `KafkaUser` resources, from which Strimzi's user operator creates users and ACLs. The
 * operator expects one resource per user, so the roles of a principal share a resource.
 *
 *   in Switchyard                in Strimzi
 *   a prefixed grant             patternType: prefix
 *   a grant on several names     one rule per name, because a rule has one resource
 *   a grant on the cluster       type: cluster, without a name
 *   sasl scram-sha-512           authentication scram-sha-512: the operator creates a password
 *   a client certificate         authentication tls: the operator creates a certificate
 *   any other authentication     no authentication, because the operator does not create such users
 */

import { Document } from "yaml";

import type { Grant } from "../../../domain/permissions.ts";
import { RESOURCE_NAME } from "../resource-name.ts";

export interface StrimziOptions {
  /** Name of the `Kafka` resource, for the label `strimzi.io/cluster`. */
  readonly cluster: string;
  readonly authentication: "scram-sha-512" | "tls" | null;
}

export interface RoleGrants {
  readonly role: string;
  readonly principal: string;
  readonly grants: readonly Grant[];
}

/** Returns the name of the resource; null if the principal is not a valid resource name. */
export function userName(principal: string): string | null {
  const name = /^User:(?:CN=)?(.*)$/.exec(principal)?.[1] ?? "";
  return RESOURCE_NAME.test(name) ? name : null;
}

/** Returns one YAML document per user. `userName` must return a name for every principal. */
export function kafkaUsers(roles: readonly RoleGrants[], options: StrimziOptions): string {
  const byUser = Map.groupBy(roles, ({ principal }) => userName(principal) ?? principal);
  return [...byUser].map(([name, ofUser]) => document(name, ofUser, options)).join("---\n");
}

function document(name: string, roles: readonly RoleGrants[], options: StrimziOptions): string {
  const rules = roles.flatMap(({ grants }) => grants.flatMap(rulesOf));
  const distinct = new Map(rules.map((rule) => [JSON.stringify(rule), rule]));
  const { cluster, authentication } = options;
  const user = new Document({
    apiVersion: "kafka.strimzi.io/v1",
    kind: "KafkaUser",
    metadata: { name, labels: { "strimzi.io/cluster": cluster } },
    spec: {
      ...(authentication === null ? {} : { authentication: { type: authentication } }),
      authorization: { type: "simple", acls: [...distinct.values()] },
    },
  });
  user.commentBefore = ` ${roles.map(({ role }) => role).join(", ")}`;
  return user.toString({ lineWidth: 0 });
}

function rulesOf({ on, names, pattern, operations }: Grant): readonly object[] {
  if (on === "cluster") return [{ type: "allow", resource: { type: on }, operations, host: "*" }];
  const patternType = pattern === "prefixed" ? "prefix" : "literal";
  return names.map((name) => {
    return { type: "allow", resource: { type: on, name, patternType }, operations, host: "*" };
  });
}
