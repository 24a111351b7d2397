/**
 * `switchyard topics`: the topic plan against the cluster.
 *
 *   outcome                                                exit
 *   nothing would be created or changed                    0
 *   something would, without `--apply`                     1, so that a deployment can check
 *   everything was created and changed, with `--apply`     0
 *   the brokers refuse, or do not answer                   1
 *   `--output strimzi`: no broker is asked                 0
 */

import { Command, Option } from "commander";

import type { Config } from "../../config/config.ts";
import {
  isChange,
  type TopicChange,
  type TopicDifference,
  topicDifferences,
} from "../../domain/topic-differences.ts";
import { PLANNED_KEYS, type PlannedTopic } from "../../domain/topic-plan.ts";
import type { Admin } from "../../kafka/port.ts";
import { type WaitOption, waitOption, withKafka } from "../cluster.ts";
import { type ConfigOption, configOption, loadOrExplain } from "../configuration.ts";
import { configuredPlan, configuredTopics } from "../connection.ts";
import { counted } from "../count.ts";
import type { ExitStatus, Shell } from "../shell.ts";
import { table } from "../table.ts";
import { differenceRow } from "./rows.ts";

interface TopicsOptions extends ConfigOption, WaitOption {
  readonly apply?: boolean;
  readonly json?: boolean;
  readonly output: "table" | "strimzi" | "json";
  readonly cluster: string;
}

export function topicsCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  return new Command("topics")
    .summary("compare the topics with the plan, and create or change them")
    .description(
      "Compares the topic plan with the cluster and prints the differences. With --apply it " +
        "creates missing topics and sets what falls short. It never deletes anything, and never " +
        "changes partition counts. With --output strimzi it prints the plan as KafkaTopic resources, " +
        "and asks no broker.",
    )
    .addOption(configOption())
    .addOption(waitOption())
    .option("--apply", "create and change what is missing")
    .addOption(
      new Option("--output <form>", "a table, KafkaTopic resources, or JSON")
        .choices(["table", "strimzi", "json"])
        .default("table"),
    )
    .option("--json", "the same as --output json")
    .option("--cluster <name>", "for strimzi: the name of the Kafka resource", "my-cluster")
    .addHelpText(
      "after",
      "\nExit status: 0 nothing to do or all done; 1 something would be created or changed " +
        "(without --apply), or failed; 2 wrong usage or configuration.\n\nExamples:\n" +
        "  switchyard topics --config switchyard.yaml\n" +
        "  switchyard topics --apply --config switchyard.yaml\n" +
        "  switchyard topics --output strimzi --cluster prod -c switchyard.yaml | kubectl apply -f -",
    )
    .action(async (options: TopicsOptions) => {
      const loaded = await loadOrExplain(options, shell);
      if (loaded === null) return exit(2);
      const { config } = loaded;
      const { apply = false, output, cluster } = options;
      if (output === "strimzi") {
        if (apply) {
          shell.err("error: --apply asks the brokers, and --output strimzi prints resources.\n");
          return exit(2);
        }
        const { kafkaTopics } = await import("./strimzi.ts");
        shell.out(kafkaTopics(configuredPlan(config), cluster));
        return exit(0);
      }
      const json = output === "json" || options.json === true;
      exit(
        await withKafka(config, shell, options, ({ admin }) =>
          compareTopics(config, admin, apply, shell, json),
        ),
      );
    });
}

/** Prints the differences and, when told to, removes those that can be. Returns the exit status. */
export async function compareTopics(
  config: Config,
  admin: Admin,
  apply: boolean,
  shell: Shell,
  json = false,
): Promise<ExitStatus> {
  const plan = configuredPlan(config);
  const differences = await differencesOf(config, plan, admin);
  const changes = differences.filter(isChange);
  if (json) {
    if (apply) await applyChanges(changes, admin);
    const told = { planned: plan.length, differences, changes: changes.length, applied: apply };
    shell.out(`${JSON.stringify(told, undefined, 2)}\n`);
    return apply || changes.length === 0 ? 0 : 1;
  }
  const { green, yellow } = shell.colors;
  if (differences.length > 0) shell.out(`${differenceTable(differences, shell)}\n`);
  if (changes.length === 0) {
    shell.out(
      `${green(`All ${plan.length} topics are as planned`)}; nothing to create or change.\n`,
    );
    return 0;
  }
  if (!apply) {
    shell.out(yellow(`${summary(changes, "to create", "to change")}. `));
    shell.out("Do it with: switchyard topics --apply\n");
    return 1;
  }
  await applyChanges(changes, admin);
  shell.out(green(`Done: ${summary(changes, "created", "changed")}.\n`));
  return 0;
}

async function differencesOf(
  config: Config,
  plan: readonly PlannedTopic[],
  admin: Admin,
): Promise<readonly TopicDifference[]> {
  const names = await admin.topics();
  const lacking = plan.map(({ name }) => name).filter((name) => !names.includes(name));
  // Topics that are not shown would seem to be missing.
  if (lacking.length > 0) await admin.assertVisible(lacking);
  const planned = plan.map(({ name }) => name).filter((name) => names.includes(name));
  const topics = await admin.describe(planned, PLANNED_KEYS);
  const minutes = await admin.brokerSetting("offsets.retention.minutes");
  const offsetsRetentionMs = minutes === null ? null : Number(minutes) * 60_000;
  return topicDifferences(plan, configuredTopics(config), { names, topics, offsetsRetentionMs });
}

async function applyChanges(changes: readonly TopicChange[], admin: Admin): Promise<void> {
  await admin.create(changes.flatMap((change) => (change.kind === "missing" ? change.topic : [])));
  const settings = new Map<string, Record<string, string>>();
  for (const change of changes) {
    if (change.kind !== "setting") continue;
    settings.set(change.topic, { ...settings.get(change.topic), [change.key]: change.planned });
  }
  for (const [topic, config] of settings) await admin.alterConfig(topic, config);
}

function summary(changes: readonly TopicChange[], create: string, change: string): string {
  const missing = changes.filter(({ kind }) => kind === "missing").length;
  const parts = [];
  if (missing > 0) parts.push(`${counted(missing, "topic")} ${create}`);
  if (changes.length > missing)
    parts.push(`${counted(changes.length - missing, "setting")} ${change}`);
  return parts.join(", ");
}

function differenceTable(differences: readonly TopicDifference[], shell: Shell): string {
  const rows = differences.map(differenceRow);
  const { bold, dim, yellow } = shell.colors;
  return table(["TOPIC", "DIFFERENCE", "IS", "PLAN"], rows, (cell, row) => {
    const difference = differences[row];
    if (difference === undefined) return bold(cell);
    return isChange(difference) ? yellow(cell) : dim(cell);
  });
}
