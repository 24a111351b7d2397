/**
 * `bench peers`: compares Switchyard with other ways to deliver records from Kafka to webhooks. Each contestant runs
 * each case alone, one after the other, with the same broker, receiver and records:
 *
 *   backlog   one destination, at full speed
 *   steady    300 records per second for ten destinations; then one destination hangs
 *   outage    one destination, 300 records per second; for 8 s, requests get the response 503
 *   crash     one destination with a backlog; the process is killed in the middle and restarted
 *
 * Each case has separate topics and groups. `bench/RESULTS.md` explains the figures.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { imageStart } from "../image.ts";
import { markdown, median, quantile } from "../measure.ts";
import type { MeasuredProcess } from "../program.ts";
import { type Arrival, type Receiver, startReceiver } from "../receiver.ts";
import { benchDelivery, idOf } from "../work.ts";
import { report, Workbench } from "../workbench.ts";
import { allPeers, type Peer, type PeerWork, peerVersions } from "./peer-process.ts";

const PER_SECOND = 300;
const TEN = 10;
const BACKLOG = { warmUp: 40_000, count: 60_000 } as const;
const STEADY_MS = { warmUp: 6_000, healthy: 12_000, hanging: 12_000 } as const;
const OUTAGE_MS = { before: 3_000, failing: 8_000, after: 6_000 } as const;
const CRASH = { count: 60_000, killedAt: 20_000 } as const;
const READY_MS = 60_000;
/**
 * If nothing arrives for this time, nothing more is expected. It is longer than a session and the first retry delay.
 */
const QUIET_MS = 25_000;
const STEP_MS = 20;

type Figures = Readonly<Record<string, number>>;
type Case = (peer: Peer, world: World) => Promise<Figures>;

interface World extends PeerWork {
  readonly receiver: Receiver;
}

const CASES: Readonly<Record<string, { readonly destinations: number; readonly run: Case }>> = {
  "One destination, a backlog": { destinations: 1, run: backlog },
  "300 a second over ten destinations, then one of them hangs": { destinations: TEN, run: steady },
  "8 s of 503": { destinations: 1, run: outage },
  "Killed with SIGKILL and restarted": { destinations: 1, run: crash },
};

export async function benchPeers(brokers: string, rounds: number): Promise<string> {
  using image = await imageStart();
  const peers = await allPeers(image);
  const parts: string[] = [];
  for (const [title, { destinations, run }] of Object.entries(CASES)) {
    const figures = new Map<string, Figures[]>(peers.map(({ name }) => [name, []]));
    for (let round = 1; round <= rounds; round += 1) {
      for (const peer of round % 2 === 1 ? peers : peers.toReversed()) {
        const measured = await inWorld(brokers, destinations, (world) => run(peer, world)).catch(
          (error: unknown): Figures => {
            report(`  ${peer.name} failed: ${error}`);
            return {};
          },
        );
        report(`  ${title}, ${round}/${rounds}: ${peer.name}: ${JSON.stringify(measured)}`);
        figures.get(peer.name)?.push(measured);
      }
    }
    parts.push(`### ${title}\n\n${table(figures)}`);
  }
  return `${peerVersions()}\n\n${parts.join("\n\n")}`;
}

/** Formats the medians, with as many digits as are meaningful. A contestant that failed has none. */
function table(figures: ReadonlyMap<string, readonly Figures[]>): string {
  const all = [...figures.values()].flat();
  const columns = [...new Set(all.flatMap((each) => Object.keys(each)))];
  const cell = (rounds: readonly Figures[], column: string) => {
    const values = rounds.flatMap((each) => each[column] ?? []);
    return values.length === 0 ? "failed" : shown(median(values));
  };
  return markdown(
    [...figures].map(([name, rounds]) => ({
      program: name,
      ...Object.fromEntries(columns.map((column) => [column, cell(rounds, column)])),
    })),
  );
}

function shown(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "did not arrive";
  return value.toFixed(Number.isInteger(value) || value >= 100 ? 0 : 1);
}

