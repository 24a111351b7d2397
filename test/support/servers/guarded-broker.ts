/** A broker that grants each user exactly the permissions of a test. A second listener needs no authentication. */

import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  Kafka as KafkajsClient,
  ResourcePatternTypes,
} from "kafkajs";

import type { Grant } from "../../../src/domain/permissions.ts";
import type { chooseJava } from "../../../tools/kafka/choose.ts";
import { freePort } from "../../../tools/kafka/free-port.ts";
import { killBroker, prepareBroker, startBroker } from "../../../tools/kafka/java.ts";

const LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule";
const never = new AbortController().signal;

/** The password of every user. */
export const PASSWORD = "secret";

export interface GuardedBroker {
  /** The address without authentication, at which every client has all permissions. */
  readonly openAddress: string;
  /** The address for users, who authenticate with SASL/PLAIN. */
  readonly guardedAddress: string;
  readonly directory: string;
  readonly grant: (user: string, grants: readonly Grant[]) => Promise<void>;
  /** Revokes all permissions of the user on these topics or groups. */
  readonly revoke: (user: string, grants: readonly Grant[]) => Promise<void>;
  /** Denies permissions, even if an ACL grants them; `permit` ends that. */
  readonly forbid: (user: string, grants: readonly Grant[]) => Promise<void>;
  readonly permit: (user: string, grants: readonly Grant[]) => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function startGuardedBroker(
  { java, jars }: Awaited<ReturnType<typeof chooseJava>>,
  users: readonly string[],
): Promise<GuardedBroker> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-guarded-"));
  const broker = await prepareBroker(java, jars, directory, never);
  const port = await freePort();
  const settings = join(directory, "server.properties");
  appendFileSync(settings, `\n${guarded(readFileSync(settings, "utf8"), port, users)}`);
  const running = await startBroker(broker, "guarded", never);
  const admin = new KafkajsClient({ brokers: [broker.address], logLevel: 0 }).admin();
  await admin.connect();
  return {
    openAddress: broker.address,
    guardedAddress: `127.0.0.1:${port}`,
    directory,
    grant: async (user, grants) => {
      await admin.createAcls({ acl: grants.flatMap((grant) => entries(user, grant)) });
    },
    revoke: async (user, grants) => {
      const filters = grants.flatMap((grant) => entries(user, grant));
      await admin.deleteAcls({ filters });
    },
    forbid: async (user, grants) => {
      await admin.createAcls({
        acl: grants.flatMap((grant) => entries(user, grant, AclPermissionTypes.DENY)),
      });
    },
    permit: async (user, grants) => {
      await admin.deleteAcls({
        filters: grants.flatMap((grant) => entries(user, grant, AclPermissionTypes.DENY)),
      });
    },
    stop: async () => {
      await admin.disconnect();
      await killBroker(running);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function guarded(properties: string, port: number, users: readonly string[]): string {
  const value = (key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(properties)?.[1];
  const known = users.map((user) => `user_${user}="${PASSWORD}"`).join(" ");
  const listener = `,SASL://127.0.0.1:${port}`;
  return [
    `listeners=${value("listeners")}${listener}`,
    `advertised.listeners=${value("advertised.listeners")}${listener}`,
    `listener.security.protocol.map=${value("listener.security.protocol.map")},SASL:SASL_PLAINTEXT`,
    "sasl.enabled.mechanisms=PLAIN",
    `listener.name.sasl.plain.sasl.jaas.config=${LOGIN} required ${known};`,
    "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    // The user of connections without authentication.
    "super.users=User:ANONYMOUS",
    "allow.everyone.if.no.acl.found=false",
    "",
  ].join("\n");
}

const OPERATIONS = {
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
  Describe: AclOperationTypes.DESCRIBE,
  Create: AclOperationTypes.CREATE,
  Delete: AclOperationTypes.DELETE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
  AlterConfigs: AclOperationTypes.ALTER_CONFIGS,
  IdempotentWrite: AclOperationTypes.IDEMPOTENT_WRITE,
} as const;
const RESOURCES = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
  cluster: AclResourceTypes.CLUSTER,
} as const;

function entries(
  user: string,
  { on, names, pattern, operations }: Grant,
  permissionType = AclPermissionTypes.ALLOW,
) {
  const isPrefixed = pattern === "prefixed";
  return (on === "cluster" ? ["kafka-cluster"] : names).flatMap((resourceName) =>
    operations.map((operation) => ({
      resourceType: RESOURCES[on],
      resourceName,
      resourcePatternType: isPrefixed
        ? ResourcePatternTypes.PREFIXED
        : ResourcePatternTypes.LITERAL,
      principal: `User:${user}`,
      host: "*",
      operation: OPERATIONS[operation],
      permissionType,
    })),
  );
}
