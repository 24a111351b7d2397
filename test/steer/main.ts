/**
 * `npm run steer`: pauses, resumes, retries, drains, cancels, replays and traces on a real cluster,
 * with two processes under load, and compares each step with what was published and received.
 *
 *   npm run steer                    all steps
 *   npm run steer -- --short         as `npm test` makes them
 *   npm run steer -- --patience 3    everything may take three times as long, on a busy machine
 *
 * Exit status 1 when something else was seen than the ledger says, 2 for wrong usage.
 */

import { parseArgs } from "node:util";

import { startKafka } from "../../tools/kafka/start.ts";
import { steer, steerTable } from "./steer.ts";

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
  const { short: isShort, patience: text } = flags();
  const patience = Number(text);
  if (!(patience >= 1 && patience <= 100)) {
    throw new WrongUsage(`--patience: "${text}" is no number from 1 to 100`);
  }
  await using kafka = await startKafka({ log: say });
  const rows = await steer({ brokers: kafka.brokers, patience, isShort, say });
  const wrong = rows.filter(({ ok }) => !ok).length;
  process.stdout.write(
    `\n${steerTable(rows)}\n${rows.length - wrong} of ${rows.length} lines are as the ledger says\n`,
  );
  return wrong === 0 ? 0 : 1;
}

function flags() {
  try {
    return parseArgs({
      options: {
        short: { type: "boolean", default: false },
        patience: { type: "string", default: "1" },
      },
    }).values;
  } catch (error) {
    throw new WrongUsage((error as Error).message);
  }
}

function say(line: string): void {
  const seconds = ((Date.now() - startedAtMs) / 1_000).toFixed(0);
  process.stderr.write(`${seconds.padStart(5)} s  ${line}\n`);
}
