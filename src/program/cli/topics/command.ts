/**
 * `switchyard topics`: compares the topic plan with the cluster.
 *
 *   outcome                                                   exit
 *   there is nothing to create or change                      0
 *   there is something, without `--apply`                     1, so that a deployment can stop
 *   `--apply` created and changed everything                  0
 *   `--apply`, but the cluster rejected a change              1, and the other changes were made
 *   a topic cannot be compared: a permission is missing       1, and all other topics are compared
 *   the brokers are unreachable                               1
 *   `--output strimzi`, which does not connect to Kafka       0
 *   `--brokers`                                               see `brokers.ts`
 */

import { type Command, Option } from "commander";
import { asError } from "../../../base/runtime/as-error.ts";
import { durationText, sizeText } from "../../../base/settings/scalars.ts";
import { counted } from "../../../base/words/count.ts";
import { table } from "../../../base/words/table.ts";
import { WrongUsage } from "../../../base/words/wrong-usage.ts";
import type { Config } from "../../../config/config.ts";
import type { Admin, RejectedSetting } from "../../../kafka/port.ts";
import {
  type ClusterOptions,
  clusterCommand,
  withKafka,
} from "../../../operator/connect/cluster.ts";
import { configured } from "../../../operator/connect/configuration.ts";
import {
  configuredPlan,
  configuredTopics,
  kafkaConnection,
} from "../../../operator/connect/connection.ts";
import type { Exit, ExitStatus, Shell } from "../../../operator/connect/shell.ts";
import {
  isChange,
  type TopicChange,
  type TopicDifference,
  topicDifferences,
} from "../../../router/topics/topic-differences.ts";
import {
  PLANNED_KEYS,
  type PlannedKey,
  type PlannedTopic,
} from "../../../router/topics/topic-plan.ts";

interface TopicsOptions extends ClusterOptions {
  readonly apply?: boolean;
  readonly brokers?: boolean;
  readonly output: "table" | "strimzi" | "json";
  readonly cluster: string;
}

export function topicsCommand(shell: Shell, exit: Exit): Command {
  return clusterCommand("topics")
    .description(
      "Compares the topic plan with the cluster and prints the differences. With --apply, creates " +
        "missing topics and corrects settings, but never deletes a topic or changes a partition count. " +
        "With --output strimzi, prints the plan as KafkaTopic resources without connecting to Kafka. " +
        "With --brokers, prints which versions of each Kafka request are sent, and which versions the " +
        "cluster accepts.",
    )
    .option("--apply", "create missing topics and correct settings")
    .option("--brokers", "print the versions of Kafka's requests, and no topics")
    .addOption(
      new Option("--output <form>", "a table, KafkaTopic resources, or JSON")
        .choices(["table", "strimzi", "json"])
        .default("table"),
    )
    .option("--json", "the same as --output json")
    .option(
      "--cluster <name>",
      "with --output strimzi: the name of the Kafka resource",
      "my-cluster",
    )
    .addHelpText(
      "after",
      "\nExit status: 0 if the topics are as planned; 1 on failure, if topics differ (without --apply) or\n" +
        "cannot be compared, or if the cluster rejected a change; with --brokers, 1 if a broker does not\n" +
        "respond or accepts no version of a request; 2 if the usage or configuration is invalid.\n\nExamples:\n" +
        "  switchyard topics --config switchyard.yaml\n" +
        "  switchyard topics --apply --config switchyard.yaml\n" +
        "  switchyard topics --brokers --config switchyard.yaml\n" +
        "  switchyard topics --output strimzi --cluster prod -c switchyard.yaml | kubectl apply -f -",
    )
    .action(async (options: TopicsOptions) => {
      const { config } = await configured(options, shell);
      const { apply = false, brokers = false, output, cluster } = options;
      if (brokers && (apply || output === "strimzi")) {
        throw new WrongUsage("--brokers cannot be combined with --apply or --output strimzi.");
      }
      if (output === "strimzi") {
        if (apply) throw new WrongUsage("--apply cannot be combined with --output strimzi.");
        const { kafkaTopics } = await import("./strimzi.ts");
        shell.out(kafkaTopics(configuredPlan(config), cluster));
        return;
      }
      const json = output === "json" || options.json === true;
      exit(
        await withKafka(config, shell, options, async ({ admin }) => {
          if (!brokers) return await compareTopics(config, admin, apply, shell, json);
          return await (await import("./brokers.ts")).showBrokers(admin, shell, json);
        }),
      );
    });
}

/** Prints the differences and, if `apply` is set, removes those that can be removed. Returns the exit status. */
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
  const hidden = differences.filter(({ kind }) => kind === "hidden").length;
  if (hidden > 0) await namePermissions(config, differences, shell);
  const applied = apply ? await applyChanges(changes, admin) : NOTHING;
  const isDone = applied.rejected.length + applied.failed.length === 0;
  const isLeft = hidden > 0 || (apply ? !isDone : changes.length > 0);
  const status = isLeft ? 1 : 0;
  if (json) {
    const counts = { planned: plan.length, differences, changes: changes.length, applied: apply };
    shell.out(`${JSON.stringify({ ...counts, ...applied }, undefined, 2)}\n`);
    return status;
  }
  const { green, yellow } = shell.colors;
  if (differences.length > 0) shell.out(`${differenceTable(differences, shell)}\n`);
  if (changes.length === 0) {
    const compared = hidden === 0 ? `All ${plan.length} topics` : "All others";
    shell.out(`${green(`${compared} are as planned`)}; nothing to create or change.\n`);
  } else if (!apply) {
    shell.out(yellow(`${summary(changes, "to create", "to change")}. `));
    shell.out("Run: switchyard topics --apply\n");
  } else if (isDone) {
    shell.out(green(`Done: ${summary(changes, "created", "changed")}.\n`));
  } else {
    shell.out(appliedText(applied));
    shell.out(yellow("All other changes were made.\n"));
  }
  return status;
}

