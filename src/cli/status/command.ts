/** `switchyard status`: how far each stage and destination is. */

import { Command, InvalidArgumentError } from "commander";

import type { Config } from "../../config/config.ts";
import { durationText, parseDuration } from "../../config/duration.ts";
import type { Kafka } from "../../kafka/port.ts";
import { type WaitOption, waitOption, withKafka } from "../cluster.ts";
import { type ConfigOption, configOption, loadOrExplain } from "../configuration.ts";
import { startProgress } from "../progress.ts";
import { adminAddress } from "../scrape.ts";
import type { ExitStatus, Shell } from "../shell.ts";
import { statusReport } from "./report.ts";
import { scrapeTwice } from "./scrape.ts";
import { kafkaStatus } from "./status.ts";
import { statusText } from "./text.ts";

interface StatusFlags extends ConfigOption, WaitOption {
  readonly admin?: readonly string[];
  readonly over?: number;
  readonly json?: boolean;
}

const OVER_DEFAULT_MS = 5_000;

export function statusCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  return new Command("status")
    .summary("show lag, waiting deliveries, rates and dead letters")
    .description(
      "Shows for each stage and destination what waits and for how long, what waits in the delay " +
        "topics, and what was given up, as Kafka has it. Rates and breakers come from the admin " +
        "ports of the processes.",
    )
    .addOption(configOption())
    .addOption(waitOption())
    .option("--admin <host:port>", "admin port of a process; may be repeated", adminAddress)
    .option("--over <duration>", "time over which rates are measured (default: 5s)", over)
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nLAG counts records that are not committed. OLDEST is how long ago the oldest of them was\n" +
        "written there. DONE and FAILED are calls for route, attempts for deliver, returned records\n" +
        "for delay.\n\nExamples:\n  switchyard status --config switchyard.yaml\n" +
        "  switchyard status --admin host-1:9464 --admin host-2:9464 --json",
    )
    .action(async (flags: StatusFlags) => {
      const loaded = await loadOrExplain(flags, shell);
      if (loaded === null) return exit(2);
      exit(
        await withKafka(loaded.config, shell, flags, (kafka, signal) =>
          showStatus(
            kafka,
            {
              config: loaded.config,
              admins: flags.admin ?? [],
              overMs: flags.over ?? OVER_DEFAULT_MS,
              json: flags.json === true,
              signal,
            },
            shell,
          ),
        ),
      );
    });
}

export interface ShowOptions {
  readonly config: Config;
  readonly admins: readonly string[];
  readonly overMs: number;
  readonly json: boolean;
  readonly signal: AbortSignal;
}

export async function showStatus(
  kafka: Kafka,
  { config, admins, overMs, json, signal }: ShowOptions,
  shell: Shell,
): Promise<ExitStatus> {
  using progress = startProgress(shell, () =>
    admins.length === 0 ? "Reading" : `Measuring over ${durationText(overMs)} (--over)`,
  );
  const nowMs = Date.now();
  const [status, scraped] = await Promise.all([
    kafkaStatus({ kafka, config, nowMs, signal }),
    scrapeTwice(admins, overMs, signal),
  ]);
  progress.end();
  if (signal.aborted) return 1;
  const report = statusReport(status, scraped, nowMs);
  shell.out(json ? `${JSON.stringify(report, undefined, 2)}\n` : statusText(report, shell.colors));
  return 0;
}

function over(text: string): number {
  const ms = parseDuration(text);
  if (ms !== null && ms >= 1_000 && ms <= 600_000) return ms;
  throw new InvalidArgumentError(`"${text}" is no duration from 1s to 10m.`);
}
