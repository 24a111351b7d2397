/**
 * `bench destinations`: compares the CPU for a delivery in a process with 1,000 destinations and in a process with 10,
 * and measures the CPU of the larger process while it is idle. `bench destinations-cluster` does the same on three
 * brokers.
 *
 * Both processes run all the time, each with separate topics, and get the same calls in turns: for some seconds the
 * first process, then for as long the second. The two spans of a pair are therefore close in time, and changes of the
 * machine's speed affect both. The CPU time is measured by the system, from the first call of a span until a second
 * after its last delivery, including commits.
 *
 * Goals: a delivery takes at most 1.5 times the CPU; the idle process takes at most 3 % of a core.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { startCluster } from "../tools/kafka/cluster.ts";
import { bootstrapped, markdown } from "./measure.ts";
import { concurrencyFor, PIPELINE, type Program, percentOfCore } from "./program.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { idOf, turnOf, webhooksAt } from "./work.ts";
import { report, Workbench } from "./workbench.ts";

const [MANY, FEW] = [1_000, 10] as const;
const CALLS_PER_SECOND = 150;
/** The number of pairs of spans that are not counted, because V8 is still compiling. */
const WARM_UP = 3;
/** The number of destinations of each call. All destinations get calls in turn. */
const COPIES = 10;
const SPAN_S = 5;
const SETTLE_MS = 15_000;
const COMMIT_MS = 1_000;
/** The whole heap is collected about every 70 s. */
const IDLE_MS = 150_000;

interface Contestant {
  readonly count: number;
  readonly bench: Workbench;
  readonly receiver: Receiver;
  readonly program: Program;
}

interface Span {
  readonly deliveries: number;
  readonly cpuMs: number;
}

export async function benchDestinations(brokers: string, pairs: number): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const large = await start(stack, brokers, MANY);
  const small = await start(stack, brokers, FEW);
  const startMs = large.program.cpuMs();
  const spans: { readonly large: Span; readonly small: Span }[] = [];
  for (let pair = 1 - WARM_UP; pair <= pairs; pair += 1) {
    const [one, other] = [await span(large), await span(small)];
    report(`  pair ${pair}/${pairs}: ${us(one)} and ${us(other)} us CPU each`);
    if (pair >= 1) spans.push({ large: one, small: other });
  }
  await sleep(SETTLE_MS);
  const [idleLarge = 0, idleSmall = 0] = await Promise.all(
    [large, small].map(({ program }) => percentOfCore(program, IDLE_MS)),
  );
  const row = ({ count, program }: Contestant, of: readonly Span[], idle: number) => ({
    destinations: `${count}`,
    "CPU us a delivery": us(sum(of)),
    "idle % of a core": idle.toFixed(1),
    MB: program.rssMb().toFixed(0),
  });
  const table = markdown([
    row(
      large,
      spans.map((each) => each.large),
      idleLarge,
    ),
    row(
      small,
      spans.map((each) => each.small),
      idleSmall,
    ),
  ]);
  const ratio = bootstrapped(spans, (some) => {
    const of = (which: "large" | "small") => sum(some.map((each) => each[which])).cpuMs;
    return of("large") / of("small");
  });
  return (
    `${table}\n\n` +
    `Ratio of CPU of a delivery: ${ratio.value.toFixed(2)}, with 95 % certainty between ` +
    `${ratio.low.toFixed(2)} and ${ratio.high.toFixed(2)} (bootstrap over ${pairs} pairs of spans of ` +
    `${SPAN_S} s). ${CALLS_PER_SECOND} calls a second, each to ${COPIES} destinations in turns, log level ` +
    `warn. ${MANY} destinations were ready after ${(startMs / 1_000).toFixed(1)} s of CPU. Idle: over ` +
    `${IDLE_MS / 1_000} s. Goals: a ratio of at most 1.5; idle at most 3 %.`
  );
}

/** The leaders of all topics are distributed over three brokers. Each topic has one replica. */
export async function benchDestinationsCluster(pairs: number): Promise<string> {
  await using cluster = await startCluster({ log: report });
  return await benchDestinations(cluster.brokers.join(), pairs);
}

async function start(
  stack: AsyncDisposableStack,
  brokers: string,
  count: number,
): Promise<Contestant> {
  const bench = stack.use(new Workbench(brokers));
  await bench.create([bench.topics.calls]);
  const receiver = stack.use(await startReceiver());
  const destinations = webhooksAt(receiver.url, count, concurrencyFor(count));
  const program = stack.use(await bench.start({ stages: PIPELINE, destinations }));
  return { count, bench, receiver, program };
}

async function span({ count, bench, receiver, program }: Contestant): Promise<Span> {
  const calls = CALLS_PER_SECOND * SPAN_S;
  const before = program.cpuMs();
  const idsOf = (number: number) => turnOf(number, COPIES, count).map(idOf);
  await bench.post(calls, CALLS_PER_SECOND, bench.nextCalls(calls, idsOf));
  await receiver.untilCount(bench.calls * COPIES);
  await sleep(COMMIT_MS);
  return { deliveries: calls * COPIES, cpuMs: program.cpuMs() - before };
}

function sum(spans: readonly Span[]): Span {
  const total = (of: (span: Span) => number) => spans.reduce((all, each) => all + of(each), 0);
  return { deliveries: total(({ deliveries }) => deliveries), cpuMs: total(({ cpuMs }) => cpuMs) };
}

function us({ deliveries, cpuMs }: Span): string {
  return ((cpuMs / deliveries) * 1_000).toFixed(0);
}
