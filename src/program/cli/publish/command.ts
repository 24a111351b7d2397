/** `switchyard publish`: writes calls from JSON lines to the `calls` topic. */

import type { Command } from "commander";
import { assertTopics } from "../../../operator/connect/assert-topics.ts";
import {
  type ClusterOptions,
  clusterCommand,
  withKafka,
} from "../../../operator/connect/cluster.ts";
import { commandProducer } from "../../../operator/connect/command-producer.ts";
import { configured } from "../../../operator/connect/configuration.ts";
import { configuredTopics } from "../../../operator/connect/connection.ts";
import { ReadSuppressions } from "../../../operator/connect/known-operations.ts";
import type { Exit, Shell } from "../../../operator/connect/shell.ts";
import { checkInput, openInput } from "../input.ts";
import { type SourceOption, sourceHeaders, sourceOption } from "../source-option.ts";
import { publish } from "./publish.ts";

interface PublishOptions extends ClusterOptions, SourceOption {}

export function publishCommand(shell: Shell, exit: Exit): Command {
  return clusterCommand("publish")
    .description(
      "Reads calls, checks each of them, and writes the valid ones to the calls topic. Reports which " +
        "lines were rejected, and why. Calls of suppressed users are skipped and counted.",
    )
    .argument("[file]", "file with calls, one JSON object per line (default: standard input)")
    .addOption(sourceOption())
    .option("--json", "print one JSON object per rejected line, then one for the outcome")
    .addHelpText(
      "after",
      "\nExit status: 0 if every line was written; 1 if a line was rejected or not written, or if the\n" +
        "input cannot be read; 2 if the usage or configuration is invalid.\n\nExamples:\n" +
        "  switchyard publish --source web calls.jsonl --config switchyard.yaml\n" +
        `  echo '{"type":"track","userId":"u1","event":"Hello"}' | switchyard publish --source web`,
    )
    .action(async (file: string | undefined, options: PublishOptions) => {
      const { config } = await configured(options, shell);
      const { sources, defaultSource } = config;
      const headers = sourceHeaders(options.source, sources);
      await checkInput(file);
      const { calls: topic, suppressions } = configuredTopics(config);
      const result = await withKafka(config, shell, options, async (kafka, signal) => {
        await assertTopics(kafka.admin, [topic]);
        return publish({
          input: openInput(file, shell),
          producer: commandProducer(kafka, shell, signal),
          topic,
          sources,
          defaultSource,
          headers,
          suppressions: await new ReadSuppressions(kafka, suppressions, signal).read(),
          signal,
          json: options.json === true,
          shell,
        });
      });
      exit(result);
    });
}
