/**
 * The client libraries that the ingest stage must support, unmodified, behind one interface. The npm libraries
 * run in this process. The Python and Java libraries run in separate processes, from virtual
 * environments and jars that are cached.
 */

import { execFile, spawn } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Analytics as SegmentAnalytics } from "@segment/analytics-node";
import { Analytics as SegmentAnalytics3 } from "segment-analytics-node-3";

import { Analytics } from "../../../src/sdk/client/index.ts";
import { prepareJava } from "./maven-jars.ts";

const require = createRequire(import.meta.url);
const run = promisify(execFile);

export interface ClientCall {
  readonly type: "identify" | "track" | "page" | "screen" | "group" | "alias";
  readonly [field: string]: unknown;
}

export interface ClientLibrary {
  readonly name: string;
  /** Sends the calls, and resolves when the library has delivered or dropped them. */
  send(endpoint: string, writeKey: string, calls: readonly ClientCall[]): Promise<void>;
}

/** Methods take the call without its type. */
type Methods = Readonly<Record<ClientCall["type"], (call: object) => unknown>>;

function make(library: object, { type, ...call }: ClientCall): void {
  (library as Methods)[type](call);
}

interface SegmentLibrary {
  on(event: "error", listener: () => void): unknown;
  closeAndFlush(): Promise<unknown>;
}

type SegmentConstructor = new (settings: { host: string; writeKey: string }) => SegmentLibrary;

const segment = (name: string, Library: SegmentConstructor): ClientLibrary => ({
  name,
  send: async (host, writeKey, calls) => {
    const analytics = new Library({ host, writeKey });
    // This event is emitted for each lost call, and would be thrown if there were no listener.
    analytics.on("error", () => undefined);
    for (const call of calls) make(analytics, call);
    await analytics.closeAndFlush();
  },
});

/** Both have the same interface: `flush` sends a batch, and a callback reports the result. */
interface OldLibrary {
  flush(callback: (error?: unknown) => void): unknown;
}

type OldConstructor = new (writeKey: string, options: object) => OldLibrary & Methods;

function oldLibrary(
  name: string,
  version: string,
  options: (endpoint: string) => object,
): ClientLibrary {
  return {
    name: `${name} ${version}`,
    send: async (endpoint, writeKey, calls) => {
      const Library = require(name) as OldConstructor;
      const ended = { count: 0, resolve: () => {} };
      const all = new Promise<void>((resolve) => {
        ended.resolve = resolve;
      });
      const library = new Library(writeKey, {
        // By default, the library sends the first call alone, but this test is about batches.
        flushAt: 100,
        flushInterval: 100,
        errorHandler: () => undefined,
        ...options(endpoint),
      });
      const done = () => {
        ended.count += 1;
        if (ended.count === calls.length) ended.resolve();
      };
      for (const { type, ...call } of calls) {
        (library[type] as (call: object, done: () => void) => unknown)(call, done);
      }
      await all;
    },
  };
}

export interface PythonLibrary extends ClientLibrary {
  /** The requirement in pip's format. */
  readonly requirement: string;
}

function python(requirement: string, module: string, gzip: boolean): PythonLibrary {
  return {
    name: `${requirement.replace("==", " ")}${gzip ? " with gzip" : ""}`,
    requirement,
    send: async (endpoint, writeKey, calls) => {
      const script = join(import.meta.dirname, "python_client.py");
      const argv = [script, module, endpoint, writeKey, `${gzip}`];
      await runWith(calls, pythonOf(requirement), argv);
    },
  };
}

async function runWith(
  calls: readonly ClientCall[],
  file: string,
  args: readonly string[],
): Promise<void> {
  const child = spawn(file, args, { stdio: ["pipe", "inherit", "inherit"] });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  child.stdin.end(JSON.stringify(calls));
  const status = await ended;
  if (status !== 0) throw new Error(`${file} ${args[0]} ended with ${status}`);
}

const SEGMENT_PYTHON = "segment-analytics-python==2.4.0";
const CLASSIC_PYTHON = "analytics-python==1.4.post1";
const RUDDER_PYTHON = "rudder-sdk-python==2.1.9";

export const PYTHON_LIBRARIES: readonly PythonLibrary[] = [
  python(SEGMENT_PYTHON, "segment.analytics.client", false),
  python(SEGMENT_PYTHON, "segment.analytics.client", true),
  python(CLASSIC_PYTHON, "analytics.client", false),
  python(RUDDER_PYTHON, "rudderstack.analytics.client", true),
];

export const NPM_LIBRARIES: readonly ClientLibrary[] = [
  segment("@segment/analytics-node 2.3.0", SegmentAnalytics),
  segment("@segment/analytics-node 3.1.0", SegmentAnalytics3),
  oldLibrary("analytics-node", "6.2.0", (host) => ({ host })),
  oldLibrary("@rudderstack/rudder-sdk-node", "3.0.13", (dataPlaneUrl) => ({
    dataPlaneUrl,
    logLevel: "none",
  })),
  {
    name: "switchyard-sdk/client",
    send: async (endpoint, writeKey, calls) => {
      const analytics = new Analytics(writeKey, { endpoint, onError: () => undefined });
      for (const call of calls) make(analytics, call);
      await analytics.close();
    },
  },
];

const JAVA = {
  folder: join(import.meta.dirname, "java-client"),
  main: "JavaClient",
  what: "Segment's library for Java",
  size: "3 MB",
};

/**
 * Returns the library, or the reason why it is not available. The library waits for 15 s or longer before it retries.
 */
export async function prepareJavaLibrary(): Promise<ClientLibrary | string> {
  const program = await prepareJava(JAVA, AbortSignal.timeout(PREPARE_LIMIT_MS));
  if (program.kind === "none") return program.why;
  return {
    name: "com.segment.analytics.java 3.5.1",
    send: (endpoint, writeKey, calls) =>
      runWith(calls, program.java, [...program.args, endpoint, writeKey]),
  };
}

function directoryOf(requirement: string): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  return join(cache, "switchyard", requirement.replace("==", "-"));
}

export function pythonOf(requirement: string): string {
  return join(directoryOf(requirement), "bin/python");
}

/** Time limit for all libraries together. A library that takes longer counts as not available. */
export const PREPARE_LIMIT_MS = 180_000;
/** This file is written last, because an interrupted installation may already have its Python. */
const COMPLETE = "switchyard-complete";

/** Creates missing environments. Returns the reason for each library that is not available. */
export async function preparePython(): Promise<ReadonlyMap<string, string>> {
  const signal = AbortSignal.timeout(PREPARE_LIMIT_MS);
  const requirements = [...new Set(PYTHON_LIBRARIES.map(({ requirement }) => requirement))];
  const reasons = await Promise.all(
    requirements.map(async (requirement) => [
      requirement,
      await prepareEnvironment(requirement, signal),
    ]),
  );
  return new Map(reasons.filter((row): row is [string, string] => row[1] !== null));
}

/** Null if the environment exists now, otherwise the reason why it does not. */
export async function prepareEnvironment(
  requirement: string,
  signal: AbortSignal,
): Promise<string | null> {
  const directory = directoryOf(requirement);
  try {
    if (existsSync(join(directory, COMPLETE))) return null;
    await run("python3", ["-m", "venv", "--clear", directory], { signal });
    await run(join(directory, "bin/pip"), ["install", "--quiet", requirement], { signal });
    writeFileSync(join(directory, COMPLETE), "");
    return null;
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    return `there is no Python with ${requirement}: ${(error as Error).message.split("\n", 1)[0]}`;
  }
}
