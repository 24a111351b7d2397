/** `switchyard skip-corrupt-batch`: skips one corrupt batch, so that the halted stage can continue. */

import { type Command, InvalidArgumentError } from "commander";
import { WrongUsage } from "../../../base/words/wrong-usage.ts";
import type { Config } from "../../../config/config.ts";
import { readerOf } from "../../../domain/stages.ts";
import { delayOfTopic, destinationOfTopic, groupNames } from "../../../domain/topics.ts";
import { assertTopics } from "../../../operator/connect/assert-topics.ts";
import {
  type ClusterOptions,
  clusterCommand,
  withKafka,
} from "../../../operator/connect/cluster.ts";
import { configured } from "../../../operator/connect/configuration.ts";
import { configuredPlan, configuredTopics } from "../../../operator/connect/connection.ts";
import type { Exit, Shell } from "../../../operator/connect/shell.ts";

interface SkipFlags extends ClusterOptions {
  readonly dryRun?: boolean;
}

export function skipCorruptBatchCommand(shell: Shell, exit: Exit): Command {
  return clusterCommand("skip-corrupt-batch")
    .description(
      "Moves the consumer group of a halted stage past one corrupt batch. The records of the batch are " +
        "lost. Reads the batch first, and never skips an intact batch.",
    )
    .argument("<topic>", "topic, as shown in the error")
    .argument("<partition>", "partition, as shown in the error", number)
    .argument("<offset>", "offset, as shown in the error", number)
    .option("--dry-run", "show what would be skipped without skipping it")
    .option("--json", "print the outcome as one JSON object")
    .addHelpText(
      "after",
      "\nYou do not have to stop the stage's processes: a halted stage continues within a minute.\n\n" +
        "Exit status: 0 if the batch was skipped, or would be skipped; 1 if it was not; 2 if the usage or\n" +
        "configuration is invalid.\n\nExamples:\n" +
        "  switchyard skip-corrupt-batch switchyard.calls 3 42 --dry-run --config switchyard.yaml\n" +
        "  switchyard skip-corrupt-batch switchyard.calls 3 42 --config switchyard.yaml",
    )
    .action(async (topic: string, partition: number, offset: number, flags: SkipFlags) => {
      const { config } = await configured(flags, shell, "kafka");
      const group = groupOf(topic, config);
      if (group === null) {
        const read = inputTopics(config).join(", ");
        throw new WrongUsage(`no stage reads ${topic}. Topics that stages read: ${read}.`);
      }
      const { dryRun = false, json = false } = flags;
      const { skipCorrupt } = await import("./skip-corrupt-batch.ts");
      exit(
        await withKafka(config, shell, flags, async (kafka, signal) => {
          await assertTopics(kafka.admin, [topic]);
          return skipCorrupt(
            kafka,
            { topic, partition, offset, group, dryRun, json, signal },
            shell,
          );
        }),
      );
    });
}

function number(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`"${text}" is not an integer.`);
}

/**
 * The consumer group that reads a topic; null if there is none. The topics of removed destinations and of removed retry
 * delays also have groups.
 */
export function groupOf(topic: string, config: Config): string | null {
  const topics = configuredTopics(config);
  const groups = groupNames(config.kafka.topicPrefix);
  const planned = configuredPlan(config).find(({ name }) => name === topic);
  if (planned !== undefined) {
    const input = readerOf(planned.kind)?.input;
    if (input?.per === "stage") return groups[input.group];
  }
  const destination = destinationOfTopic(topic, topics);
  if (destination !== null) return groups.deliver(destination);
  const delay = delayOfTopic(topic, topics);
  return delay === null ? null : groups.delay(delay);
}

function inputTopics(config: Config): readonly string[] {
  return configuredPlan(config)
    .filter(({ isConsumed }) => isConsumed)
    .map(({ name }) => name);
}
