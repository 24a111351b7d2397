/** Functions for scripts such as `npm run drill`: flags, output and exit. */

import { type ParseArgsConfig, parseArgs } from "node:util";

/** An error whose message is printed without a stack. */
export class WrongUsage extends Error {}

/** Factor by which all time limits are multiplied on a busy machine. */
export const PATIENCE = { type: "string", default: "1" } as const;
const PATIENCE_MAX = 100;

const startedAtMs = Date.now();

/** Sets the exit status: the result of `main`, or 2 with a line about invalid usage. */
export async function runScript(main: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (!(error instanceof WrongUsage)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 2;
  }
}

/** Like `parseArgs`. @throws WrongUsage for unknown flags. */
export function flagsOf<const Config extends ParseArgsConfig>(config: Config) {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new WrongUsage((error as Error).message);
  }
}

/** The value of `--patience`. @throws WrongUsage */
export function patienceOf(text: string): number {
  const times = Number(text);
  if (times >= 1 && times <= PATIENCE_MAX) return times;
  throw new WrongUsage(`--patience: "${text}" is not a number from 1 to ${PATIENCE_MAX}`);
}

/** Finds an item of a list by name. @throws WrongUsage that lists all names */
export function oneOf<Each extends { readonly name: string }>(
  known: readonly Each[],
  name: string,
  flag: string,
): Each {
  const found = known.find((each) => each.name === name);
  if (found !== undefined) return found;
  throw new WrongUsage(
    `${flag}: "${name}" is not one of ${known.map((each) => each.name).join(", ")}`,
  );
}

export function secondsRunning(): string {
  return ((Date.now() - startedAtMs) / 1_000).toFixed(0);
}

/** Prints a line about the progress, with the seconds since the start. */
export function say(line: string): void {
  process.stderr.write(`${secondsRunning().padStart(5)} s  ${line}\n`);
}

/** Prints a table and how many of its rows are ok. Returns the exit status. @param what such as `signals were true` */
export function printRows(
  table: string,
  rows: readonly { readonly ok: boolean }[],
  what: string,
): number {
  const wrong = rows.filter(({ ok }) => !ok).length;
  process.stdout.write(`\n${table}\n${rows.length - wrong} of ${rows.length} ${what}\n`);
  return wrong === 0 ? 0 : 1;
}