async function inWorld<Result>(
  brokers: string,
  destinations: number,
  measure: (world: World) => Promise<Result>,
): Promise<Result> {
  await using bench = new Workbench(brokers);
  const ids = Array.from({ length: destinations }, (_, at) => idOf(at));
  const topics = ids.map((id) => bench.deliveries(id));
  await bench.create(topics, { isStamped: true });
  using receiver = await startReceiver({ journal: true });
  return await measure({ bench, receiver, urls: ids.map((id) => `${receiver.url}${id}`) });
}

function recordsOf({ bench, urls }: World) {
  return (number: number) => {
    const at = number % urls.length;
    return benchDelivery(bench.deliveries(idOf(at)), at, number);
  };
}

async function backlog(peer: Peer, world: World): Promise<Figures> {
  const { bench, receiver } = world;
  const total = BACKLOG.warmUp + BACKLOG.count;
  await bench.fill(total, recordsOf(world));
  await using process = await peer.start(world);
  await receiver.untilCount(BACKLOG.warmUp);
  const from = await mark(process, receiver);
  await receiver.untilCount(total);
  const to = await mark(process, receiver);
  return {
    "deliveries / s": ((to.count - from.count) * 1_000) / (to.atMs - from.atMs),
    "CPU ms / 1,000": perThousand(from, to),
    "peak MB": process.peakMb(),
  };
}

async function steady(peer: Peer, world: World): Promise<Figures> {
  const { bench, receiver } = world;
  await using process = await started(peer, world);
  const totalMs = STEADY_MS.warmUp + STEADY_MS.healthy + STEADY_MS.hanging;
  const records = recordsOf(world);
  const total = (totalMs / 1_000) * PER_SECOND;
  const posting = bench.post(total, PER_SECOND, (at) => records(TEN + at));
  await sleep(STEADY_MS.warmUp);
  const from = await mark(process, receiver);
  await sleep(STEADY_MS.healthy);
  const fell = await mark(process, receiver);
  await receiver.sicken({ hangs: [`/${idOf(TEN - 1)}`] });
  await posting;
  const to = await mark(process, receiver);
  const sick = bench.deliveries(idOf(TEN - 1));
  const healthyIds = new Set<string>();
  for (let number = TEN; number < TEN + total; number += 1) {
    if (number % TEN !== TEN - 1) healthyIds.add(`bench-${number}`);
  }
  const arrivals = await untilArrived(receiver, healthyIds);
  const appended = await appendsOf(world, (topic) => topic !== sick);
  const latencies = (since: Mark, until: Mark) =>
    [...appended].flatMap(([id, atMs]) =>
      atMs >= since.atMs && atMs < until.atMs && healthyIds.has(id)
        ? [(arrivals.get(id)?.[0] ?? Number.POSITIVE_INFINITY) - atMs]
        : [],
    );
  const [before, then] = [latencies(from, fell), latencies(fell, to)];
  return {
    "p50 ms": quantile(before, 0.5),
    "p99 ms": quantile(before, 0.99),
    "CPU ms / 1,000": perThousand(from, fell),
    "p50 ms, one hangs": quantile(then, 0.5),
    "p99 ms, one hangs": quantile(then, 0.99),
    "CPU ms / 1,000, one hangs": perThousand(fell, to),
    "peak MB": process.peakMb(),
  };
}

async function outage(peer: Peer, world: World): Promise<Figures> {
  const { bench, receiver } = world;
  await using process = await started(peer, world);
  const records = recordsOf(world);
  const total = ((OUTAGE_MS.before + OUTAGE_MS.failing + OUTAGE_MS.after) / 1_000) * PER_SECOND;
  const posting = bench.post(total, PER_SECOND, (at) => records(1 + at));
  await sleep(OUTAGE_MS.before);
  await receiver.sicken({ fails: [`/${idOf(0)}`] });
  const fellMs = Date.now();
  await sleep(OUTAGE_MS.failing);
  await receiver.sicken({});
  const roseMs = Date.now();
  await posting;
  const ids = new Set(Array.from({ length: total }, (_, at) => `bench-${1 + at}`));
  const arrivals = await untilArrived(receiver, ids);
  const appended = await appendsOf(world);
  const latencies = (sinceMs: number, untilMs: number) =>
    [...arrivals].flatMap(([id, [atMs = 0]]) => {
      const appendedMs = appended.get(id) ?? 0;
      return appendedMs >= sinceMs && appendedMs < untilMs ? [atMs - appendedMs] : [];
    });
  const { others } = await receiver.span();
  return {
    ...lostAndRepeated(ids, arrivals),
    "503 responses": others,
    "longest delay s, during the outage": Math.max(...latencies(fellMs, roseMs)) / 1_000,
    "p50 ms, in the 6 s after it": quantile(latencies(roseMs, Date.now()), 0.5),
    "CPU s": process.cpuMs() / 1_000,
    "peak MB": process.peakMb(),
  };
}

