/** A broker requires authentication, and the configuration contains a wrong password. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chooseJava } from "../../tools/kafka/choose.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { PASSWORD } from "../../tools/kafka/security.ts";
import { startCommand } from "../support/kit/command.ts";
import { CA, startSecuredBroker } from "../support/servers/secured-broker.ts";
import { type Comparison, worded } from "./comparison.ts";
import type { Row } from "./judge.ts";
import type { DrillOptions, LoneHealthProblem } from "./problem.ts";

const NAME = "wrong-password";
/** The start must fail quickly, because waiting does not help. */
const SECONDS_MAX = 15;

export const WRONG_PASSWORD: LoneHealthProblem = {
  kind: "alone",
  name: NAME,
  summary: "the brokers demand another password",
  run: drillWrongPassword,
};

async function drillWrongPassword({ say, patience }: DrillOptions): Promise<readonly Row[]> {
  const java = await chooseJava(new AbortController().signal, say).catch(() => null);
  if (java === null) {
    say("skipped: it needs Java");
    return [];
  }
  const directory = mkdtempSync(join(tmpdir(), "switchyard-drill-"));
  const broker = await startSecuredBroker(java);
  try {
    writeFileSync(join(directory, "ca.pem"), CA);
    const adminPort = await freePort();
    const configured = (password: string) => {
      const file = join(directory, "switchyard.yaml");
      const sasl = { mechanism: "scram-sha-512", username: "alice", password };
      const kafka = {
        brokers: [`127.0.0.1:${broker.saslPort}`],
        tls: { ca: join(directory, "ca.pem") },
        sasl,
      };
      const admin = { host: "127.0.0.1", port: adminPort };
      writeFileSync(file, JSON.stringify({ kafka, admin, sources: [], destinations: [] }));
      return ["--config", file];
    };
    const right = configured(PASSWORD);
    const truth = await startCommand(["topics", "--kafka-timeout", "1m", ...right]).ended;
    const wrong = configured(`${PASSWORD}, but not this one`);
    say("started with the wrong password");
    const rows: Row[] = [];
    for (const command of ["run", "status"]) {
      const { status, out, err, tookMs } = await startCommand([command, ...wrong]).ended;
      const comparisons: readonly Comparison[] = [
        worded(`${command}: exit status`, `${status}`, ["1"]),
        within(`${command}: ends`, tookMs, SECONDS_MAX * patience),
        reported(`${command}: names the setting`, `${out}${err}`, "kafka.sasl.password"),
      ];
      rows.push(...comparisons.map((each) => rowOf("during", each, tookMs)));
    }
    // The command lists the topics that it would create, and creates none of them.
    const isTaken = truth.out.includes("to create");
    const brokerTakes = worded("the right password", isTaken ? "is taken" : truth.err, [
      "is taken",
    ]);
    return [rowOf("before", brokerTakes, truth.tookMs), ...rows];
  } finally {
    await broker.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

function within(signal: string, tookMs: number, seconds: number): Comparison {
  const took = Math.round(tookMs / 1_000);
  return { signal, said: `after ${took} s`, truth: `within ${seconds} s`, ok: took <= seconds };
}

function reported(signal: string, said: string, setting: string): Comparison {
  const ok = said.includes(setting);
  return { signal, said: ok ? setting : said.trim(), truth: setting, ok };
}

function rowOf(phase: string, comparison: Comparison, afterMs: number): Row {
  return { ...comparison, problem: NAME, about: NAME, phase, afterMs };
}
