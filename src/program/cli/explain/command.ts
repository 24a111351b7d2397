/**
 * `switchyard explain`: shows to which destinations calls would be routed, and the exact requests. Does not connect to
 * Kafka.
 */

import { Command } from "commander";
import { systemClock } from "../../../base/runtime/clock.ts";
import {
  type ConfigOption,
  configOption,
  configured,
} from "../../../operator/connect/configuration.ts";
import { configuredTopics } from "../../../operator/connect/connection.ts";
import type { Shell } from "../../../operator/connect/shell.ts";
import type { ExplainedBatch } from "../../../operator/timeline/explanation.ts";
import { LINE_MAX_BYTES, linesOf, openInput } from "../input.ts";
import { type SourceOption, sourceHeaders, sourceOption } from "../source-option.ts";

interface ExplainOptions extends ConfigOption, SourceOption {
  readonly json?: boolean;
}

export function explainCommand(shell: Shell): Command {
  return new Command("explain")
    .description(
      "Shows the source of each call, which destinations would receive it and why, and the exact " +
        "requests: method, URL, headers with the signature, and body. The connection also adds Host, " +
        "Connection and Content-Length. For a destination with batches, shows " +
        "the batches that the calls would form if they arrived together. Sends nothing, and does not connect to Kafka.",
    )
    .argument("[file]", "file with calls, one JSON object per line (default: standard input)")
    .addOption(configOption())
    .addOption(sourceOption())
    .option("--json", "print one JSON object per call, and one per batch")
    .addHelpText(
      "after",
      "\nHeaders are shown as they are sent, including those that contain secrets.\n\n" +
        "Exit status: 0 on success; 1 if the input cannot be read; 2 if the usage or configuration is\ninvalid.\n\nExamples:\n" +
        "  switchyard explain --source web calls.jsonl --config switchyard.yaml\n" +
        `  echo '{"type":"track","userId":"u1","event":"Signed Up"}' | switchyard explain --source web`,
    )
    .action(async (file: string | undefined, options: ExplainOptions) => {
      const { config } = await configured(options, shell);
      const headers = sourceHeaders(options.source, config.sources);
      shell.onlyPrints();
      const explanations = await import("../../../operator/timeline/explanation.ts");
      const json = await import("../../../operator/timeline/explanation-json.ts");
      const text = await import("../../../operator/timeline/explanation-text.ts");
      const explain = explanations.createExplainer(config, configuredTopics(config), headers);
      const isJson = options.json === true;
      const batches = new explanations.BatchExplainer(config.delivery);
      const outBatch = (batch: ExplainedBatch) =>
        shell.out(isJson ? `${json.batchJson(batch)}\n` : text.batchText(batch, shell.colors));
      for await (const lines of linesOf(openInput(file, shell), LINE_MAX_BYTES)) {
        for (const { number, bytes } of lines) {
          const nowMs = systemClock.nowMs();
          const explanation = bytes === null ? TOO_LARGE : explain(bytes, number, nowMs);
          if (isJson) shell.out(`${json.explanationJson(explanation, number)}\n`);
          else shell.out(text.explanationText(explanation, number, shell.colors));
          batches.add(explanation, number, nowMs).forEach(outBatch);
        }
      }
      batches.end(systemClock.nowMs()).forEach(outBatch);
    });
}

const TOO_LARGE = {
  kind: "unusable",
  reason: "too-large",
  error: `the line has more than ${LINE_MAX_BYTES} bytes, the maximum for a record in \`calls\``,
} as const;