async function crash(peer: Peer, world: World): Promise<Figures> {
  const { bench, receiver } = world;
  await bench.fill(CRASH.count, recordsOf(world));
  const first = await peer.start(world);
  await receiver.untilCount(CRASH.killedAt);
  await first.kill();
  const killed = await receiver.span();
  await using again = await peer.start(world);
  const ids = new Set(Array.from({ length: CRASH.count }, (_, at) => `bench-${at}`));
  const arrivals = await untilArrived(receiver, ids);
  const later = [...arrivals.values()].flatMap((instants) =>
    instants.filter((atMs) => atMs > killed.lastMs).slice(0, 1),
  );
  return {
    ...lostAndRepeated(ids, arrivals),
    "s until deliveries continue": (Math.min(...later) - killed.lastMs) / 1_000,
    "CPU s after it": again.cpuMs() / 1_000,
    "peak MB": again.peakMb(),
  };
}

/** Starts a process, and resolves when it has delivered a record to each destination. */
async function started(peer: Peer, world: World): Promise<MeasuredProcess> {
  const { bench, receiver, urls } = world;
  const process = await peer.start(world);
  const records = recordsOf(world);
  await bench.send(urls.map((_, number) => records(number)));
  const endMs = Date.now() + READY_MS;
  while ((await receiver.count()) < urls.length) {
    if (Date.now() > endMs) throw new Error(`${peer.name} has not delivered a record in a minute`);
    await sleep(STEP_MS);
  }
  return process;
}

/** Resolves with the times of arrival of each message ID, when all of them have arrived or no more are expected. */
async function untilArrived(receiver: Receiver, ids: ReadonlySet<string>) {
  const arrivals = new Map<string, number[]>();
  let [missing, quietMs] = [ids.size, Date.now() + QUIET_MS];
  const take = (journal: readonly Arrival[]) => {
    for (const [id, atMs] of journal) {
      const known = arrivals.get(id);
      if (known !== undefined) known.push(atMs);
      else {
        arrivals.set(id, [atMs]);
        if (ids.has(id)) missing -= 1;
        quietMs = Date.now() + QUIET_MS;
      }
    }
  };
  while (missing > 0 && Date.now() < quietMs) {
    take(await receiver.journal());
    await sleep(STEP_MS);
  }
  take(await receiver.journal());
  return arrivals;
}

function lostAndRepeated(
  ids: ReadonlySet<string>,
  arrivals: ReadonlyMap<string, readonly number[]>,
): Figures {
  const repeated = [...arrivals.values()].reduce((sum, { length }) => sum + length - 1, 0);
  return { lost: [...ids].filter((id) => !arrivals.has(id)).length, repeated };
}

/** Returns the time at which the broker appended each record of these topics. */
async function appendsOf(
  { bench, urls }: World,
  wanted: (topic: string) => boolean = () => true,
): Promise<ReadonlyMap<string, number>> {
  const all = new Map<string, number>();
  const topics = urls.map((_, at) => bench.deliveries(idOf(at)));
  for (const topic of topics.filter(wanted)) {
    for (const [id, atMs] of await bench.appends(topic)) all.set(id, atMs);
  }
  return all;
}

interface Mark {
  readonly atMs: number;
  readonly cpuMs: number;
  readonly count: number;
}

async function mark(process: MeasuredProcess, receiver: Receiver): Promise<Mark> {
  const count = await receiver.count();
  return { atMs: Date.now(), cpuMs: process.cpuMs(), count };
}

function perThousand(from: Mark, to: Mark): number {
  return ((to.cpuMs - from.cpuMs) * 1_000) / (to.count - from.count);
}
