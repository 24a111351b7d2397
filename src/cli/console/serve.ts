/** Serves the page until it is asked to stop, whether Kafka is there or not. */

import { once } from "node:events";

import type { Load, Loaded } from "../../config/load.ts";
import { systemClock } from "../../runtime/clock.ts";
import { createLog } from "../../telemetry/log.ts";
import { withKafka } from "../cluster.ts";
import type { ExitStatus, Shell } from "../shell.ts";
import { keepConnected } from "../status/keep-connected.ts";
import type { UseKafka } from "../status/show.ts";
import { followFile } from "./follow-file.ts";
import { startConfiguredConsole } from "./start-console.ts";

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
  const { console: settings } = loaded.config;
  const current = followFile(loaded, load, () => Date.now());
  // Words of the connection would come again and again: the page says them.
  const quiet = { ...shell, err: () => undefined };
  const inSilence: UseKafka = (work) => withKafka(current().config, quiet, {}, work);
  const ended = new AbortController();
  const connection = keepConnected(inSilence, AbortSignal.any([signal, ended.signal]));
  const admins = [...new Set([...admin, ...settings.adminAddresses])];
  // Actions leave lines of their own.
  const log = createLog(settings.readOnly ? "warn" : "info", { write: shell.err });
  try {
    await using running = await startConfiguredConsole(
      { current, load, admins, useKafka: connection.read },
      { clock: systemClock, log },
      port,
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
