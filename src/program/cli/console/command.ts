/** `switchyard console`: serves the console. */

import { Command } from "commander";
import { shutdownSignal } from "../../../base/runtime/shutdown.ts";
import {
  type ConfigOption,
  configFile,
  configOption,
  configured,
} from "../../../operator/connect/configuration.ts";
import { wholeNumber } from "../../../operator/connect/option-values.ts";
import type { Exit, Shell } from "../../../operator/connect/shell.ts";
import { adminOption } from "../admin-address.ts";

interface ConsoleFlags extends ConfigOption {
  readonly admin?: readonly string[];
  readonly port?: number;
}

export function consoleCommand(shell: Shell, exit: Exit): Command {
  return new Command("console")
    .description(
      "Serves a web UI with the path of calls, each destination, dead letters, audiences and the " +
        "configuration of each process. Reads Kafka and the admin ports of the processes. Runs until " +
        "Ctrl-C or SIGTERM.",
    )
    .addOption(configOption())
    .addOption(adminOption())
    .option(
      "--port <port>",
      "port to listen on, instead of console.port; 0 selects any free port",
      (text) => wholeNumber(text, 0, 65_535),
    )
    .addHelpText(
      "after",
      "\nExit status: 0 after a normal stop; 1 if the console cannot listen on its port; 2 if the usage or\n" +
        "configuration is invalid.\n\n" +
        "Examples:\n  switchyard console --config switchyard.yaml --admin host-1:9464,host-2:9464\n" +
        "  switchyard run --stages route,deliver,delay,console --config switchyard.yaml",
    )
    .action(async (flags: ConsoleFlags) => {
      const loaded = await configured(flags, shell);
      const { loadConfig } = await import("../../../config/load.ts");
      const { serveConsole } = await import("./serve.ts");
      const [file, { env }] = [configFile(flags, shell), shell];
      using shutdown = shutdownSignal();
      const load = () => loadConfig({ file, env });
      exit(await serveConsole({ loaded, load, ...flags }, shell, shutdown.signal));
    });
}
