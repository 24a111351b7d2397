/**
 * `bench order`: what `order: strict` costs, compared with `loose`.
 *
 *   figure          measured                                                                    goal
 *   p99             of the users that are accepted, from the append of a call to its receipt,   at most 1.05 of loose
 *                   while 1 % of the users get 503. Both destinations are in the same process,
 *                   and get the same calls and the same responses
 *   CPU             of a backlog in which nothing fails, in a process with one destination      at most 1.2 of loose
 *   drain           from the acceptance of a user's failing call to that of the last one of
 *                   1,000 that waited behind it
 *   facts           what is written to `order.<destination>` for one call that waits
 *   memory          of blocked users, of whom each has a call that waits
 *
 * The p99 is that of a typical second, as in `bench isolation`, with its interval by bootstrap over the seconds.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { DestinationId } from "../src/domain/ids.ts";
import { type ImageStart, imageStart } from "./image.ts";
import {
  bootstrapped,
  type Measured,
  markdown,
  measureInTurns,
  median,
  perThousand,
  quantile,
  runOnce,
  summarise,
} from "./measure.ts";
import { TOTAL, turn } from "./product.ts";
import type { Program } from "./program.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { benchCall, productCall, recordOf } from "./work.ts";
import { report, Workbench } from "./workbench.ts";

const STRICT = "d1" as DestinationId;
const ORDERS = ["loose", "strict"] as const;
/** The others are accepted. */
const FAILING = "failing";
const USERS = 1_000;
const FAILING_USERS = 10;
const CALLS_PER_SECOND = 200;
/** For this time, a program that has just started compiles its code under load. */
const WARM_UP_MS = 15_000;
const SECONDS = 30;
/** These delays are short, so that deliveries that failed are retried within the run. */
const SETTINGS = { delays: ["2s", "5s", "10s"], logLevel: "info" } as const;
const WAITING = 1_000;
/** One call of this number in the queue belongs to the user who waits. */
const ONE_IN = [1, 10];
const BLOCKED_USERS = 100_000;
const STEP_MS = 100;

/** Milliseconds from append to receipt of the users that are accepted, for the calls of one second. */
type Second = Readonly<Record<(typeof ORDERS)[number], readonly number[]>>;

interface Drain {
  readonly oneIn: number;
  readonly ms: number;
  readonly cpuMs: number;
  readonly facts: number;
  readonly factBytes: number;
}

export async function benchOrder(brokers: string, rounds: number): Promise<string> {
  using image = await imageStart();
  const seconds: Second[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const measured = await othersOfFailing(brokers, image);
    seconds.push(...measured);
    report(`  round ${round}/${rounds}: p99 strict / loose ... ${ratioOf(measured).toFixed(3)}`);
  }
  const costs = await costsOf(brokers, image, rounds);
  const drains = await drainsOf(brokers, image, rounds);
  const argv = ["--expose-gc", "bench/order-work.ts", `${BLOCKED_USERS}`];
  const { usedMb } = await runOnce<{ usedMb: number }>({ name: "blocked users", argv });
  return [othersTable(seconds), costTable(costs), drainTable(drains, usedMb)].join("\n\n");
}

/** A call of 1 KB. */
function userCall(topic: string, userId: string, number: number) {
  const call = JSON.parse(benchCall(number).value) as object;
  const value = JSON.stringify({ ...call, userId, messageId: `${userId}/${number}` });
  return recordOf(topic, { key: userId, value });
}

