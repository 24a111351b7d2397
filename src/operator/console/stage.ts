/**
 * Runs the console as a part of a process. The console joins no consumer group, and writes to Kafka only for actions.
 */

import { randomUUID } from "node:crypto";

import type { Clock } from "../../base/runtime/clock.ts";
import type { Log } from "../../base/telemetry/log.ts";
import type { RunningStage } from "../../router/stage/running-stage.ts";
import { Jobs } from "./jobs.ts";
import { Poller } from "./poller.ts";
import type { ActionRunner, ConsoleConfig, ConsoleReader, PageFiles } from "./ports.ts";
import { type ConsoleServer, startServer } from "./server.ts";

export interface ConsoleDeps {
  readonly reader: ConsoleReader;
  readonly runner: ActionRunner;
  readonly files: PageFiles;
  readonly clock: Clock;
  readonly log: Log;
}

export type RunningConsole = RunningStage & ConsoleServer;

/**
 * Resolves when the console is listening. @throws Error if it cannot listen, or if anybody could use it without a
 * token.
 */
export async function startConsole(
  { reader, runner, files, clock, log }: ConsoleDeps,
  config: ConsoleConfig,
): Promise<RunningConsole> {
  const poller = new Poller(reader, clock, log);
  const jobs = new Jobs({ runner, clock, log, newId: randomUUID });
  try {
    const server = await startServer({ reader, files, clock, log, poller, jobs }, config);
    log.info({ url: server.url }, "console.listening");
    return {
      ...server,
      name: "console",
      joined: Promise.resolve(),
      healthProblems: () => [],
      [Symbol.asyncDispose]: async () => {
        await server[Symbol.asyncDispose]();
        await jobs[Symbol.asyncDispose]();
        await poller[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await poller[Symbol.asyncDispose]();
    throw error;
  }
}
