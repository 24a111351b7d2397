/**
 * `switchyard acls`: the least rights on Kafka of each stage and command, as commands that grant
 * them. It asks no broker, and changes nothing.
 */

import { Command } from "commander";

import { type Grant, grantsOf, ROLE_NAMES, type RoleName } from "../../domain/rights.ts";
import { groupNames } from "../../domain/topics.ts";
import { type ConfigOption, configOption, loadOrExplain } from "../configuration.ts";
import { configuredTopics } from "../connection.ts";
import type { ExitStatus, Shell } from "../shell.ts";
import { aclCommand } from "./commands.ts";

interface AclsOptions extends ConfigOption {
  readonly principal: string;
  readonly roles?: string;
  readonly tool: string;
}

const ROLE = "{role}";

export function aclsCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  return new Command("acls")
    .summary("print the least rights on Kafka, as commands of kafka-acls")
    .description(
      "Prints the least rights on Kafka of each stage and command, as commands of kafka-acls that " +
        "grant them. It asks no broker and changes nothing.",
    )
    .addOption(configOption())
    .option("--principal <name>", "who gets them; {role} is the role", `User:switchyard-${ROLE}`)
    .option("--roles <names>", "only these, with commas; one of stages and commands")
    .option("--tool <command>", "the tool, with its own options", "kafka-acls.sh")
    .addHelpText(
      "after",
      `\nRoles: ${ROLE_NAMES.join(", ")}.\nOne principal for all roles: --principal User:switchyard.\n` +
        "With kafka.createTopics, stages may create topics of the prefix.\n\nExamples:\n" +
        "  switchyard acls --config switchyard.yaml\n" +
        "  switchyard acls --roles deliver,delay --principal User:sender --config switchyard.yaml\n" +
        "  switchyard acls --tool 'kafka-acls.sh --command-config admin.properties' -c switchyard.yaml",
    )
    .action((options: AclsOptions) => {
      const roles = rolesOf(options.roles);
      if (roles.kind === "unknown") {
        shell.err(`error: ${roles.name} is none of ${ROLE_NAMES.join(", ")}.\n`);
        return exit(2);
      }
      const loaded = loadOrExplain(options, shell);
      if (loaded === null) return exit(2);
      const { kafka } = loaded.config;
      const groups = groupNames(kafka.topicPrefix);
      const topics = configuredTopics(loaded.config);
      const tool = { command: options.tool, bootstrapServer: kafka.brokers.join(",") };
      for (const role of roles.names) {
        const principal = options.principal.replaceAll(ROLE, role);
        shell.out(`# ${role}\n`);
        const grants: readonly Grant[] = grantsOf(role, topics, groups, kafka.createTopics);
        for (const grant of grants) shell.out(`${aclCommand(grant, principal, tool)}\n`);
      }
      return exit(0);
    });
}

type Roles =
  | { readonly kind: "roles"; readonly names: readonly RoleName[] }
  | { readonly kind: "unknown"; readonly name: string };

function rolesOf(text: string | undefined): Roles {
  if (text === undefined) return { kind: "roles", names: ROLE_NAMES };
  const asked = text.split(",").map((name) => name.trim());
  const names = ROLE_NAMES.filter((name) => asked.includes(name));
  const unknown = asked.find((name) => !names.some((known) => known === name));
  return unknown === undefined ? { kind: "roles", names } : { kind: "unknown", name: unknown };
}
