/**
 * `npm run chaos`: the real program on a real Kafka while everything goes wrong that may.
 *
 *   npm run chaos -- --rounds 20 --seed 7        prints the ledger; exit 1 if a law was broken
 *   npm run chaos -- --faults kill,freeze        only these
 *   npm run chaos -- --takeover                  how soon deliveries go on after a SIGKILL
 */

import { parseArgs } from "node:util";

import { choosePlan, runChaos } from "./chaos.ts";
import { FAULT_KINDS } from "./faults.ts";
import { measureTakeover } from "./takeover.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    seed: { type: "string" },
    faults: { type: "string" },
    takeover: { type: "boolean", default: false },
  },
});

/** A message for the person at the terminal: no stack. */
class WrongUsage extends Error {}

const startedAtMs = Date.now();
try {
  process.exitCode = values.takeover ? await takeover() : await chaos();
} catch (error) {
  if (!(error instanceof WrongUsage)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

async function takeover(): Promise<number> {
  print(await measureTakeover(tell));
  return 0;
}

async function chaos(): Promise<number> {
  const seed = values.seed === undefined ? Date.now() % 1_000_000 : whole(values.seed, "--seed");
  const rounds = whole(values.rounds, "--rounds");
  const faults = values.faults?.split(",") ?? FAULT_KINDS;
  const unknown = faults.find((kind) => !FAULT_KINDS.includes(kind));
  if (unknown !== undefined) {
    throw new WrongUsage(`--faults: "${unknown}" is none of ${FAULT_KINDS.join(", ")}`);
  }
  const { ledger, broken, logs } = await runChaos({
    seed,
    plan: choosePlan(seed, rounds, faults),
    say: tell,
  });
  print(`\nseed ${seed}, ${rounds} rounds in ${seconds()} s\n${ledger}`);
  if (broken.length === 0) return 0;
  print(`\n${broken.join("\n\n")}\n\nLogs of the programs: ${logs}`);
  const only = values.faults === undefined ? "" : ` --faults ${values.faults}`;
  print(`Again: npm run chaos -- --rounds ${rounds} --seed ${seed}${only}`);
  return 1;
}

function whole(text: string, option: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new WrongUsage(`${option}: "${text}" is no whole number such as 20`);
  return Number(text);
}

function tell(line: string): void {
  process.stderr.write(`${seconds().padStart(6)} s  ${line}\n`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function seconds(): string {
  return ((Date.now() - startedAtMs) / 1_000).toFixed(0);
}
