/** Serves the console until it is stopped, even while Kafka is unreachable. */

import { once } from "node:events";
import { statSync } from "node:fs";
import { systemClock } from "../../../base/runtime/clock.ts";
import { createLog } from "../../../base/telemetry/log.ts";
import type { Config } from "../../../config/config.ts";
import type { Loaded } from "../../../config/load.ts";
import { withKafka } from "../../../operator/connect/cluster.ts";
import type { ExitStatus, Shell } from "../../../operator/connect/shell.ts";
import { startConfiguredConsole } from "../../../operator/console/read/start-console.ts";
import { keepConnected } from "../../../operator/look/keep-connected.ts";
import type { UseKafka } from "../../../operator/look/look.ts";

export interface Serving {
  readonly loaded: Extract<Loaded, { kind: "config" }>;
  readonly load: () => Loaded;
  readonly admin?: readonly string[];
  readonly port?: number;
}

/** @throws Error if the port cannot be bound, or if the console's files have not been built. */
export async function serveConsole(
  { loaded, load, admin = [], port }: Serving,
  shell: Shell,
  signal: AbortSignal,
): Promise<ExitStatus> {
  const { console: settings } = loaded.config;
  const current = followFile(loaded, load, () => Date.now());
  // Connection problems are not printed, because the console shows them.
  const quiet = { ...shell, err: () => undefined };
  const inSilence: UseKafka = (work) => withKafka(current().config, quiet, {}, work);
  const ended = new AbortController();
  const connection = keepConnected(inSilence, AbortSignal.any([signal, ended.signal]));
  const admins = [...new Set([...admin, ...settings.adminAddresses])];
  // If the console allows actions, they are logged.
  const log = createLog(settings.readOnly ? "warn" : "info", { write: shell.err });
  try {
    await using running = await startConfiguredConsole(
      { current, load, admins, useKafka: connection.read },
      { clock: systemClock, log },
      port,
    );
    shell.out(`Console: ${running.url}\n`);
    if (admins.length === 0) {
      shell.err(
        "Without --admin HOST:PORT for each process, states, responses and rates are unknown.\n",
      );
    }
    if (!signal.aborted) await once(signal, "abort");
    return 0;
  } finally {
    ended.abort();
    await connection.ended;
  }
}

const LOOK_EVERY_MS = 1_000;

interface Usable {
  readonly config: Config;
  readonly hash: string;
  readonly files: readonly string[];
}

/**
 * Returns the configuration of a long-running command. Before each use, but at most once a second, checks whether a
 * file of the configuration has changed, and reads the files again if so. If a file is invalid, the previous
 * configuration stays in use.
 */
export function followFile(first: Usable, load: () => Loaded, nowMs: () => number): () => Usable {
  let usable = first;
  let files = first.files;
  let stamp = stampOf(files);
  let lookedAtMs = nowMs();
  return () => {
    if (nowMs() - lookedAtMs < LOOK_EVERY_MS) return usable;
    lookedAtMs = nowMs();
    const now = stampOf(files);
    if (now === stamp) return usable;
    const loaded = load();
    files = loaded.files;
    stamp = stampOf(files);
    if (loaded.kind === "config") usable = loaded;
    return usable;
  };
}

function stampOf(files: readonly string[]): string {
  const stamps = files.map((file) => {
    const found = statSync(file, { throwIfNoEntry: false });
    return found === undefined ? "none" : `${found.ino} ${found.size} ${found.mtimeMs}`;
  });
  return stamps.join("\n");
}
