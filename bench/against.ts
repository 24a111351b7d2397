/**
 * `npm run bench -- against COMMIT [NAME...] [--rounds N]`: runs the same benches on an earlier commit and on the
 * current files, in turns, on one Kafka.
 *
 * The commit is unpacked into a separate folder, in which `tools/bootstrap.js` installs the packages of the commit's
 * lock file. Each turn runs a bench on the command line, and reads the tables that it prints.
 */

import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

import { compareRuns, comparisonTable, type Figure, figuresIn, isRegression } from "./figures.ts";

const ROOT = join(import.meta.dirname, "..");
const FOLDERS = join(ROOT, ".switchyard", "against");
const OUTPUT_MAX_BYTES = 64 * 1_024 * 1_024;

interface Against {
  readonly commit: string;
  readonly names: readonly string[];
  readonly rounds: number;
  readonly brokers: string;
  readonly log: (line: string) => void;
}

/** Returns true unless a figure has certainly become worse by more than 10 %. Throws if a bench fails. */
export function benchAgainst({ commit, names, rounds, brokers, log }: Against): boolean {
  const id = git("rev-parse", "--verify", "--end-of-options", `${commit}^{commit}`).trim();
  const folder = unpack(id, log);
  let isWell = true;
  for (const name of names) {
    const before: (readonly Figure[])[] = [];
    const now: (readonly Figure[])[] = [];
    const turn = (where: string, what: string, runs: (readonly Figure[])[]) => {
      log(`${name}, ${what}`);
      runs.push(figuresIn(runBench(where, name, brokers)));
    };
    for (let round = 1; round <= rounds; round += 1) {
      const turns = [
        () => turn(folder, `${round} of ${rounds}: ${id.slice(0, 7)}`, before),
        () => turn(ROOT, `${round} of ${rounds}: the present files`, now),
      ];
      // The first contestant of a turn changes, because the machine may become faster or slower over time.
      for (const next of round % 2 === 0 ? turns.reverse() : turns) next();
    }
    const rows = compareRuns(before, now);
    if (rows.length === 0) throw new Error(`${name}: the two print no figure that compares`);
    process.stdout.write(`\n## ${name}, against ${id.slice(0, 7)}\n\n`);
    process.stdout.write(`${comparisonTable(rows, rounds)}\n`);
    if (rows.some((row) => isRegression(row, rounds))) isWell = false;
  }
  return isWell;
}

/** Returns the short hash of the current commit. If files are not committed yet, this is the commit before them. */
export function presentCommit(): string {
  return git("rev-parse", "--short=7", "HEAD").trim();
}

/** The folder gets its final name only when it is complete. */
function unpack(id: string, log: (line: string) => void): string {
  const folder = join(FOLDERS, id);
  if (existsSync(folder)) return folder;
  log(`unpacking ${id.slice(0, 7)} into ${folder}`);
  const unfinished = `${folder}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  const archive = `${unfinished}.tar`;
  git("archive", "--format=tar", "--output", archive, id);
  succeed("tar", spawnSync("tar", ["-xf", archive, "-C", unfinished], { encoding: "utf8" }));
  rmSync(archive);
  renameSync(unfinished, folder);
  return folder;
}

function runBench(where: string, name: string, brokers: string): string {
  const run = spawnSync("node", ["tools/bootstrap.js", "bench", name, "--rounds", "1"], {
    cwd: where,
    env: { ...process.env, SWITCHYARD_KAFKA_BROKERS: brokers },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: OUTPUT_MAX_BYTES,
  });
  return succeed(`bench ${name} in ${where}`, run);
}

function git(...args: readonly string[]): string {
  return succeed("git", spawnSync("git", args, { cwd: ROOT, encoding: "utf8" }));
}

function succeed(
  what: string,
  { status, stdout, stderr, error }: SpawnSyncReturns<string>,
): string {
  if (status === 0) return stdout;
  throw new Error(`${what} failed: ${error?.message ?? stderr ?? `exit status ${status}`}`);
}
