/** `switchyard status`: the state of each destination, and the progress of each stage. */

import type { Command } from "commander";
import { shutdownSignal } from "../../../base/runtime/shutdown.ts";
import { unknownDestination } from "../../../base/words/wrong-usage.ts";
import {
  type ClusterOptions,
  clusterCommand,
  withKafka,
} from "../../../operator/connect/cluster.ts";
import { configured } from "../../../operator/connect/configuration.ts";
import { durationWithin } from "../../../operator/connect/option-values.ts";
import type { Exit, ExitStatus, Shell } from "../../../operator/connect/shell.ts";
import type { UseKafka } from "../../../operator/look/look.ts";
import { adminOption } from "../admin-address.ts";
import type { ShowOptions } from "./show.ts";

interface StatusFlags extends ClusterOptions {
  readonly admin?: readonly string[];
  readonly rateWindow?: number;
  readonly failing?: boolean;
  readonly destination?: string;
  readonly watch?: boolean;
}

export function statusCommand(shell: Shell, exit: Exit): Command {
  return clusterCommand("status")
    .description(
      "Shows the state of each destination (delivering, failing or on hold), its backlog, the age of its " +
        "oldest delivery, and when its next attempt is due. Destinations with problems come first. " +
        "Backlogs and dead letters are read from Kafka; states, responses and rates are read " +
        "from the admin ports of the processes.",
    )
    .addOption(adminOption("; default: console.adminAddresses"))
    .option(
      "--failing",
      "only destinations that are halted, failing, partly failing, or on hold because of an endpoint or a token",
    )
    .option("--destination <id>", "only this destination")
    .option(
      "--rate-window <duration>",
      "time for which to measure rates (default: the last minute, without waiting)",
      durationWithin(1_000, 600_000),
    )
    .option("--watch", "refresh the status every 2 s (requires a terminal)")
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nBACKLOG counts a destination's unprocessed deliveries, except those that are awaiting retry.\n" +
        "OLDEST is the age of the oldest delivery in BACKLOG. AWAITING RETRY counts deliveries in delay topics.\n" +
        "PROCESSED counts calls for the route stage, and returned records for the delay stage. DELIVERED\n" +
        "and FAILED count attempts. With --destination and --admin, SKIPPED CALLS counts the calls that\n" +
        "the destination has not received since the processes started, by reason.\n\n" +
        "Exit status: 0 on success; 1 if Kafka or a given process could not be read\n" +
        "completely; 2 if the usage or configuration is invalid.\n\n" +
        "Examples:\n  switchyard status --config switchyard.yaml\n" +
        "  switchyard status --admin host-1:9464,host-2:9464 --failing --watch\n" +
        "  switchyard status --admin host-1:9464 --destination crm-hook --json",
    )
    .action(async (flags: StatusFlags) => exit(await status(flags, shell)));
}

async function status(flags: StatusFlags, shell: Shell): Promise<ExitStatus> {
  const { watch = false, json = false, failing = false, destination = null } = flags;
  const { screen } = shell;
  if (watch && (json || screen === null)) {
    const why = json
      ? "--watch and --json cannot be combined"
      : "standard output is not a terminal";
    shell.err(`--watch: ${why}. Without --watch the status is printed once.\n`);
    return 2;
  }
  const loaded = await configured(flags, shell, "kafka");
  const { config, hash } = loaded;
  if (destination !== null) {
    const ids = config.destinations.map(({ id }): string => id);
    if (!ids.includes(destination)) throw unknownDestination(destination, ids);
  }
  const admins = flags.admin ?? config.console.adminAddresses;
  const rateWindowMs = flags.rateWindow ?? null;
  const options: ShowOptions = { config, hash, admins, rateWindowMs, json, failing, destination };
  using shutdown = shutdownSignal();
  if (watch && screen !== null) {
    const { watchStatus } = await import("./watch.ts");
    // Connection messages are dropped, because they would appear in the middle of the screen.
    const quiet = { ...shell, err: () => undefined };
    const inSilence: UseKafka = (work) => withKafka(config, quiet, flags, work);
    return await watchStatus(inSilence, options, { ...shell, screen }, shutdown.signal);
  }
  const { showStatus } = await import("./show.ts");
  const useKafka: UseKafka = (work) => withKafka(config, shell, flags, work);
  return await showStatus(useKafka, options, shell, shutdown.signal);
}
