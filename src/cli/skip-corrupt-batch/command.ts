/** `switchyard skip-corrupt-batch`: gives up exactly one damaged batch, so that its stage goes on. */

import { Command, InvalidArgumentError } from "commander";
import { assertTopics } from "../../operate/connect/assert-topics.ts";
import {
  type KafkaTimeoutOption,
  kafkaTimeoutOption,
  withKafka,
} from "../../operate/connect/cluster.ts";
import {
  type ConfigOption,
  configOption,
  loadOrExplain,
} from "../../operate/connect/configuration.ts";
import type { ExitStatus, Shell } from "../../operate/connect/shell.ts";
import { WrongUsage } from "../../words/wrong-usage.ts";
import { groupOf, inputTopics } from "./group-of.ts";

interface SkipFlags extends ConfigOption, KafkaTimeoutOption {
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export function skipCorruptBatchCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  return new Command("skip-corrupt-batch")
    .summary("give up one damaged batch, so that its stage goes on")
    .description(
      "Moves the consumer group of a halted stage behind one damaged batch. Its records are given " +
        "up. The batch is read first: one that is whole is never skipped.",
    )
    .argument("<topic>", "as the error names it")
    .argument("<partition>", "as the error names it", number)
    .argument("<offset>", "as the error names it", number)
    .addOption(configOption())
    .addOption(kafkaTimeoutOption())
    .option("--dry-run", "say what would be skipped, and change nothing")
    .option("--json", "print the outcome as one JSON object")
    .addHelpText(
      "after",
      "\nThe processes of the stage may run on. A halted one goes on within a minute.\n\n" +
        "Exit status: 0 the batch was skipped, or would be; 1 it was not; 2 wrong usage or\n" +
        "configuration.\n\nExamples:\n" +
        "  switchyard skip-corrupt-batch switchyard.calls 3 42 --dry-run --config switchyard.yaml\n" +
        "  switchyard skip-corrupt-batch switchyard.calls 3 42 --config switchyard.yaml",
    )
    .action(async (topic: string, partition: number, offset: number, flags: SkipFlags) => {
      const loaded = await loadOrExplain(flags, shell);
      if (loaded === null) return exit(2);
      const { config } = loaded;
      const group = groupOf(topic, config);
      if (group === null) {
        const read = inputTopics(config).join(", ");
        throw new WrongUsage(`no stage reads ${topic}. Read are: ${read}.`);
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
  throw new InvalidArgumentError(`"${text}" is no whole number.`);
}
