/**
 * The broker of this checkout that stays until it is taken down: `switchyard kafka up|down`.
 *
 *   .switchyard/kafka/          its settings, log and data (Java)
 *   .switchyard/kafka.json      where it is and how to end it
 *
 *   state file   broker                 up                               down
 *   none         -                      starts one                       nothing to do
 *   there        answers                says so                          ends it, removes its data
 *   there        starts still           waits for it                     ends it, removes its data
 *   there        gone (crash, reboot)   starts it again on its data      removes its data
 */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { choose, type JavaChoice } from "./choose.ts";
import { isContainerRunning, removeContainer, startContainer } from "./docker.ts";
import type { Progress } from "./jars.ts";
import { prepareBroker, startBroker } from "./java.ts";
import { holdLock } from "./lock.ts";
import { answers, untilAnswers } from "./probe.ts";
import { commandLine, isAlive } from "./process.ts";

const PORT_PREFERRED = 9092;
const START_LIMIT_MS = 60_000;
const END_LIMIT_MS = 15_000;
const INTERVAL_MS = 100;

export type KeptKafka = {
  /** `host:port` for clients. */
  readonly address: string;
} & (
  | { readonly how: "java"; readonly pid: number }
  | { readonly how: "docker"; readonly container: string }
);

export interface Place {
  readonly directory: string;
  readonly state: string;
  readonly lock: string;
}

/** The files of the broker of the checkout at `root`. */
export function placeIn(root: string): Place {
  const folder = join(root, ".switchyard");
  return {
    directory: join(folder, "kafka"),
    state: join(folder, "kafka.json"),
    lock: join(folder, "kafka.lock"),
  };
}

/** Starts the broker, or finds it. Returns when it answers; idempotent. */
export async function bringUp(place: Place, signal: AbortSignal, log: Progress) {
  using _lock = await hold(place, signal, log);
  const before = readState(place);
  if (before !== null && (await isRunning(place, before))) {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(START_LIMIT_MS)]);
    await untilAnswers(before.address, limit);
    return { kafka: before, already: true };
  }
  const port = before === null ? PORT_PREFERRED : Number(before.address.split(":").at(-1));
  const choice = await choose(signal, log);
  if (choice.kind === "java") {
    return { kafka: await startJava(place, choice, port, signal, log), already: false };
  }
  log("starting Apache Kafka (Docker)");
  const { id, address } = await startContainer(choice.host, port, true);
  const kafka: KeptKafka = { how: "docker", container: id, address };
  writeState(place, kafka);
  return { kafka, already: false };
}

/** Ends the broker and removes its data. Returns what was there, or null. */
export async function takeDown(place: Place, signal: AbortSignal, log: Progress) {
  using _lock = await hold(place, signal, log);
  const kafka = readState(place);
  if (kafka?.how === "docker") await removeContainer(kafka.container);
  if (kafka?.how === "java" && (await isRunning(place, kafka))) await end(kafka.pid);
  rmSync(place.directory, { recursive: true, force: true });
  rmSync(place.state, { force: true });
  return kafka;
}

/** What the state file says, and whether it still holds. */
export async function look(place: Place) {
  const kafka = readState(place);
  if (kafka === null) return null;
  return { kafka, isUp: (await isRunning(place, kafka)) && (await answers(kafka.address)) };
}

async function startJava(
  place: Place,
  { java, jars }: JavaChoice,
  port: number,
  signal: AbortSignal,
  log: Progress,
): Promise<KeptKafka> {
  log("starting Apache Kafka (Java)");
  const broker = await prepareBroker(java, jars, place.directory, port, signal);
  const { address } = broker;
  // Written before the broker answers: it is found even if this process ends now.
  const process = await startBroker(broker, "detached", signal, ({ pid = 0 }) =>
    writeState(place, { how: "java", pid, address }),
  );
  return { how: "java", pid: process.pid ?? 0, address };
}

/** A process id is used again after a reboot: only one that runs in our directory is ours. */
async function isRunning(place: Place, kafka: KeptKafka): Promise<boolean> {
  if (kafka.how === "docker") return await isContainerRunning(kafka.container);
  return isAlive(kafka.pid) && commandLine(kafka.pid).includes(place.directory);
}

async function end(pid: number): Promise<void> {
  process.kill(pid, "SIGTERM");
  const limitMs = performance.now() + END_LIMIT_MS;
  while (isAlive(pid) && performance.now() < limitMs) await sleep(INTERVAL_MS);
  if (isAlive(pid)) process.kill(pid, "SIGKILL");
}

function hold(place: Place, signal: AbortSignal, log: Progress): Promise<Disposable> {
  return holdLock(place.lock, signal, (owner) =>
    log(`waiting for process ${owner}, which is at work on the same broker`),
  );
}

function writeState(place: Place, kafka: KeptKafka): void {
  mkdirSync(dirname(place.state), { recursive: true });
  writeFileSync(place.state, `${JSON.stringify(kafka, null, 2)}\n`);
}

function readState(place: Place): KeptKafka | null {
  try {
    return parseState(JSON.parse(readFileSync(place.state, "utf8")));
  } catch {
    return null; // none, or one that was cut off by a crash
  }
}

function parseState(state: unknown): KeptKafka | null {
  if (typeof state !== "object" || state === null) return null;
  const { how, address, pid, container } = { ...state } as Record<string, unknown>;
  if (typeof address !== "string") return null;
  if (how === "java" && typeof pid === "number") return { how, address, pid };
  if (how === "docker" && typeof container === "string") return { how, address, container };
  return null;
}
