/**
 * Grants as `KafkaUser` resources of Strimzi, whose user operator makes the users and their rights.
 * The operator takes one resource for each user, so roles of one principal share theirs.
 *
 *   ours                     Strimzi's
 *   prefixed                 patternType: prefix
 *   an entry of several      a rule for each: a rule has one resource
 *     names
 *   the cluster              type: cluster, without a name
 *   sasl scram-sha-512       authentication scram-sha-512: the operator makes a password
 *   a client certificate     authentication tls: the operator makes a certificate
 *   another log-in           no authentication: users and passwords are made elsewhere
 */

import { Document } from "yaml";

import type { Grant } from "../../domain/permissions.ts";
import { RESOURCE_NAME } from "../resource-name.ts";

export interface StrimziOptions {
  /** Of the `Kafka` resource, as the label `strimzi.io/cluster` has it. */
  readonly cluster: string;
  readonly authentication: "scram-sha-512" | "tls" | null;
}

export interface RoleGrants {
  readonly role: string;
  readonly principal: string;
  readonly grants: readonly Grant[];
}

/** The resource's name; null: such a principal cannot be one. */
export function userName(principal: string): string | null {
  const name = /^User:(?:CN=)?(.*)$/.exec(principal)?.[1] ?? "";
  return RESOURCE_NAME.test(name) ? name : null;
}

/** One YAML document for each user. `userName` has taken all principals. */
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