async function othersOfFailing(brokers: string, image: ImageStart): Promise<readonly Second[]> {
  await using bench = new Workbench(brokers);
  const { calls } = bench.topics;
  await bench.create([calls], { isStamped: true });
  using loose = await startReceiver({ journal: true });
  using strict = await startReceiver({ journal: true });
  const destinations = [
    { id: "d1", url: loose.url, order: "loose" },
    { id: "d2", url: strict.url, order: "strict" },
  ] as const;
  await using program = await bench.start({ destinations, image, ...SETTINGS });
  const total = (WARM_UP_MS / 1_000 + SECONDS) * CALLS_PER_SECOND;
  const posting = bench.post(total, CALLS_PER_SECOND, (number) => {
    const user = number % USERS;
    return userCall(calls, `${user < FAILING_USERS ? FAILING : "user"}-${user}`, number);
  });
  await sleep(WARM_UP_MS);
  const failed = { failingIds: [FAILING] };
  await Promise.all([loose.sicken(failed), strict.sicken(failed)]);
  const fromMs = Date.now();
  await posting;
  const failing = (total / USERS) * FAILING_USERS;
  await Promise.all([loose, strict].map((receiver) => receiver.untilCount(total - failing)));
  await sleep(1_000);
  const appended = await bench.appends(calls);
  const of = async (receiver: Receiver) => secondsOf(await receiver.journal(), appended, fromMs);
  const [ofLoose, ofStrict] = [await of(loose), await of(strict)];
  await program.stop();
  // The last one is not whole.
  return ofLoose.slice(0, -1).map((each, at) => ({ loose: each, strict: ofStrict[at] ?? [] }));
}

function secondsOf(
  journal: Awaited<ReturnType<Receiver["journal"]>>,
  appended: ReadonlyMap<string, number>,
  fromMs: number,
): readonly (readonly number[])[] {
  const seconds = Array.from({ length: SECONDS }, (): number[] => []);
  for (const [messageId, atMs] of journal) {
    const appendedAtMs = appended.get(messageId) ?? 0;
    const isOther = !messageId.startsWith(FAILING);
    if (isOther) seconds[Math.floor((appendedAtMs - fromMs) / 1_000)]?.push(atMs - appendedAtMs);
  }
  return seconds;
}

function p99(seconds: readonly Second[], order: (typeof ORDERS)[number]): number {
  return median(seconds.map((second) => quantile(second[order], 0.99)));
}

function ratioOf(seconds: readonly Second[]): number {
  return p99(seconds, "strict") / p99(seconds, "loose");
}

function othersTable(seconds: readonly Second[]): string {
  const { value, low, high } = bootstrapped(seconds, ratioOf);
  const rows = ORDERS.map((order) => {
    const all = seconds.flatMap((second) => second[order]);
    const isLoose = order === "loose";
    return {
      "1 % of the users fail": order,
      "calls of others": `${all.length}`,
      "median ms": quantile(all, 0.5).toFixed(1),
      "p99 ms": p99(seconds, order).toFixed(1),
      "p99 ms over all": quantile(all, 0.99).toFixed(1),
      "ratio of p99": isLoose ? "1.00" : value.toFixed(3),
      "95 % interval": isLoose ? "" : `${low.toFixed(3)} to ${high.toFixed(3)}`,
      goal: isLoose ? "" : "at most 1.05",
    };
  });
  return `${markdown(rows)}\n\nBoth in one process with all stages, log level info; ${CALLS_PER_SECOND} calls a second of ${USERS} users to each. The p99 is that of a typical second: the median over ${seconds.length} seconds.`;
}

type Costs = ReadonlyMap<string, readonly Measured[]>;

/** The destinations have separate topics, because a destination that was strict keeps its order. */
async function costsOf(brokers: string, image: ImageStart, rounds: number): Promise<Costs> {
  using receiver = await startReceiver();
  await using loose = new Workbench(brokers);
  await using strict = new Workbench(brokers);
  const turns = [];
  for (const [order, bench] of [
    ["loose", loose],
    ["strict", strict],
  ] as const) {
    const { calls } = bench.topics;
    await bench.create([calls]);
    await bench.fill(TOTAL, (number) => recordOf(calls, productCall(number)));
    turns.push({ name: order, run: () => turn(bench, { order }, image, receiver) });
  }
  return await measureInTurns(turns, rounds);
}

