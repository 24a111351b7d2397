/** Starts `receiver-process.ts`, and sends commands to it. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const STEP_MS = 10;
const STALLED_MS = 60_000;

export type Arrival = readonly [messageId: string, atMs: number];

export interface Receiver extends Disposable {
  readonly url: string;
  /** Resolves with the number of requests so far. */
  count(): Promise<number>;
  /** Resolves with the message ID and the time of each request that was accepted since the last call. */
  journal(): Promise<readonly Arrival[]>;
  /** Resolves when the receiver has responded to this many requests. */
  untilCount(wanted: number): Promise<void>;
  /** Restarts counting from 0. */
  reset(): Promise<void>;
  span(): Promise<Span>;
  /** From now on, these paths and messages get no response, or 503. All others get 200. */
  sicken(sick: Sick): Promise<void>;
}

export interface Sick {
  readonly hangs?: readonly string[];
  readonly fails?: readonly string[];
  /** Prefixes of message IDs. */
  readonly failingIds?: readonly string[];
}

export interface Span {
  /** The number of responses with 200. */
  readonly accepted: number;
  readonly others: number;
  /** Times of the first and the last request that was accepted. */
  readonly firstMs: number;
  readonly lastMs: number;
}

interface ReceiverOptions {
  /** If true, accepted requests are recorded: memory grows until the journal is read. */
  readonly journal?: boolean;
}

/** This much garbage may accumulate, so that nothing that is measured waits for a collection. */
const FLAGS = ["--initial-old-space-size=512"];

export async function startReceiver({ journal = false }: ReceiverOptions = {}): Promise<Receiver> {
  const file = join(import.meta.dirname, "receiver-process.ts");
  const argv = [...FLAGS, file, `${journal}`];
  const child = spawn(process.execPath, argv, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting: PromiseWithResolvers<string>[] = [];
  const next = () => {
    const response = Promise.withResolvers<string>();
    waiting.push(response);
    return response.promise;
  };
  const responses = createInterface({ input: child.stdout });
  responses.on("line", (line) => waiting.shift()?.resolve(line));
  responses.on("close", () => {
    for (const { reject } of waiting.splice(0)) reject(new Error("the receiver has ended"));
  });
  const url = `http://127.0.0.1:${await next()}/`;
  const ask = (question: string) => {
    child.stdin.write(`${question}\n`);
    return next();
  };
  const count = async () => Number(await ask("count"));
  return {
    url,
    count,
    untilCount: (wanted) => untilCount(count, wanted),
    journal: async () => JSON.parse(await ask("journal")) as [string, number][],
    reset: async () => {
      await ask("reset");
    },
    span: async () => JSON.parse(await ask("span")) as Span,
    sicken: async ({ hangs = [], fails = [], failingIds = [] }) => {
      await ask(`sick ${JSON.stringify({ hangs, fails, failingIds })}`);
    },
    // When its standard input ends, the process also ends.
    [Symbol.dispose]: () => child.stdin.end(),
  };
}

async function untilCount(count: () => Promise<number>, wanted: number): Promise<void> {
  let [reached, untilMs] = [-1, 0];
  for (;;) {
    const before = reached;
    reached = await count();
    if (reached >= wanted) return;
    if (reached > before) untilMs = Date.now() + STALLED_MS;
    if (Date.now() > untilMs) throw new Error(`the receiver has had ${reached} of ${wanted}`);
    await sleep(STEP_MS);
  }
}
