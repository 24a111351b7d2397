/**
 * Looks names up without letting one of them hold up the others. `getaddrinfo` keeps one of
 * Node's four worker threads until it returns, which takes 10 s and more when the name server is
 * dead; files and codecs need these threads too. (Node's own resolver needs none, but knows
 * neither /etc/hosts nor search domains.)
 *
 *   asked for a name                                 answer
 *   it was found within the last 10 s                the same addresses
 *   it is being looked up                            what that look-up finds
 *   else                                             what a new look-up finds
 *     it takes over 1 s, or fails only for now,
 *     and the name was found within the last hour    the addresses of then
 *
 *   look-ups under way                               at most
 *   of all names                                     3
 *   of names that were not found the last time       1
 *
 * Those that wait for their turn go in the order of asking, names that were not found last.
 * Whether an address may be requested is judged by the caller, for each connection anew.
 */

import { type LookupAddress, lookup } from "node:dns";

import type { Clock } from "../runtime/clock.ts";

export type Found = (error: Error | null, addresses: readonly LookupAddress[]) => void;

/** Finds the addresses of a name; `found` is called once, never before this returns. */
export type Resolve = (name: string, found: Found) => void;

export const systemResolve: Resolve = (name, found) => {
  lookup(name, { all: true }, (error, addresses) => found(error, error === null ? addresses : []));
};

const FRESH_MS = 10_000;
const PATIENCE_MS = 1_000;
const KEPT_MS = 3_600_000;
const UNDER_WAY_MAX = 3;
const UNDER_WAY_FAILING_MAX = 1;

interface Name {
  readonly name: string;
  addresses: readonly LookupAddress[];
  foundAtMs: number;
  askedAtMs: number;
  isFailing: boolean;
  state: "idle" | "queued" | "under-way" | "overdue";
  waiting: Found[];
}

/** @returns `resolve` within these bounds; its `found` may get the same array several times. */
export function boundedResolve(resolve: Resolve, clock: Clock): Resolve {
  const names = new Map<string, Name>();
  const queue: Name[] = [];
  let underWay = 0;
  let underWayFailing = 0;

  function startNext(): void {
    while (underWay < UNDER_WAY_MAX) {
      const entry = takeNext();
      if (entry === undefined) return;
      start(entry);
    }
  }

  function takeNext(): Name | undefined {
    const found = queue.findIndex(({ isFailing }) => !isFailing);
    if (found >= 0) return queue.splice(found, 1)[0];
    return underWayFailing < UNDER_WAY_FAILING_MAX ? queue.shift() : undefined;
  }

  function start(entry: Name): void {
    const wasFailing = entry.isFailing;
    underWay += 1;
    if (wasFailing) underWayFailing += 1;
    entry.state = "under-way";
    const ended = new AbortController();
    const patience = clock.sleep(PATIENCE_MS, ended.signal).then(
      () => {
        entry.state = "overdue";
        if (isKept(entry)) answer(entry, null);
      },
      () => undefined,
    );
    resolve(entry.name, (error, addresses) => {
      ended.abort();
      underWay -= 1;
      if (wasFailing) underWayFailing -= 1;
      // The look-up that was too late has to be over before its name is asked for again.
      void patience.then(() => end(entry, error, addresses));
    });
  }

  function end(entry: Name, error: Error | null, addresses: readonly LookupAddress[]): void {
    entry.state = "idle";
    entry.isFailing = error !== null;
    if (error === null) {
      entry.addresses = addresses;
      entry.foundAtMs = clock.nowMs();
    }
    answer(entry, isTemporary(error) && isKept(entry) ? null : error);
    startNext();
  }

  function isKept({ addresses, foundAtMs }: Name): boolean {
    return addresses.length > 0 && clock.nowMs() - foundAtMs <= KEPT_MS;
  }

  function entryOf(name: string): Name {
    const known = names.get(name);
    if (known !== undefined) return known;
    const nowMs = clock.nowMs();
    for (const { name: old, state, askedAtMs } of names.values()) {
      if (state === "idle" && nowMs - askedAtMs > KEPT_MS) names.delete(old);
    }
    const never = { addresses: [], foundAtMs: 0, askedAtMs: nowMs, isFailing: false };
    const entry: Name = { name, ...never, state: "idle", waiting: [] };
    names.set(name, entry);
    return entry;
  }

  return (name, found) => {
    const entry = entryOf(name);
    entry.askedAtMs = clock.nowMs();
    const isFresh = !entry.isFailing && entry.askedAtMs - entry.foundAtMs < FRESH_MS;
    if ((isFresh || entry.state === "overdue") && isKept(entry)) {
      process.nextTick(found, null, entry.addresses);
      return;
    }
    entry.waiting.push(found);
    if (entry.state !== "idle") return;
    entry.state = "queued";
    queue.push(entry);
    startNext();
  };
}

function answer(entry: Name, error: Error | null): void {
  const { waiting, addresses } = entry;
  entry.waiting = [];
  for (const found of waiting) found(error, error === null ? addresses : []);
}

/** The name server gave no answer; that there is no such name would be one. */
function isTemporary(error: (Error & { readonly code?: unknown }) | null): boolean {
  return error?.code === "EAI_AGAIN";
}
