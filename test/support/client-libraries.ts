/**
 * The client libraries that ingest must take calls from, unchanged, behind one face. The npm ones run
 * in this process; the Python one in one of its own, from a virtual environment that is kept.
 */

import { execFile, spawn } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Analytics as SegmentAnalytics } from "@segment/analytics-node";

import { Analytics } from "../../src/client/index.ts";

const require = createRequire(import.meta.url);
const run = promisify(execFile);

export interface ClientCall {
  readonly type: "identify" | "track" | "page" | "screen" | "group" | "alias";
  readonly [field: string]: unknown;
}

export interface ClientLibrary {
  readonly name: string;
  /** Sends the calls, and returns when the library is done with them, delivered or not. */
  send(endpoint: string, writeKey: string, calls: readonly ClientCall[]): Promise<void>;
}

/** Methods take the call without its type. */
type Methods = Readonly<Record<ClientCall["type"], (call: object) => unknown>>;

function make(library: object, { type, ...call }: ClientCall): void {
  (library as Methods)[type](call);
}

const segment: ClientLibrary = {
  name: "@segment/analytics-node",
  send: async (host, writeKey, calls) => {
    const analytics = new SegmentAnalytics({ host, writeKey });
    // Said of each call that is lost; an event nobody listens to would be thrown.
    analytics.on("error", () => undefined);
    for (const call of calls) make(analytics, call);
    await analytics.closeAndFlush();
  },
};

/** Both are of one family: `flush` sends a batch, a callback tells of its end. */
interface OldLibrary {
  flush(callback: (error?: unknown) => void): unknown;
}

type OldConstructor = new (writeKey: string, options: object) => OldLibrary & Methods;

function oldLibrary(name: string, options: (endpoint: string) => object): ClientLibrary {
  return {
    name,
    send: async (endpoint, writeKey, calls) => {
      const Library = require(name) as OldConstructor;
      const ended = { count: 0, resolve: () => {} };
      const all = new Promise<void>((resolve) => {
        ended.resolve = resolve;
      });
      const library = new Library(writeKey, {
        // By itself it sends the first call alone; batches are what is looked at.
        ...{ flushAt: 100, flushInterval: 100, errorHandler: () => undefined },
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

const SEGMENT_PYTHON = "segment-analytics-python==2.4.0";

const python = (gzip: boolean): ClientLibrary => ({
  name: `segment-analytics-python${gzip ? " with gzip" : ""}`,
  send: async (endpoint, writeKey, calls) => {
    const script = join(import.meta.dirname, "segment_client.py");
    const child = spawn(pythonPath(), [script, endpoint, writeKey, `${gzip}`], {
      stdio: ["pipe", "inherit", "inherit"],
    });
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
    child.stdin.end(JSON.stringify(calls));
    const status = await ended;
    if (status !== 0) throw new Error(`${script} ended with ${status}`);
  },
});

export const PYTHON_LIBRARIES = [python(false), python(true)];

export const NPM_LIBRARIES: readonly ClientLibrary[] = [
  segment,
  oldLibrary("analytics-node", (host) => ({ host })),
  oldLibrary("@rudderstack/rudder-sdk-node", (dataPlaneUrl) => ({
    dataPlaneUrl,
    logLevel: "none",
  })),
  {
    name: "switchyard/client",
    send: async (endpoint, writeKey, calls) => {
      const analytics = new Analytics(writeKey, { endpoint, onError: () => undefined });
      for (const call of calls) make(analytics, call);
      await analytics.close();
    },
  },
];

function pythonDirectory(): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  return join(cache, "switchyard", SEGMENT_PYTHON.replace("==", "-"));
}

function pythonPath(): string {
  return join(pythonDirectory(), "bin/python");
}

/** Shorter than the hook that waits for it: what takes longer cannot be had. */
const PREPARE_LIMIT_MS = 90_000;

/** Makes the environment where it is missing; returns why it cannot be had, or null. */
export async function preparePython(): Promise<string | null> {
  const directory = pythonDirectory();
  const signal = AbortSignal.timeout(PREPARE_LIMIT_MS);
  // An installation that was interrupted has its Python too.
  const isComplete = () =>
    run(pythonPath(), ["-c", "import segment.analytics.client"], { signal }).then(
      () => true,
      () => false,
    );
  try {
    if (existsSync(pythonPath()) && (await isComplete())) return null;
    await run("python3", ["-m", "venv", "--clear", directory], { signal });
    await run(join(directory, "bin/pip"), ["install", "--quiet", SEGMENT_PYTHON], { signal });
    return null;
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    return `there is no Python with ${SEGMENT_PYTHON}: ${(error as Error).message.split("\n", 1)[0]}`;
  }
}
