/** Starts the console over a process's configuration and its connection to Kafka. */

import { type ConsoleDeps, type RunningConsole, startConsole } from "../../console/stage.ts";
import { programVersion } from "../program-version.ts";
import { createActionRunner } from "./action-runner.ts";
import { type ConsoleReaderOptions, createConsoleReader } from "./console-reader.ts";
import { readPageFiles } from "./page-files.ts";

/**
 * Resolves when it listens.
 *
 * @param port in place of the configured one.
 * @throws Error when it cannot listen, or when the page is not built.
 */
export async function startConfiguredConsole(
  options: ConsoleReaderOptions,
  { clock, log }: Pick<ConsoleDeps, "clock" | "log">,
  port?: number,
): Promise<RunningConsole> {
  const { config } = options.current();
  const deps = {
    reader: createConsoleReader(options),
    runner: createActionRunner(options),
    files: readPageFiles(),
  };
  const settings = { ...config.console, port: port ?? config.console.port };
  return await startConsole({ ...deps, clock, log }, { ...settings, version: programVersion() });
}
