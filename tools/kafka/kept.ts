/**
 * Services that keep running until they are stopped, for `switchyard kafka up|down`: the broker, and the
 * schema registry if it was requested.
 *
 *   .switchyard/kafka/          its settings, log and data (Java)
 *   .switchyard/kafka.json      its address and how to stop it
 *
 *   state file   broker                 up                               down
 *   none         -                      starts one                       nothing to do
 *   exists       responds               reports it                       stops it, removes its data
 *   exists       is still starting      waits for it                     stops it, removes its data
 *   exists       gone (crash, reboot)   restarts it on its data          removes its data
 *   exists       of another kind        error, exit status 1             stops it, removes its data
 *
 * If one of several brokers is gone, the others are stopped and all are started.
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
  /** Address for clients: `host:port` of brokers, separated by commas, or the URL of a registry. */
  readonly address: string;
  /** The kind of service, such as `3 brokers, TLS`. */
  readonly kind: string;
  /** Address for health checks; empty if it is `address`. */
  readonly probes: readonly string[];
} & (
  | { readonly how: "java"; readonly pids: readonly number[] }
  | { readonly how: "docker"; readonly container: string }
);

/** A service that can keep running. */
export interface Service {
  /** Name of its files. */
  readonly name: "kafka" | "registry";
  /** Name to show. */
  readonly title: string;
  /** The command that starts it. */
  readonly up: string;
  /** The environment variable with the address of a running service. */
  readonly variable: string;
  /** The addresses in the variable; empty if it is not set. */
  readonly given: () => readonly string[];
  /** Kind of the service to start. */
  readonly kind: string;
  readonly portPreferred: number;
  /** The ports of its addresses. */
  readonly portsOf: (address: string) => readonly number[];
  readonly responds: (address: string) => Promise<boolean>;
  readonly untilResponds: (address: string, signal: AbortSignal) => Promise<void>;
  /**
   * Starts the service and returns when it responds.
   *
   * @param onLaunch called as soon as there is something to stop
   */
  readonly start: (
    directory: string,
    /** Preferred ports. If only the first is given, the others follow it. */
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

/** Returns the paths of a service's files in the checkout at `root`. */
export function placeIn(root: string, { name }: Pick<Service, "name">): Place {
  const folder = join(root, ".switchyard");
  return {
    directory: join(folder, name),
    state: join(folder, `${name}.json`),
    lock: join(folder, `${name}.lock`),
  };
}

/** Starts the service unless it is running, and returns when it responds. Idempotent. */
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
      `Cannot start ${service.kind}: ${before.kind} is already running at ${before.address}. ` +
        "Stop it first, which removes its data: npm run -s switchyard -- kafka down",
    );
  }
  if (before !== null && (await isRunning(place, before))) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(START_LIMIT_MS)]);
    await Promise.all(probesOf(before).map((address) => service.untilResponds(address, limit)));
    return { kept: before, already: true };
  }
  // Some brokers of the cluster may still be running.
  if (before?.how === "java") await endAll(place, before.pids);
  const ports = before === null ? [service.portPreferred] : service.portsOf(before.address);
  // This is written before the service responds, so that the service is found even if this process ends now.
  const write = (kept: Kept) => writeState(place, kept);
  const kept = await service.start(place.directory, ports, signal, log, write);
  writeState(place, kept);
  return { kept, already: false };
}

/** Stops the service and removes its data. Returns what was running, or null. */
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

/** Returns the contents of the state file, and whether the service is running. */
export async function look(service: Service, place: Place) {
  const kept = readState(place);
  if (kept === null) return null;
  if (!(await isRunning(place, kept))) return { kept, isUp: false };
  const responding = await Promise.all(probesOf(kept).map((address) => service.responds(address)));
  return { kept, isUp: !responding.includes(false) };
}

function probesOf({ address, probes }: Kept): readonly string[] {
  return probes.length > 0 ? probes : [address];
}

async function isRunning(place: Place, kept: Kept): Promise<boolean> {
  if (kept.how === "docker") return await isContainerRunning(kept.container);
  return kept.pids.every((pid) => isOurs(place, pid));
}

/** Process IDs are reused after a reboot, so a process is only considered ours if it runs in our directory. */
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
  // The ports are only free after that.
  await isGone(pid);
}

/** Resolves with true if the process ends within the limit. */
async function isGone(pid: number): Promise<boolean> {
  const limitMs = performance.now() + END_LIMIT_MS;
  while (isAlive(pid) && performance.now() < limitMs) await sleep(INTERVAL_MS);
  return !isAlive(pid);
}

function hold(place: Place, signal: AbortSignal, log: Progress): Promise<Disposable> {
  return holdLock(place.lock, signal, (owner) =>
    log(`waiting for process ${owner}, which is working on the same service`),
  );
}

function writeState(place: Place, kept: Kept): void {
  mkdirSync(dirname(place.state), { recursive: true, mode: 0o700 });
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
