/**
 * Looks names up without letting one of them hold up the others. `getaddrinfo` keeps one of
 * Node's worker threads until it returns, which takes 10 s and more when the name server is
 * dead; files and codecs need these threads too. (Node's own resolver needs none, but knows
 * neither /etc/hosts nor search domains.)
 *
 *   asked for a name                                 answer
 *   it was found within the last 10 s                the same addresses
 *   it is being looked up, or waits for its turn     what that look-up finds
 *   else                                             what a new look-up finds
 *     this takes over 1 s from asking on, waiting
 *     for its turn included, or fails only for now,
 *     and the name was found within the last hour    the addresses of then
 *
 *   look-ups under way                               at most
 *   of all names                                     half of the threads: libuv runs no more
 *   of names that were not found the last time       a quarter of the threads
 *
 * Those that wait for their turn go in the order of asking, names that were not found last. The
 * caller judges for each connection anew whether an address may be requested.
 */

import { type LookupAddress, lookup } from "node:dns";

import type { Clock } from "../runtime/clock.ts";

type Found = (error: Error | null, addresses: readonly LookupAddress[]) => void;

/** Finds the addresses of a name; `found` is called once, never before this returns. */
export type Resolve = (name: string, found: Found) => void;

export const systemResolve: Resolve = (name, found) => {
  lookup(name, { all: true }, (error, addresses) => found(error, error === null ? addresses : []));
};

const FRESH_MS = 10_000;
const PATIENCE_MS = 1_000;
const KEPT_MS = 3_600_000;
/** How many libuv has when nobody says another number. */
const WORKER_THREADS = 4;

interface Name {
  readonly name: string;
  addresses: readonly LookupAddress[];
  foundAtMs: number;
  requestedAtMs: number;
  isFailing: boolean;
  /** Its look-up waits for its turn or is under way. */
  isBusy: boolean;
  /** And does so for longer than its caller is kept waiting. */
  isOverdue: boolean;
  waiting: Found[];
}

interface Queued {
  readonly entry: Name;
  /** Aborted when it is over. */
  readonly ended: AbortController;
}

/**
 * @returns `resolve` within these bounds; its `found` may get the same array several times.
 * @param threads that Node's work is spread over
 */
export function boundedResolve(
  resolve: Resolve,
  clock: Clock,
  threads = threadsOf(process.env.UV_THREADPOOL_SIZE),
): Resolve {
  const inFlightMax = Math.floor((threads + 1) / 2);
  const failingInFlightMax = Math.max(1, Math.floor(threads / 4));
  const names = new Map<string, Name>();
  const queue: Queued[] = [];
  let inFlight = 0;
  let failingInFlight = 0;

  function startNext(): void {
    while (inFlight < inFlightMax) {
      const queued = takeNext();
      if (queued === undefined) return;
      start(queued);
    }
  }

  function takeNext(): Queued | undefined {
    const healthy = queue.findIndex(({ entry }) => !entry.isFailing);
    if (healthy >= 0) return queue.splice(healthy, 1)[0];
    if (failingInFlight >= failingInFlightMax) return undefined;
    return queue.shift();
  }

  function start({ entry, ended }: Queued): void {
    const wasFailing = entry.isFailing;
    inFlight += 1;
    if (wasFailing) failingInFlight += 1;
    resolve(entry.name, (error, addresses) => {
      ended.abort();
      inFlight -= 1;
      if (wasFailing) failingInFlight -= 1;
      end(entry, error, addresses);
    });
  }

  function end(entry: Name, error: Error | null, addresses: readonly LookupAddress[]): void {
    entry.isBusy = false;
    entry.isOverdue = false;
    entry.isFailing = error !== null;
    if (error === null) {
      entry.addresses = addresses;
      entry.foundAtMs = clock.nowMs();
    }
    settle(entry, isTemporary(error) && isKept(entry) ? null : error);
    startNext();
  }

  /** The kept addresses serve when the new look-up takes too long, wherever it stands. */
  async function losePatience({ entry, ended: { signal } }: Queued): Promise<void> {
    try {
      await clock.sleep(PATIENCE_MS, signal);
    } catch {
      return;
    }
    if (signal.aborted) return;
    entry.isOverdue = true;
    if (isKept(entry)) settle(entry, null);
  }

  function isKept({ addresses, foundAtMs }: Name): boolean {
    return addresses.length > 0 && clock.nowMs() - foundAtMs <= KEPT_MS;
  }

  function entryOf(name: string): Name {
    const known = names.get(name);
    if (known !== undefined) return known;
    const nowMs = clock.nowMs();
    for (const { name: old, isBusy, requestedAtMs } of names.values()) {
      if (!isBusy && nowMs - requestedAtMs > KEPT_MS) names.delete(old);
    }
    const never = { addresses: [], foundAtMs: 0, requestedAtMs: nowMs, isFailing: false };
    const entry: Name = { name, ...never, isBusy: false, isOverdue: false, waiting: [] };
    names.set(name, entry);
    return entry;
  }

  return (name, found) => {
    const entry = entryOf(name);
    entry.requestedAtMs = clock.nowMs();
    // A clock that was set back says nothing of the answer's age.
    const ageMs = entry.requestedAtMs - entry.foundAtMs;
    const isFresh = !entry.isFailing && ageMs >= 0 && ageMs < FRESH_MS;
    if ((isFresh || entry.isOverdue) && isKept(entry)) {
      process.nextTick(found, null, entry.addresses);
      return;
    }
    entry.waiting.push(found);
    if (entry.isBusy) return;
    entry.isBusy = true;
    const queued = { entry, ended: new AbortController() };
    void losePatience(queued);
    queue.push(queued);
    startNext();
  };
}

/** As libuv reads it. */
export function threadsOf(given: string | undefined): number {
  if (given === undefined) return WORKER_THREADS;
  return Math.max(1, Number.parseInt(given, 10) || 1);
}

function settle(entry: Name, error: Error | null): void {
  const { waiting, addresses } = entry;
  entry.waiting = [];
  for (const found of waiting) found(error, error === null ? addresses : []);
}

/** The name server gave no answer; that there is no such name would be one. */
function isTemporary(error: (Error & { readonly code?: unknown }) | null): boolean {
  return error?.code === "EAI_AGAIN";
}
