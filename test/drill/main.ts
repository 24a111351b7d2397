/**
 * `npm run drill`: makes each trouble on a real cluster, and compares what the program says of it
 * with the truth. Where there is a Prometheus, or can be downloaded, it scrapes the program, and the
 * alerts that fire are compared as well.
 *
 *   npm run drill                          all of them
 *   npm run drill -- --only down,slow      only these
 *   npm run drill -- --list                their names, and what each is
 *   npm run drill -- --patience 3          signals may take three times as long, on a busy machine
 *
 * Exit status 1 when a signal was not true, 2 for wrong usage.
 */

import { parseArgs } from "node:util";

import { table } from "../../src/cli/table.ts";
import { startKafka } from "../../tools/kafka/start.ts";
import { findPrometheus } from "../../tools/prometheus/find.ts";
import { AlertWatch } from "./alerts.ts";
import { drill, drillTable } from "./drill.ts";
import type { Trouble } from "./trouble.ts";
import { TROUBLES } from "./troubles.ts";

const SETTLED_LOOKS = 3;

/** A message for the person at the terminal: no stack. */
class WrongUsage extends Error {}

const startedAtMs = Date.now();
try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof WrongUsage)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

async function main(): Promise<number> {
  const { only, list, patience } = flags();
  if (list) {
    process.stdout.write(
      table(
        ["TROUBLE", "IS"],
        TROUBLES.map((each) => [each.name, each.summary]),
      ),
    );
    return 0;
  }
  const troubles = only === undefined ? TROUBLES : only.split(",").map(named);
  const times = Number(patience);
  if (!(times >= 1 && times <= 100))
    throw new WrongUsage(`--patience: "${patience}" is no number from 1 to 100`);
  await using kafka = await startKafka({ log: say });
  const found = await findPrometheus(new AbortController().signal, say);
  if (found.kind === "none") say(`alerts are left out: ${found.why}`);
  await using alerts = found.kind === "folder" ? new AlertWatch(found.folder, times, say) : null;
  const signals = await drill(troubles, {
    brokers: kafka.brokers,
    patience: times,
    settledLooks: SETTLED_LOOKS,
    say,
    ...(alerts !== null && { hooks: alerts.hooks }),
  });
  const rows = [...signals, ...(alerts?.rows ?? [])];
  const wrong = rows.filter(({ ok }) => !ok).length;
  process.stdout.write(
    `\n${drillTable(rows)}\n${rows.length - wrong} of ${rows.length} signals were true\n`,
  );
  return wrong === 0 ? 0 : 1;
}

function flags() {
  try {
    return parseArgs({
      options: {
        only: { type: "string" },
        list: { type: "boolean", default: false },
        patience: { type: "string", default: "1" },
      },
    }).values;
  } catch (error) {
    throw new WrongUsage((error as Error).message);
  }
}

function named(name: string): Trouble {
  const found = TROUBLES.find((trouble) => trouble.name === name);
  if (found === undefined) {
    const known = TROUBLES.map((trouble) => trouble.name).join(", ");
    throw new WrongUsage(`--only: "${name}" is none of ${known}`);
  }
  return found;
}

function say(line: string): void {
  const seconds = ((Date.now() - startedAtMs) / 1_000).toFixed(0);
  process.stderr.write(`${seconds.padStart(5)} s  ${line}\n`);
}
