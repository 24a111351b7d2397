/**
 * Resolves host names so that no name delays the others. `getaddrinfo` occupies one of Node's worker threads until it
 * returns, which can take more than 10 s if the name server is down, and files and codecs also need these threads.
 * (Node's own resolver needs no thread, but ignores /etc/hosts and search domains.)
 *
 *   a name                                           resolves to
 *   was found within the last 10 s                   the same addresses
 *   has a lookup that is running or queued           the result of that lookup
 *   any other                                        the result of a new lookup
 *     the lookup takes over 1 s, including the time  the addresses found then
 *     in the queue, or fails temporarily, and the
 *     name was found within the last hour
 *
 *   concurrent lookups                               at most
 *   all names                                        half of the threads: libuv runs no more
 *   names that were not found the last time          a quarter of the threads
 *
 * Queued lookups run in the order in which they were requested, but names that were not found the last time come last.
 * The caller still checks, for each connection, whether requests may be sent to the address.
 */

import { type LookupAddress, lookup } from "node:dns";

import type { Clock } from "../runtime/clock.ts";

type OnAddresses = (error: Error | null, addresses: readonly LookupAddress[]) => void;

/** Resolves a name. `found` is called once, never before this function returns. */
export type Resolve = (name: string, found: OnAddresses) => void;

export const systemResolve: Resolve = (name, found) => {
  lookup(name, { all: true }, (error, addresses) => found(error, error === null ? addresses : []));
};

const FRESH_MS = 10_000;
const PATIENCE_MS = 1_000;
const KEPT_MS = 3_600_000;
/** libuv's default number of threads. */
const WORKER_THREADS = 4;

interface Name {
  readonly name: string;
  addresses: readonly LookupAddress[];
  foundAtMs: number;
  requestedAtMs: number;
  isFailing: boolean;
  isBusy: boolean;
  /** True if the lookup has been queued or running for longer than the wait of callers. */
  isOverdue: boolean;
  waiting: OnAddresses[];
}

interface Queued {
  readonly entry: Name;
  /** Aborted when the lookup has ended. */
  readonly ended: AbortController;
}

/**
 * @returns a version of `resolve` with these limits; `found` may get the same array several times.
 * @param threads the number of Node's worker threads
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

  /** Returns the cached addresses if the new lookup has been queued or running for too long. */
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
    // If the clock was set back, the age of the result is unknown.
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

/** Parses UV_THREADPOOL_SIZE in the same way as libuv. */
export function threadsOf(given: string | undefined): number {
  if (given === undefined) return WORKER_THREADS;
  return Math.max(1, Number.parseInt(given, 10) || 1);
}

function settle(entry: Name, error: Error | null): void {
  const { waiting, addresses } = entry;
  entry.waiting = [];
  for (const found of waiting) found(error, error === null ? addresses : []);
}

/** Returns true if the name server did not respond. If it responded that the name does not exist, returns false. */
function isTemporary(error: (Error & { readonly code?: unknown }) | null): boolean {
  return error?.code === "EAI_AGAIN";
}
