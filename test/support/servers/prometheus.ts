/** A real Prometheus that scrapes processes and evaluates the rules at short intervals. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { stringify } from "yaml";

import { freePort } from "../../../tools/kafka/free-port.ts";

/** The rules as they are installed. */
export const RULES = readFileSync(
  join(import.meta.dirname, "../../../deploy/prometheus/rules.yaml"),
  "utf8",
);

export interface Alert {
  readonly name: string;
  /** The label of the alert; null if it has none. */
  readonly destination: string | null;
}

export interface Prometheus extends AsyncDisposable {
  /** Names of the alerts that fire, without duplicates. */
  firing(): Promise<readonly string[]>;
  /** The alerts that fire, each once per destination. */
  alerts(): Promise<readonly Alert[]>;
  /** The earliest of the last evaluations of all groups of rules, in epoch milliseconds. */
  evaluatedAtMs(): Promise<number>;
}

/**
 * The rules without `for:`.
 *
 * @param hasShortTimes if true, limits such as `time() - since > 1800` become two seconds. Other limits stay.
 */
export function impatientRules(text: string, hasShortTimes: boolean): string {
  const rules = text.replaceAll(/^( +)for: \w+$/gm, "$1for: 0s");
  if (!hasShortTimes) return rules;
  return rules.replaceAll(/> (?:300|1800|3600)$/gm, "> 2");
}

/**
 * The rules with shorter times: a minute of `for:`, of a range, of an offset and of `time() - since > 1800` becomes
 * `minuteS` seconds. Shares and counts stay.
 *
 * @param minuteS how many seconds a minute becomes, at least 1.
 */
export function hurriedRules(text: string, minuteS: number): string {
  const quick = (minutes: number) => Math.round(minutes * minuteS);
  const lines = text
    .split("\n")
    .map((line) =>
      line
        .replaceAll(
          /(for: |offset |\[)(\d+)([mh])\b/g,
          (_, before: string, count: string, unit: string) =>
            `${before}${quick(Number(count) * (unit === "h" ? 60 : 1))}s`,
        )
        .replace(
          /(?<=[<>] )(?:300|1800|3600)(?=,?$)/,
          (seconds) => `${quick(Number(seconds) / 60)}`,
        ),
    );
  return lines.join("\n");
}

/**
 * @param folder the folder of the binaries.
 * @param targets `host:port`.
 * @param rules the text of the rules.
 */
export async function startPrometheus(
  folder: string,
  targets: readonly string[],
  rules: string,
): Promise<Prometheus> {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-prometheus-"));
  writeFileSync(join(directory, "rules.yaml"), rules);
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: ["rules.yaml"],
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
  /** Labels of the alerts that fire, without duplicates. */
  const firingBy = async (labels: string) => {
    const query = encodeURIComponent(`count by (${labels}) (ALERTS{alertstate="firing"})`);
    const { result } = (await ask(`query?query=${query}`)) as {
      readonly result: readonly {
        readonly metric: { readonly alertname: string; readonly destination?: string };
      }[];
    };
    return result.map(({ metric }) => metric);
  };
  return {
    firing: async () => (await firingBy("alertname")).map(({ alertname }) => alertname).toSorted(),
    alerts: async () =>
      (await firingBy("alertname, destination")).map(({ alertname, destination = null }) => ({
        name: alertname,
        destination,
      })),
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
