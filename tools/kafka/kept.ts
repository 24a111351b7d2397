/**
 * What stays in this checkout until it is taken down: `switchyard kafka up|down`. The broker, and the
 * schema registry if it was asked for.
 *
 *   .switchyard/kafka/          its settings, log and data (Java)
 *   .switchyard/kafka.json      where it is and how to end it
 *
 *   state file   broker                 up                               down
 *   none         -                      starts one                       nothing to do
 *   there        answers                says so                          ends it, removes its data
 *   there        starts still           waits for it                     ends it, removes its data
 *   there        gone (crash, reboot)   starts it again on its data      removes its data
 *   there        of another kind        says so, exit status 1           ends it, removes its data
 *
 * Of several brokers all have to run: where one is gone, the others are ended and all are started.
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { isContainerRunning, removeContainer } from "./docker.ts";
import type { Progress } from "./download.ts";
import { holdLock } from "./lock.ts";
import { commandLine, isAlive } from "./process.ts";

const START_LIMIT_MS = 60_000;
const END_LIMIT_MS = 15_000;
const INTERVAL_MS = 100;

export type Kept = {
  /** For clients: `host:port` of a broker, several with commas, the URL of a registry. */
  readonly address: string;
  /** Such as `3 brokers, TLS`. */
  readonly kind: string;
  /** Where to look whether it answers; empty: at `address`. */
  readonly probes: readonly string[];
} & (
  | { readonly how: "java"; readonly pids: readonly number[] }
  | { readonly how: "docker"; readonly container: string }
);

/** Something that can be kept. */
export interface Service {
  /** Of its files. */
  readonly name: "kafka" | "registry";
  /** For people. */
  readonly title: string;
  /** The command that starts it. */
  readonly up: string;
  /** Of the environment, where addresses of one that runs already may be. */
  readonly variable: string;
  /** These; empty: it is not set. */
  readonly given: () => readonly string[];
  /** Of what it starts. */
  readonly kind: string;
  readonly portPreferred: number;
  /** Of each of its addresses. */
  readonly portsOf: (address: string) => readonly number[];
  readonly answers: (address: string) => Promise<boolean>;
  readonly untilAnswers: (address: string, signal: AbortSignal) => Promise<void>;
  /**
   * Starts it and returns when it answers.
   *
   * @param onLaunch called as soon as there is something that can be ended
   */
  readonly start: (
    directory: string,
    /** The first one may stand for the others. */
    ports: readonly number[],
    signal: AbortSignal,
    log: Progress,
    onLaunch: (kept: Kept) => void,
  ) => Promise<Kept>;
}

export interface Place {
  readonly directory: string;
  readonly state: string;
  readonly lock: string;
}

/** The files of a service of the checkout at `root`. */
export function placeIn(root: string, { name }: Pick<Service, "name">): Place {
  const folder = join(root, ".switchyard");
  return {
    directory: join(folder, name),
    state: join(folder, `${name}.json`),
    lock: join(folder, `${name}.lock`),
  };
}

/** Starts it, or finds it. Returns when it answers; idempotent. */
export async function bringUp(
  service: Service,
  place: Place,
  signal: AbortSignal,
  log: Progress,
): Promise<{ readonly kept: Kept; readonly already: boolean }> {
  using _lock = await hold(place, signal, log);
  const before = readState(place);
  if (before !== null && before.kind !== service.kind) {
    throw new Error(
      `A local one of another kind is there already: ${before.kind} at ${before.address}; asked for was ${service.kind}. ` +
        "End it first: npm run -s switchyard -- kafka down (removes its data)",
    );
  }
  if (before !== null && (await isRunning(place, before))) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(START_LIMIT_MS)]);
    await Promise.all(probesOf(before).map((address) => service.untilAnswers(address, limit)));
    return { kept: before, already: true };
  }
  // Some brokers of a cluster may be left.
  if (before?.how === "java") await endAll(place, before.pids);
  const ports = before === null ? [service.portPreferred] : service.portsOf(before.address);
  // Written before it answers: it is found even if this process ends now.
  const write = (kept: Kept) => writeState(place, kept);
  const kept = await service.start(place.directory, ports, signal, log, write);
  writeState(place, kept);
  return { kept, already: false };
}

/** Ends it and removes its data. Returns what was there, or null. */
export async function takeDown(
  place: Place,
  signal: AbortSignal,
  log: Progress,
): Promise<Kept | null> {
  using _lock = await hold(place, signal, log);
  const kept = readState(place);
  if (kept?.how === "docker") await removeContainer(kept.container);
  if (kept?.how === "java") await endAll(place, kept.pids);
  rmSync(place.directory, { recursive: true, force: true });
  rmSync(place.state, { force: true });
  return kept;
}

/** What the state file says, and whether it still holds. */
export async function look(service: Service, place: Place) {
  const kept = readState(place);
  if (kept === null) return null;
  if (!(await isRunning(place, kept))) return { kept, isUp: false };
  const answering = await Promise.all(probesOf(kept).map((address) => service.answers(address)));
  return { kept, isUp: !answering.includes(false) };
}

function probesOf({ address, probes }: Kept): readonly string[] {
  return probes.length > 0 ? probes : [address];
}

async function isRunning(place: Place, kept: Kept): Promise<boolean> {
  if (kept.how === "docker") return await isContainerRunning(kept.container);
  return kept.pids.every((pid) => isOurs(place, pid));
}

/** A process id is used again after a reboot: only one that runs in our directory is ours. */
function isOurs(place: Place, pid: number): boolean {
  return isAlive(pid) && commandLine(pid).includes(place.directory);
}

async function endAll(place: Place, pids: readonly number[]): Promise<void> {
  await Promise.all(pids.filter((pid) => isOurs(place, pid)).map(end));
}

async function end(pid: number): Promise<void> {
  process.kill(pid, "SIGTERM");
  if (await isGone(pid)) return;
  process.kill(pid, "SIGKILL");
  // Its ports are free only then.
  await isGone(pid);
}

/** Whether it ends within the limit. */
async function isGone(pid: number): Promise<boolean> {
  const limitMs = performance.now() + END_LIMIT_MS;
  while (isAlive(pid) && performance.now() < limitMs) await sleep(INTERVAL_MS);
  return !isAlive(pid);
}

function hold(place: Place, signal: AbortSignal, log: Progress): Promise<Disposable> {
  return holdLock(place.lock, signal, (owner) =>
    log(`waiting for process ${owner}, which is at work on the same`),
  );
}

function writeState(place: Place, kept: Kept): void {
  mkdirSync(dirname(place.state), { recursive: true });
  writeFileSync(place.state, `${JSON.stringify(kept, null, 2)}\n`);
}

function readState(place: Place): Kept | null {
  try {
    return parseState(JSON.parse(readFileSync(place.state, "utf8")));
  } catch {
    return null; // none, or one that was cut off by a crash
  }
}

function parseState(state: unknown): Kept | null {
  if (typeof state !== "object" || state === null) return null;
  const { how, address, kind, container, ...rest } = { ...state } as Record<string, unknown>;
  if (typeof address !== "string" || typeof kind !== "string") return null;
  const probes = listOf(rest.probes, (each) => typeof each === "string") ?? [];
  if (how === "docker" && typeof container === "string") {
    return { how, address, kind, probes, container };
  }
  const pids = listOf(rest.pids, (each) => typeof each === "number");
  return how === "java" && pids !== null ? { how, address, kind, probes, pids } : null;
}

function listOf<Item>(list: unknown, isItem: (each: unknown) => each is Item): Item[] | null {
  return Array.isArray(list) && list.every(isItem) ? list : null;
}
