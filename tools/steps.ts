/** Runs the project's checks as child processes. Their output is shown only if they fail. */

import { type ChildProcess, spawn } from "node:child_process";
import { delimiter, join } from "node:path";

export const ROOT = join(import.meta.dirname, "..");

export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const PAGE_TYPES = [
  ...["tsc", "--project", "src/operator/console/page", "--noEmit", "--incremental"],
  ...["--tsBuildInfoFile", ".switchyard/page-types.tsbuildinfo"],
];

export const STATIC_STEPS: readonly Step[] = [
  { name: "format and lint", command: ["biome", "check", "--error-on-warnings", "."] },
  {
    name: "lost promises",
    command: [
      ...["oxlint", "--type-aware", "--deny-warnings"],
      ...["src", "test", "tools", "bench", "bin"],
    ],
  },
  {
    name: "types",
    command: [
      ...["tsc", "--noEmit", "--incremental"],
      ...["--tsBuildInfoFile", ".switchyard/types.tsbuildinfo"],
    ],
  },
  { name: "types of the page", command: PAGE_TYPES },
];

/** Runs all steps in parallel. Prints a line for each, and the output of failed steps. Returns the failed steps. */
export async function runQuietly(steps: readonly Step[]): Promise<readonly Step[]> {
  const results = await Promise.all(
    steps.map(async (step) => {
      const startedMs = performance.now();
      const { ok, output } = await run(step, "quiet");
      const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
      process.stdout.write(`${ok ? "ok    " : "FAILED"} ${step.name} (${seconds} s)\n`);
      if (!ok) process.stdout.write(`${output.trimEnd()}\n\n`);
      return { step, ok };
    }),
  );
  return results.filter(({ ok }) => !ok).map(({ step }) => step);
}

/** Runs a step with its output on the terminal. Returns true if it succeeded. */
export async function runShown(step: Step): Promise<boolean> {
  return (await run(step, "shown")).ok;
}

async function run(
  step: Step,
  mode: "quiet" | "shown",
): Promise<{ readonly ok: boolean; readonly output: string }> {
  const [file = "", ...args] = step.command;
  const binaries = join(ROOT, "node_modules", ".bin");
  const child = spawn(file, args, {
    cwd: ROOT,
    env: { ...process.env, ...step.env, PATH: `${binaries}${delimiter}${process.env.PATH}` },
    stdio: mode === "quiet" ? ["ignore", "pipe", "pipe"] : "inherit",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  endWithUs(child);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  child.once("error", (error) => {
    output += `Cannot run ${file}: ${error.message}`;
    resolve(false);
  });
  child.once("close", (status) => resolve(status === 0));
  return { ok: await promise, output };
}

/** The terminal also sends Ctrl-C to children, but a SIGTERM to this process has to be passed on. */
function endWithUs(child: ChildProcess): void {
  const end = () => {
    child.kill("SIGTERM");
  };
  process.once("SIGTERM", end);
  child.once("close", () => process.off("SIGTERM", end));
}
