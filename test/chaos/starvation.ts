/**
 * Detects times in which a program or a broker of the run got no CPU time, from the counters that Linux keeps for each
 * thread. If a member's heartbeat waits too long for a processor, the member's session expires, so its work is
 * repeated. That is neither a fault of the product nor one that the run has injected.
 *
 *   a thread, within three seconds                              its process
 *   waited for at least half of them, and twice as long as      is starved
 *   it ran
 *   waited less, or ran for about as long                       is at most slow
 *   was stopped by a fault                                      does not count as waiting
 *
 * If the machine or this process was suspended, all processes count as starved.
 *
 * On other systems than Linux, starvation cannot be detected, so such repetitions count as violations there.
 */

import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { BEFORE_MS, REJOINED_MS } from "./faults.ts";
import { type Exposure, STARVED } from "./violation.ts";

const LOOK_EVERY_MS = 3_000;
const NS_PER_MS = 1e6;

/** The times of one thread since its start. */
export interface Ran {
  readonly ranMs: number;
  /** How long the thread could have run, but had no processor. */
  readonly waitedMs: number;
}

/** By thread. */
export type Look = ReadonlyMap<string, Ran>;

/** The longest wait of a starved thread between two checks; null if no thread was starved. */
export function longestWait(before: Look, now: Look, elapsedMs: number): number | null {
  let longestMs: number | null = null;
  for (const [thread, { ranMs, waitedMs }] of now) {
    const since = before.get(thread) ?? { ranMs: 0, waitedMs: 0 };
    const [ran, waited] = [ranMs - since.ranMs, waitedMs - since.waitedMs];
    // A wait is counted when it is over, so it may be longer than the time between two checks.
    if (waited < elapsedMs / 2 || waited < 2 * ran) continue;
    longestMs = Math.max(longestMs ?? 0, waited);
  }
  return longestMs;
}

export interface StarvationWatch extends Disposable {
  /** The total so far. */
  readonly starvedMs: number;
  /** True if a process was starved at the last check. */
  readonly isStarved: boolean;
  /** Resolves when the last check has found no starved process, or after `limitMs` at the latest. */
  untilOver(limitMs: number): Promise<void>;
}

/** Adds an exposure for each time in which this process or a child of it was starved. */
export function watchStarvation(exposures: Exposure[]): StarvationWatch {
  let [before, lastMs, starvedMs, isStarved] = [lookAround(), performance.now(), 0, false];
  const timer = setInterval(() => {
    const [now, atMs] = [lookAround(), performance.now()];
    const elapsedMs = atMs - lastMs;
    const stoodStillMs = elapsedMs >= 2 * LOOK_EVERY_MS ? elapsedMs : null;
    const waitedMs = longestWait(before, now, elapsedMs) ?? stoodStillMs;
    [before, lastMs, isStarved] = [now, atMs, waitedMs !== null];
    if (waitedMs === null) return;
    starvedMs += elapsedMs;
    const nowMs = Date.now();
    const fromMs = nowMs - Math.max(waitedMs, elapsedMs) - BEFORE_MS;
    exposures.push({ kind: STARVED, fromMs, toMs: nowMs + REJOINED_MS });
  }, LOOK_EVERY_MS);
  return {
    get starvedMs() {
      return starvedMs;
    },
    get isStarved() {
      return isStarved;
    },
    untilOver: async (limitMs) => {
      for (const untilMs = performance.now() + limitMs; isStarved && performance.now() < untilMs; )
        await sleep(LOOK_EVERY_MS);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

function lookAround(): Look {
  const looks = new Map<string, Ran>();
  const own = threadsOf(process.pid);
  const children = own.flatMap((thread) =>
    reported(`/proc/${process.pid}/task/${thread}/children`).filter((pid) => pid !== ""),
  );
  for (const pid of [process.pid, ...children]) {
    for (const thread of threadsOf(pid)) {
      const [ranNs, waitedNs] = reported(`/proc/${pid}/task/${thread}/schedstat`).map(Number);
      if (ranNs === undefined || waitedNs === undefined) continue;
      looks.set(thread, { ranMs: ranNs / NS_PER_MS, waitedMs: waitedNs / NS_PER_MS });
    }
  }
  return looks;
}

/** Empty if the process has ended, or if the system is not Linux. */
function threadsOf(pid: number | string): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function reported(path: string): readonly string[] {
  try {
    return readFileSync(path, "utf8").trim().split(" ");
  } catch {
    return [];
  }
}
