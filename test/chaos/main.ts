/**
 * `npm run chaos`: runs the real program on a real Kafka while all kinds of faults occur.
 *
 *   npm run chaos -- --rounds 20 --seed 7        prints the ledger; exits with 1 if a law was broken
 *   npm run chaos -- --faults kill,freeze        only these faults
 *   npm run chaos -- audience --rounds 100       audiences instead of deliveries
 *   npm run chaos -- cluster --rounds 60         three brokers, which are also killed
 *   npm run chaos -- audit --rounds 2            records are doubled, deleted and replaced, and an audit must find them
 *   npm run chaos -- --rounds 200 --minutes 45   as many of these rounds as start in that time
 *   npm run chaos -- --takeover                  measures how soon deliveries continue after a SIGKILL
 */

import { flagsOf, runScript, say, secondsRunning, WrongUsage } from "../support/script/script.ts";
import { AUDIENCE_FAULTS, runAudienceChaos } from "./audience-chaos.ts";
import { CLUSTER_FAULTS, choosePlan, DELIVERY_FAULTS, runChaos } from "./chaos.ts";
import { measureTakeover } from "./takeover.ts";
import { TAMPERING_KINDS } from "./tampering.ts";

const OPTIONS = {
  rounds: { type: "string", default: "10" },
  seed: { type: "string" },
  minutes: { type: "string" },
  faults: { type: "string" },
  takeover: { type: "boolean", default: false },
} as const;

const SUITES: Readonly<
  Record<string, { readonly run: typeof runChaos; readonly faults: readonly string[] }>
> = {
  deliveries: { run: runChaos, faults: DELIVERY_FAULTS },
  cluster: { run: (options) => runChaos({ ...options, brokers: 3 }), faults: CLUSTER_FAULTS },
  audience: { run: runAudienceChaos, faults: AUDIENCE_FAULTS },
  audit: { run: (options) => runChaos({ ...options, isTampered: true }), faults: TAMPERING_KINDS },
};

await runScript(async () => {
  const flags = flagsOf({ allowPositionals: true, options: OPTIONS });
  return flags.values.takeover ? await takeover() : await chaos(flags);
});

async function takeover(): Promise<number> {
  print(await measureTakeover(say));
  return 0;
}

interface Flags {
  readonly values: {
    readonly rounds: string;
    readonly seed?: string;
    readonly minutes?: string;
    readonly faults?: string;
  };
  readonly positionals: readonly string[];
}

async function chaos({ values, positionals }: Flags): Promise<number> {
  const seed = values.seed === undefined ? Date.now() % 1_000_000 : whole(values.seed, "--seed");
  const rounds = whole(values.rounds, "--rounds");
  const [what = "deliveries"] = positionals;
  const suite = SUITES[what];
  if (suite === undefined) {
    throw new WrongUsage(`"${what}" is not one of ${Object.keys(SUITES).join(", ")}`);
  }
  const faults = values.faults?.split(",") ?? suite.faults;
  const unknown = faults.find((kind) => !suite.faults.includes(kind));
  if (unknown !== undefined) {
    const known = [...new Set(suite.faults)];
    throw new WrongUsage(`--faults: "${unknown}" is not one of ${known.join(", ")}`);
  }
  const minutes = values.minutes === undefined ? null : whole(values.minutes, "--minutes");
  let [begun, untilMs] = [0, Number.POSITIVE_INFINITY];
  const { ledger, broken, logs } = await suite.run({
    seed,
    plan: choosePlan(seed, rounds, faults),
    mayBegin: () => {
      if (begun === 0 && minutes !== null) untilMs = Date.now() + minutes * 60_000;
      if (Date.now() >= untilMs) return false;
      begun += 1;
      return true;
    },
    say,
  });
  print(`\nseed ${seed}, ${begun} of ${rounds} rounds in ${secondsRunning()} s\n${ledger}`);
  if (broken.length === 0) return 0;
  print(`\n${broken.join("\n\n")}\n\nLogs of the programs: ${logs}`);
  const only = values.faults === undefined ? "" : ` --faults ${values.faults}`;
  print(`Again: npm run chaos -- ${what} --rounds ${rounds} --seed ${seed}${only}`);
  return 1;
}

function whole(text: string, option: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new WrongUsage(`${option}: "${text}" is not an integer such as 20`);
  return Number(text);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
