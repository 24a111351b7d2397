/** `switchyard explain`: the fate of calls, and the exact requests. Needs no Kafka. */

import { Command } from "commander";
import {
  type ConfigOption,
  configOption,
  loadOrExplain,
} from "../../operate/connect/configuration.ts";
import { configuredTopics } from "../../operate/connect/connection.ts";
import type { ExitStatus, Shell } from "../../operate/connect/shell.ts";
import { systemClock } from "../../runtime/clock.ts";
import { linesOf, openInput } from "../input.ts";
import { type SourceOption, sourceHeaders, sourceOption } from "../source-option.ts";

/** The largest value that a record on `calls` may have. */
const LINE_MAX_BYTES = 1_024 * 1_024;

interface ExplainOptions extends ConfigOption, SourceOption {
  readonly json?: boolean;
}

export function explainCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  return new Command("explain")
    .summary("show where calls would go, and why")
    .description(
      "Shows for each call its source, which destinations get it and why, and the exact requests " +
        "(method, URL, headers with signature, body; the connection adds Host, Connection and " +
        "Content-Length). Sends nothing.",
    )
    .argument("[file]", "calls as JSON lines; without it, standard input")
    .addOption(configOption())
    .addOption(sourceOption())
    .option("--json", "one JSON object a line")
    .addHelpText(
      "after",
      "\nStatic headers are shown as they are sent, secret ones too.\n\nExamples:\n" +
        "  switchyard explain --source web calls.jsonl --config switchyard.yaml\n" +
        `  echo '{"type":"track","userId":"u1","event":"Signed Up"}' | switchyard explain --source web`,
    )
    .action(async (file: string | undefined, options: ExplainOptions) => {
      const loaded = await loadOrExplain(options, shell);
      if (loaded === null) return exit(2);
      const headers = sourceHeaders(options.source, loaded.config.sources);
      shell.onlyPrints();
      const { createExplainer } = await import("../../operate/timeline/explanation.ts");
      const { explanationJson } = await import("../../operate/timeline/explanation-json.ts");
      const { explanationText } = await import("../../operate/timeline/explanation-text.ts");
      const explain = createExplainer(loaded.config, configuredTopics(loaded.config), headers);
      for await (const lines of linesOf(openInput(file, shell), LINE_MAX_BYTES)) {
        for (const { number, bytes } of lines) {
          const explanation =
            bytes === null ? TOO_LARGE : explain(bytes, number, systemClock.nowMs());
          if (options.json === true) shell.out(`${explanationJson(explanation, number)}\n`);
          else shell.out(explanationText(explanation, number, shell.colors));
        }
      }
    });
}

const TOO_LARGE = {
  kind: "unusable",
  reason: "too-large",
  error: `the line has more than ${LINE_MAX_BYTES} bytes, and \`calls\` takes no larger record`,
} as const;
