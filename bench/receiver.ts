/** Starts `receiver-process.ts`, and asks it. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const STEP_MS = 10;
const STALLED_MS = 60_000;

export type Arrival = readonly [messageId: string, atMs: number];

export interface Receiver extends Disposable {
  readonly url: string;
  /** Requests answered so far. */
  count(): Promise<number>;
  /** Message id and instant of what has been accepted since the last time it was asked. */
  journal(): Promise<readonly Arrival[]>;
  /** Resolves when it has answered so many. */
  untilCount(wanted: number): Promise<void>;
  /** Begins to count from 0. */
  reset(): Promise<void>;
  span(): Promise<Span>;
  /** From now on these paths are not answered, or with 503; all others with 200. */
  sicken(sick: Sick): Promise<void>;
}

export interface Sick {
  readonly hangs?: readonly string[];
  readonly fails?: readonly string[];
}

export interface Span {
  /** With 200. */
  readonly accepted: number;
  readonly others: number;
  /** Instants of the first and the last request that was accepted. */
  readonly firstMs: number;
  readonly lastMs: number;
}

export interface ReceiverOptions {
  /** Before each answer. */
  readonly delayMs?: number;
  /** One request in so many is answered 503; 0: none. */
  readonly failEvery?: number;
  /** Whether it notes what it accepts: memory grows until it is asked for. */
  readonly journal?: boolean;
}

/** So much garbage may lie about: nothing that is measured should wait while it is collected. */
const FLAGS = ["--initial-old-space-size=512"];

export async function startReceiver({
  delayMs = 0,
  failEvery = 0,
  journal = false,
}: ReceiverOptions = {}): Promise<Receiver> {
  const file = join(import.meta.dirname, "receiver-process.ts");
  const argv = [...FLAGS, file, `${delayMs}`, `${failEvery}`, `${journal}`];
  const child = spawn(process.execPath, argv, { stdio: ["pipe", "pipe", "inherit"] });
  const waiting: PromiseWithResolvers<string>[] = [];
  const next = () => {
    const answer = Promise.withResolvers<string>();
    waiting.push(answer);
    return answer.promise;
  };
  const answers = createInterface({ input: child.stdout });
  answers.on("line", (line) => waiting.shift()?.resolve(line));
  answers.on("close", () => {
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
    sicken: async ({ hangs = [], fails = [] }) => {
      await ask(`sick ${JSON.stringify({ hangs, fails })}`);
    },
    // Its standard input ends, and so does it.
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
