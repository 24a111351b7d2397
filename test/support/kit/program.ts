/** The program of a test: its configuration, its processes, their admin ports and its commands. */

import { onTestFinished } from "vitest";

import { loadConfig } from "../../../src/config/load.ts";
import { runProgram } from "../../../src/program/cli/program.ts";
import { run } from "../../../src/program/run/run.ts";
import { LogLines } from "../log/log-lines.ts";
import { type ProgramWorld, programWorld, type RunningProgram } from "../servers/program.ts";
import { fakeShell } from "../worlds/fake-shell.ts";
import type { Lifetime } from "./lifetime.ts";

/** The write key of the source `web`. */
export const WRITE_KEY = "k-0123456789";

type Section = Readonly<Record<string, unknown>>;

export interface Sections {
  /** Brokers, prefix and partitions, for example from `useKafka`. */
  readonly kafka: Section & { readonly brokers: readonly string[] };
  /** By ID: the URL of a webhook's only endpoint, or all settings. The source `web` is connected to all of them. */
  readonly destinations: Readonly<Record<string, string | Section>>;
  readonly [section: string]: unknown;
}

/**
 * Returns a configuration. A section that is given replaces or adds settings, and leaves the other ones.
 *
 *   source       `web`, which is the default source, with a key
 *   webhooks     have the header X-Switchyard-Message-Id, and endpoints on this machine
 *   retries      after 1 s and 2 s
 *   ports        free ones, which the log names
 */
export function configOf({ kafka, destinations, ...sections }: Sections): string {
  const entries = Object.entries(destinations).map(([id, given]) => {
    const hook = { type: "webhook", name: id, messageIdHeader: true };
    if (typeof given === "string") return { id, ...hook, endpoints: [{ url: given }] };
    return { id, ...(given.type === undefined ? hook : { name: id }), ...given };
  });
  const usual: Readonly<Record<string, Section>> = {
    kafka: { partitions: 1, replicationFactor: 1 },
    delivery: { allowNetworks: ["127.0.0.0/8"], retryDelays: ["1s", "2s"] },
    ingest: { host: "127.0.0.1", port: 0, handover: "100ms" },
    admin: { host: "127.0.0.1", port: 0 },
  };
  const ids = entries.map(({ id }) => id);
  const config: Record<string, unknown> = {
    sources: [{ id: "web", writeKey: WRITE_KEY, destinations: ids }],
    defaultSource: "web",
    destinations: entries,
    ...usual,
  };
  for (const [name, given] of Object.entries({ kafka, ...sections })) {
    config[name] = name in usual ? { ...usual[name], ...(given as Section) } : given;
  }
  // JSON is valid YAML.
  return JSON.stringify(config, null, 1);
}

/** Writes the configuration into a directory of its own. The processes end with the test, and the directory with them. */
export function useProgram(
  config: Sections | string | ((directory: string) => string),
  lifetime: Lifetime = onTestFinished,
): UsedProgram {
  const world = programWorld(
    typeof config === "string" || typeof config === "function" ? config : configOf(config),
  );
  lifetime(() => world[Symbol.asyncDispose]());
  return {
    ...world,
    ready: async (stages, within) => {
      const program = started(world, stages, within);
      await program.logged("ready");
      return program;
    },
    begin: (stages, within) => started(world, stages, within),
    inProcess: (args, input) => runCommand(world.file, args, input),
  };
}

export interface UsedProgram extends ProgramWorld {
  /** Starts a process, and resolves when it is ready. @param stages with commas; by default, all of them. */
  ready(stages?: string, within?: readonly string[]): Promise<UsedProcess>;
  /** Starts a process. */
  begin(stages?: string, within?: readonly string[]): UsedProcess;
  /** Runs a command in the test's own process, which is faster. */
  inProcess(args: readonly string[], input?: string): Promise<CommandEnd>;
}

export interface UsedProcess extends RunningProgram {
  /** `127.0.0.1:<port>` of the admin server. */
  admin(): Promise<string>;
  /** The response of the admin server. */
  get(path: string): Promise<string>;
  /** The value of the first sample that starts with this; NaN if there is none. */
  sample(start: string): Promise<number>;
  /** Posts to the ingest stage, and returns the status. */
  post(path: string, body: object, headers?: Readonly<Record<string, string>>): Promise<number>;
  /** Sends SIGTERM, and resolves with the exit status. */
  stop(): Promise<number | null>;
}

function started(world: ProgramWorld, stages?: string, within?: readonly string[]): UsedProcess {
  const program = world.start(stages === undefined ? [] : ["--stages", stages], within);
  const portOf = async (server: string) =>
    Number((await program.logged(`${server}.listening`)).port);
  const admin = async () => `127.0.0.1:${await portOf("admin")}`;
  const get = async (path: string) => await (await fetch(`http://${await admin()}${path}`)).text();
  return {
    ...{ ...program, admin, get },
    sample: async (start) => {
      const line = (await get("/metrics")).split("\n").find((each) => each.startsWith(start));
      return Number(line?.split(" ").at(-1) ?? Number.NaN);
    },
    post: async (path, body, headers = {}) => {
      const authorization = `Basic ${Buffer.from(`${WRITE_KEY}:`).toString("base64")}`;
      const { status } = await fetch(`http://127.0.0.1:${await portOf("ingest")}${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization, ...headers },
        body: JSON.stringify(body),
      });
      return status;
    },
    stop: () => {
      program.child.kill("SIGTERM");
      return program.ended;
    },
  };
}

export interface CommandEnd {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in the test's own process. */
export async function runCommand(
  file: string,
  args: readonly string[],
  input = "",
): Promise<CommandEnd> {
  const shell = fakeShell([input]);
  const status = await runProgram([...args, "--config", file], shell);
  return { status, out: shell.output(), err: shell.errors() };
}

/** The configuration in a file. @throws Error with the problems, if there are any. */
export function loaded(file: string) {
  const result = loadConfig({ file, env: {} });
  if (result.kind !== "config") throw new Error(JSON.stringify(result.problems));
  return result;
}

/** Runs stages in the test's own process, until the end of the test. */
export function useRun(
  file: string,
  stages: Parameters<typeof run>[2],
  lifetime: Lifetime = onTestFinished,
) {
  const lines = new LogLines();
  const stopping = new AbortController();
  const status = run(
    loaded(file),
    () => loadConfig({ file, env: {} }),
    stages,
    stopping.signal,
    lines.log,
  );
  // The test may look at it later.
  status.catch(() => undefined);
  const ready = () => Promise.race([lines.until("ready"), status]);
  const stop = () => {
    stopping.abort("SIGTERM");
    return status;
  };
  lifetime(async () => {
    await stop().catch(() => undefined);
  });
  return { lines, status, stop, ready };
}
