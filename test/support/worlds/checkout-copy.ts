/** A copy of the checkout in another folder, for tests that run a page's commands there. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { ROOT } from "../project/tracked-texts.ts";

/** What `npm run switchyard` needs, without `.switchyard`, which contains the state of a local Kafka. */
const COPIED = ["bin", "src", "tools", "package.json", "package-lock.json"];

export interface Terminal {
  /** Everything that was printed so far. */
  output(): string;
  /** Sends SIGINT to the whole process group, like Ctrl-C. Resolves when the script has ended. */
  interrupt(): Promise<void>;
}

export interface CheckoutCopy extends AsyncDisposable {
  save(path: string, text: string): void;
  /** Runs a shell script to its end. */
  run(script: string): Promise<{ readonly status: number | null; readonly output: string }>;
  /** Starts a shell script that keeps running. */
  start(script: string): Terminal;
}

/** @param env variables in addition to those of this process */
export function checkoutCopy(env: Readonly<Record<string, string>>): CheckoutCopy {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-checkout-"));
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const running = new Set<ChildProcess>();

  const start = (script: string) => {
    const child = spawn("/bin/sh", ["-ec", script], {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    running.add(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    const ended = once(child, "close").then(([status]) => {
      running.delete(child);
      return status as number | null;
    });
    return { child, output: () => output, ended };
  };

  return {
    save: (path, text) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    },
    run: async (script) => {
      const { output, ended } = start(script);
      return { status: await ended, output: output() };
    },
    start: (script) => {
      const { child, output, ended } = start(script);
      return {
        output,
        interrupt: async () => {
          signalGroup(child, "SIGINT");
          await ended;
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      const ends = [...running].map((child) => once(child, "close"));
      for (const child of running) signalGroup(child, "SIGKILL");
      await Promise.all(ends);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) throw new Error("the shell was not started");
  process.kill(-pid, signal);
}
