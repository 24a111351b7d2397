/** A real Prometheus that scrapes processes and evaluates the rules, quicker than a real one would. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { stringify } from "yaml";

import { freePort } from "../../../tools/kafka/free-port.ts";

const RULES = join(import.meta.dirname, "../../../deploy/prometheus/rules.yaml");

export interface Prometheus extends AsyncDisposable {
  /** Names of the alerts that fire, each once. */
  firing(): Promise<readonly string[]>;
  /** The oldest of the last evaluations of a group of rules, in epoch milliseconds. */
  evaluatedAtMs(): Promise<number>;
}

/**
 * The rules without their waits.
 *
 * @param hasShortTimes `time() - since > 1800` and the like become two seconds. Other limits stay.
 */
export function impatientRules(text: string, hasShortTimes: boolean): string {
  const rules = text.replaceAll(/^( +)for: \w+$/gm, "$1for: 0s");
  if (!hasShortTimes) return rules;
  return rules.replaceAll(/> (?:300|1800|3600)$/gm, "> 2");
}

/**
 * @param folder of the binaries.
 * @param targets `host:port`.
 */
export async function startPrometheus(
  folder: string,
  targets: readonly string[],
  hasShortTimes: boolean,
): Promise<Prometheus> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-prometheus-"));
  const rules = join(directory, "rules.yaml");
  writeFileSync(rules, impatientRules(readFileSync(RULES, "utf8"), hasShortTimes));
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: [rules],
    scrape_configs: [{ job_name: "switchyard", static_configs: [{ targets }] }],
  };
  const file = join(directory, "prometheus.yaml");
  writeFileSync(file, stringify(config));
  const port = await freePort();
  const child = spawn(
    join(folder, "prometheus"),
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(directory, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { cwd: directory, stdio: ["ignore", "ignore", "pipe"] },
  );
  const said: string[] = [];
  const ended = once(child, "close");
  const ready = Promise.withResolvers<void>();
  createInterface(child.stderr).on("line", (line) => {
    said.push(line);
    if (line.includes("Server is ready to receive web requests")) ready.resolve();
  });
  ended
    .then(() => ready.reject(new Error(`Prometheus ended:\n${said.slice(-10).join("\n")}`)))
    .catch(() => undefined);
  await ready.promise;
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    return ((await response.json()) as { readonly data: unknown }).data;
  };
  return {
    firing: async () => {
      const query = encodeURIComponent('count by (alertname) (ALERTS{alertstate="firing"})');
      const { result } = (await ask(`query?query=${query}`)) as {
        readonly result: readonly { readonly metric: { readonly alertname: string } }[];
      };
      return result.map(({ metric }) => metric.alertname).toSorted();
    },
    evaluatedAtMs: async () => {
      const { groups } = (await ask("rules")) as {
        readonly groups: readonly { readonly lastEvaluation: string }[];
      };
      return Math.min(...groups.map(({ lastEvaluation }) => Date.parse(lastEvaluation)));
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