function costTable(costs: Costs): string {
  const loose = costs.get("loose") ?? [];
  const rows = [...costs].map(([order, measured]) => {
    const { cpuMsPerThousand, unitsPerSecond } = summarise(order, measured);
    const ratios = measured.map((each, at) => perThousand(each) / perThousand(loose[at] ?? each));
    const isLoose = order === "loose";
    return {
      "nothing fails": order,
      "CPU ms / 1,000": cpuMsPerThousand.toFixed(1),
      "deliveries / s": unitsPerSecond.toFixed(0),
      ratio: isLoose ? "1.00" : median(ratios).toFixed(2),
      "of the rounds": isLoose ? "" : ratios.map((each) => each.toFixed(2)).join(", "),
      goal: isLoose ? "" : "at most 1.2",
    };
  });
  return markdown(rows);
}

async function drainsOf(
  brokers: string,
  image: ImageStart,
  rounds: number,
): Promise<readonly Drain[]> {
  await using bench = new Workbench(brokers);
  const { calls } = bench.topics;
  await bench.create([calls]);
  using receiver = await startReceiver({ journal: true });
  const destinations = [{ id: STRICT, url: receiver.url, order: "strict" }] as const;
  await using program = await bench.start({ destinations, image, ...SETTINGS });
  const drains: Drain[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const oneIn of ONE_IN) {
      const drain = await drainOf(bench, program, receiver, oneIn, `${FAILING}-${round}-${oneIn}`);
      drains.push(drain);
      const one = `1 in ${oneIn} calls`;
      report(`  round ${round}/${rounds}: drain, ${one} ... ${drain.ms.toFixed(0)} ms`);
    }
  }
  await program.stop();
  return drains;
}

async function drainOf(
  bench: Workbench,
  program: Program,
  receiver: Receiver,
  oneIn: number,
  userId: string,
): Promise<Drain> {
  const { calls } = bench.topics;
  const topic = bench.topics.order(STRICT);
  const from = await bench.ends(topic);
  const untilFacts = async (count: number) => {
    const end = async () => (await bench.ends(topic)).get(0) ?? 0;
    while ((await end()) - (from.get(0) ?? 0) < count) await sleep(STEP_MS);
  };
  await receiver.reset();
  await receiver.sicken({ failingIds: [FAILING] });
  const total = (WAITING + 1) * oneIn;
  await bench.fill(total, (at) => userCall(calls, at % oneIn === 0 ? userId : `user-${at}`, at));
  await untilFacts(WAITING + 1);
  await receiver.untilCount(total - WAITING);
  const cpuBeforeMs = program.cpuMs();
  await receiver.sicken({});
  // One fact more is that the failing call is settled.
  await untilFacts(2 * WAITING + 2);
  const cpuMs = program.cpuMs() - cpuBeforeMs;
  const arrivals = await receiver.journal();
  const atMs = arrivals.filter(([id]) => id.startsWith(FAILING)).map(([, each]) => each);
  let [facts, factBytes] = [0, 0];
  for await (const records of bench.read(topic, from)) {
    for (const { key, value } of records) {
      facts += 1;
      factBytes += (key?.length ?? 0) + (value?.length ?? 0);
    }
  }
  return { oneIn, ms: Math.max(...atMs) - Math.min(...atMs), cpuMs, facts, factBytes };
}

function drainTable(drains: readonly Drain[], usedMb: number): string {
  const rows = ONE_IN.map((oneIn) => {
    const some = drains.filter((drain) => drain.oneIn === oneIn);
    const of = (figure: (drain: Drain) => number) => median(some.map(figure));
    return {
      "calls that waited": `${WAITING}`,
      "of the calls in the queue": oneIn === 1 ? "all" : `1 in ${oneIn}`,
      "drained in s": (of(({ ms }) => ms) / 1_000).toFixed(2),
      "calls / s": of(({ ms }) => (WAITING * 1_000) / ms).toFixed(0),
      "CPU ms / 1,000": of(({ cpuMs }) => (cpuMs / WAITING) * 1_000).toFixed(0),
      "facts per call": of(({ facts }) => facts / WAITING).toFixed(2),
      "bytes of facts per call": of(({ factBytes }) => factBytes / WAITING).toFixed(0),
    };
  });
  return `${markdown(rows)}\n\n${BLOCKED_USERS} users of whom each has a call that is retried and one that waits: ${usedMb.toFixed(0)} MB.`;
}
