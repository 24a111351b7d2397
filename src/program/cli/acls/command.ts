/**
 * `switchyard acls`: prints the Kafka ACLs that each stage and command needs, as kafka-acls commands or as
 * Strimzi resources. Does not connect to Kafka, and changes nothing.
 */

import { Command, Option } from "commander";
import { WrongUsage } from "../../../base/words/wrong-usage.ts";
import type { Config } from "../../../config/config.ts";
import { aclCommand } from "../../../domain/acl-command.ts";
import { grantsOf, ROLE_NAMES, type RoleName } from "../../../domain/permissions.ts";
import { groupNames } from "../../../domain/topics.ts";
import {
  type ConfigOption,
  configOption,
  configured,
} from "../../../operator/connect/configuration.ts";
import { configuredTopics } from "../../../operator/connect/connection.ts";
import type { Shell } from "../../../operator/connect/shell.ts";
import type { RoleGrants } from "./strimzi.ts";

interface AclsOptions extends ConfigOption {
  readonly principal: string;
  readonly roles?: string;
  readonly tool: string;
  readonly output: "commands" | "strimzi" | "json";
  readonly json?: boolean;
  readonly cluster: string;
}

const ROLE = "{role}";

export function aclsCommand(shell: Shell): Command {
  return new Command("acls")
    .description(
      "Prints the minimum Kafka ACLs of each stage and command, as kafka-acls commands that create " +
        "them, or as Strimzi KafkaUser resources. Does not connect to Kafka, and changes nothing.",
    )
    .addOption(configOption())
    .option(
      "--principal <name>",
      "principal; {role} is replaced by the role",
      `User:switchyard-${ROLE}`,
    )
    .option("--roles <names>", "only these roles, separated by commas")
    .addOption(
      new Option("--output <form>", "kafka-acls commands, KafkaUser resources, or JSON")
        .choices(["commands", "strimzi", "json"])
        .default("commands"),
    )
    .option(
      "--tool <command>",
      "with --output commands: the tool to run, with its own options",
      "kafka-acls.sh",
    )
    .option("--json", "the same as --output json")
    .option(
      "--cluster <name>",
      "with --output strimzi: the name of the Kafka resource",
      "my-cluster",
    )
    .addHelpText(
      "after",
      `\nRoles: ${rolesText()}.\n\n` +
        "To use one principal for all roles, set --principal User:switchyard. If kafka.createTopics is set,\n" +
        "the ACLs allow stages to create topics that begin with the prefix.\n\n" +
        "Exit status: 0 on success; 2 if the usage or configuration is invalid.\n\nExamples:\n" +
        "  switchyard acls --config switchyard.yaml\n" +
        "  switchyard acls --roles deliver,delay --principal User:sender --config switchyard.yaml\n" +
        "  switchyard acls --output strimzi --cluster prod -c switchyard.yaml | kubectl apply -f -\n" +
        "  switchyard acls --tool 'kafka-acls.sh --command-config admin.properties' -c switchyard.yaml",
    )
    .action(async (options: AclsOptions) => {
      const roles = rolesOf(options.roles);
      if (options.principal.trim() === "") {
        throw new WrongUsage("--principal is empty. Set a name, such as User:switchyard.");
      }
      const { config } = await configured(options, shell);
      const rights = rightsOf(roles, options.principal, config);
      if (options.output === "json" || options.json === true) {
        shell.out(`${JSON.stringify({ roles: rights }, undefined, 2)}\n`);
        return;
      }
      if (options.output === "commands") {
        const tool = { command: options.tool, bootstrapServer: config.kafka.brokers.join(",") };
        for (const { role, principal, grants } of rights) {
          shell.out(`# ${role}\n`);
          for (const grant of grants) shell.out(`${aclCommand(grant, principal, tool)}\n`);
        }
        return;
      }
      const { kafkaUsers, userName } = await import("./strimzi.ts");
      const unfit = rights.find(({ principal }) => userName(principal) === null);
      if (unfit !== undefined) {
        const expected = "Expected User: and lower-case letters, digits, dashes and dots";
        throw new WrongUsage(`${unfit.principal} is not a valid name of a KafkaUser. ${expected}.`);
      }
      const authentication = authenticationOf(config);
      shell.out(kafkaUsers(rights, { cluster: options.cluster, authentication }));
    });
}

/** The text is wrapped to lines of at most 100 characters here, because commander does not wrap it. */
function rolesText(): string {
  const half = Math.ceil(ROLE_NAMES.length / 2);
  return `${ROLE_NAMES.slice(0, half).join(", ")},\n${ROLE_NAMES.slice(half).join(", ")}`;
}

function rightsOf(
  roles: readonly RoleName[],
  principal: string,
  config: Config,
): readonly RoleGrants[] {
  const { topicPrefix, createTopics } = config.kafka;
  const rules = { makesTopics: createTopics, acts: !config.console.readOnly };
  const [topics, groups] = [configuredTopics(config), groupNames(topicPrefix)];
  return roles.map((role) => ({
    role,
    principal: principal.replaceAll(ROLE, role),
    grants: grantsOf(role, topics, groups, rules),
  }));
}

/** Null if Strimzi cannot create credentials for this kind of authentication. */
function authenticationOf({ kafka }: Config): "scram-sha-512" | "tls" | null {
  if (kafka.sasl !== null) {
    return kafka.sasl.mechanism === "scram-sha-512" ? "scram-sha-512" : null;
  }
  return kafka.tls !== null && kafka.tls.cert !== null ? "tls" : null;
}

function rolesOf(text: string | undefined): readonly RoleName[] {
  if (text === undefined) return ROLE_NAMES;
  const asked = text.split(",").map((name) => name.trim());
  const names = ROLE_NAMES.filter((name) => asked.includes(name));
  const unknown = asked.find((name) => !names.some((known) => known === name));
  if (unknown === undefined) return names;
  throw new WrongUsage(`"${unknown}" is not a role. Roles: ${ROLE_NAMES.join(", ")}.`);
}
