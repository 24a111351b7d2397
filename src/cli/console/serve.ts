/** Serves the page until it is asked to stop, whether Kafka is there or not. */

import { once } from "node:events";

import type { Load, Loaded } from "../../config/load.ts";
import { startConsole } from "../../console/stage.ts";
import { systemClock } from "../../runtime/clock.ts";
import { createLog } from "../../telemetry/log.ts";
import { withKafka } from "../cluster.ts";
import { programVersion } from "../program-version.ts";
import type { ExitStatus, Shell } from "../shell.ts";
import { keepConnected } from "../status/keep-connected.ts";
import type { UseKafka } from "../status/show.ts";
import { createEyes } from "./eyes.ts";
import { followFile } from "./follow-file.ts";
import { createHands } from "./hands.ts";
import { readPageFiles } from "./page-files.ts";

export interface Serving {
  readonly loaded: Extract<Loaded, { kind: "config" }>;
  readonly load: Load;
  readonly admin?: readonly string[];
  readonly port?: number;
}

/** @throws Error when it cannot listen, or the page is not built. */
export async function serveConsole(
  { loaded, load, admin = [], port }: Serving,
  shell: Shell,
  signal: AbortSignal,
): Promise<ExitStatus> {
  const files = readPageFiles();
  const { console: settings } = loaded.config;
  const current = followFile(loaded, load, () => Date.now());
  // Words of the connection would come again and again: the page says them.
  const quiet = { ...shell, err: () => undefined };
  const inSilence: UseKafka = (work) => withKafka(current().config, quiet, {}, work);
  const ended = new AbortController();
  const connection = keepConnected(inSilence, AbortSignal.any([signal, ended.signal]));
  const admins = [...new Set([...admin, ...settings.processes])];
  const eyes = createEyes({ current, load, admins, useKafka: connection.read });
  const hands = createHands({ current, useKafka: connection.read });
  // Actions leave lines of their own.
  const log = createLog(settings.readOnly ? "warn" : "info", { write: shell.err });
  try {
    const config = { ...settings, port: port ?? settings.port, version: programVersion() };
    await using running = await startConsole(
      { eyes, hands, files, clock: systemClock, log },
      config,
    );
    shell.out(`The page: ${running.url}\n`);
    if (admins.length === 0) {
      shell.err(
        "States, outcomes and rates are known to the processes: --admin HOST:PORT for each.\n",
      );
    }
    if (!signal.aborted) await once(signal, "abort");
    return 0;
  } finally {
    ended.abort();
    await connection.ended;
  }
}