const NOTHING: Applied = { rejected: [], failed: [] };

/** Prints the missing permissions, with the command that grants them. */
async function namePermissions(
  config: Config,
  differences: readonly TopicDifference[],
  shell: Shell,
): Promise<void> {
  const { permissionText } = await import("../../../kafka/cluster/permission.ts");
  const hidden = differences.filter((each) => each.kind === "hidden");
  for (const [permission, topics] of Map.groupBy(hidden, (each) => each.permission)) {
    const names = topics.map(({ topic }) => topic);
    const grant = { on: "topic", names, pattern: "literal", operations: [permission] } as const;
    const text = permissionText(grant, "TOPIC_AUTHORIZATION_FAILED", kafkaConnection(config));
    shell.err(`${counted(names.length, "topic")} cannot be compared: ${text}\n`);
  }
}

async function differencesOf(
  config: Config,
  plan: readonly PlannedTopic[],
  admin: Admin,
): Promise<readonly TopicDifference[]> {
  const names = await admin.topics();
  const topics = await admin.describe(
    plan.map(({ name }) => name),
    PLANNED_KEYS,
    true,
  );
  const minutes = await admin.brokerSetting("offsets.retention.minutes");
  const offsetsRetentionMs = minutes === null ? null : Number(minutes) * 60_000;
  return topicDifferences(plan, configuredTopics(config), {
    names,
    topics,
    offsetsRetentionMs,
  });
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

/** The cells: topic, difference, the cluster's value, the plan's value. */
function differenceRow(difference: TopicDifference): readonly string[] {
  switch (difference.kind) {
    case "missing": {
      const { name, partitions, replicationFactor, config } = difference.topic;
      const replicas = replicationFactor === null ? "" : `, ${replicationFactor} replicas`;
      const retention = config["retention.ms"];
      const kept =
        retention === undefined ? "compacted" : `kept ${readable("retention.ms", retention)}`;
      return [
        name,
        "missing",
        "-",
        `${partitions} partition${partitions === 1 ? "" : "s"}${replicas}, ${kept}`,
      ];
    }
    case "setting": {
      const { topic, key, actual, planned } = difference;
      return [topic, key, readable(key, actual), readable(key, planned)];
    }
    case "count": {
      const { topic, of, actual, planned } = difference;
      return [topic, `${of} (left)`, `${actual}`, `${planned}`];
    }
    case "offsets": {
      const { topic, retentionMs, offsetsRetentionMs } = difference;
      const offsets = durationText(offsetsRetentionMs);
      const is = Number.isFinite(retentionMs) ? durationText(retentionMs) : "forever";
      return [topic, "kept longer than offsets", is, `offsets.retention.minutes is ${offsets}`];
    }
    case "hidden": {
      const { topic, permission } = difference;
      const is = permission === "Describe" ? "topic not visible" : "settings not visible";
      return [topic, is, "unknown", `requires the permission ${permission} on the topic`];
    }
    case "retired":
      return [difference.topic, "retired delay topic", "drained by run", "not configured"];
    case "orphaned":
      return [difference.topic, "topic without destination", "left", "not configured"];
  }
}

function readable(key: PlannedKey, text: string): string {
  if (text === "") return "not set";
  if (text === "-1") return "no limit";
  if (key.endsWith(".ms") && /^\d+$/.test(text)) return durationText(Number(text));
  return key === "max.message.bytes" ? `${text} bytes` : text;
}

interface Applied {
  /** Settings that the cluster does not allow. */
  readonly rejected: readonly RejectedSetting[];
  /** One sentence for each change that failed for another reason. */
  readonly failed: readonly string[];
}

/**
 * Creates missing topics and corrects their settings. If the cluster rejects a change, the reason is collected, and
 * the other changes are made.
 */
async function applyChanges(changes: readonly TopicChange[], admin: Admin): Promise<Applied> {
  const rejected: RejectedSetting[] = [];
  const failed: string[] = [];
  const onRejected = (each: RejectedSetting) => void rejected.push(each);
  const onFailed = (error: unknown) => void failed.push(asError(error).message);
  const missing = changes.flatMap((change) => (change.kind === "missing" ? change.topic : []));
  await admin.create(missing, onRejected).catch(onFailed);
  const settings = Map.groupBy(
    changes.filter((change) => change.kind === "setting"),
    ({ topic }) => topic,
  );
  for (const [topic, short] of settings) {
    const config = Object.fromEntries(short.map(({ key, planned }) => [key, planned]));
    const is = Object.fromEntries(short.map(({ key, actual }) => [key, actual]));
    await admin.alterConfig(topic, config, onRejected, is).catch(onFailed);
  }
  return { rejected, failed };
}

/** Returns an empty string if everything was applied. */
function appliedText({ rejected, failed }: Applied): string {
  const rows = rejected.map(({ topic, setting, planned, instead, error }) => {
    return [topic, setting, planned, instead ?? "nothing", error];
  });
  const header = ["TOPIC", "REJECTED", "PLAN", "SET INSTEAD", "REASON"];
  const parts = rows.length === 0 ? [] : [table(header, rows, (cell) => cell)];
  const sizes = rejected.filter(({ setting }) => setting === "max.message.bytes");
  const found = sizes.flatMap(({ instead }) => (instead === null ? [] : [Number(instead)]));
  if (sizes.length > 0) {
    const most = found.length === 0 ? "the size that it allows" : sizeText(Math.min(...found));
    parts.push(`If the cluster allows no larger records, set kafka.maxMessageBytes to ${most}.`);
  }
  return [...parts, ...failed].map((part) => `${part}\n`).join("");
}
