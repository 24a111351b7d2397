/**
 * `bench router-isolation`: the scenario that RudderStack publishes for its router (`bench/RESULTS.md`
 * cites it), with Switchyard's deliver stage: 200,000 deliveries are waiting, in equal parts for N webhook destinations
 * of one receiver, and a process starts. The time from the first to the last attempt is measured.
 *
 * For comparison, `undici.request` sends as many requests without Kafka and without Switchyard, with the same number of
 * connections per destination.
 *
 * This is repeated while a tenth of the destinations does not respond, and while a tenth responds 503. In these cases,
 * only the healthy nine tenths of the destinations are measured, which have nine tenths of the deliveries.
 *
 * Goals: below 10 s for each N; at most 1.1 times the time per delivery while a tenth hangs.
 */

import { setTimeout as sleep } from "node:timers/promises";

import { imageStart } from "./image.ts";
import { type Measured, markdown, median, runOnce } from "./measure.ts";
import { concurrencyFor } from "./program.ts";
import { type Sick, type Span, startReceiver } from "./receiver.ts";
import { benchDelivery, idOf } from "./work.ts";
import { report, Workbench } from "./workbench.ts";

const DELIVERIES = 200_000;
const COUNTS = [10, 100, 500, 1_000] as const;
const CEILING = "undici.request alone";
const STATES = ["all healthy", "a tenth hangs", "a tenth responds 503"] as const;
const STEP_MS = 20;
const STALLED_MS = 60_000;

interface Run {
  readonly deliveries: number;
  readonly seconds: number;
  readonly cpuS: number;
  readonly peakMb: number;
  /** The number of requests that the failing tenth got until then. */
  readonly toSick: number;
}

export async function benchRouterIsolation(brokers: string, rounds: number): Promise<string> {
  using image = await imageStart();
  const rows: Readonly<Record<string, string>>[] = [];
  for (const count of COUNTS) {
    await using bench = new Workbench(brokers);
    const ids = Array.from({ length: count }, (_, at) => idOf(at));
    const topics = ids.map((id) => bench.deliveries(id));
    await bench.create(topics);
    await bench.fill(DELIVERIES, (number) =>
      benchDelivery(topics[number % count] ?? "", number % count, number),
    );
    const runs = new Map<string, Run[]>([CEILING, ...STATES].map((state) => [state, []]));
    for (let round = 1; round <= rounds; round += 1) {
      const ceiling = await measureCeiling(count, image);
      report(`  ${count} destinations, ${CEILING}: ${JSON.stringify(ceiling)}`);
      runs.get(CEILING)?.push(ceiling);
      for (const state of STATES) {
        const run = await measure(bench, count, state, image);
        report(`  ${count} destinations, ${state}: ${JSON.stringify(run)}`);
        runs.get(state)?.push(run);
        for (const [at, id] of ids.entries()) {
          await bench.forgetGroups([`${bench.topics.prefix}deliver.${id}`, topics[at] ?? ""]);
        }
      }
    }
    rows.push(...rowsOf(count, runs));
  }
  return markdown(rows);
}

async function measureCeiling(
  count: number,
  { flags }: Awaited<ReturnType<typeof imageStart>>,
): Promise<Run> {
  using receiver = await startReceiver();
  const inFlight = concurrencyFor(count) * count;
  const work = [inFlight, DELIVERIES, 0, receiver.url, "single", count].map(String);
  const argv = ["bench/deliver-ceiling.ts", ...work];
  const { cpuMs, rssMaxMb } = await runOnce<Measured>({ name: CEILING, argv, nodeFlags: flags });
  const { firstMs, lastMs, others } = await receiver.span();
  return {
    ...{ deliveries: DELIVERIES, seconds: (lastMs - firstMs) / 1_000 },
    ...{ cpuS: cpuMs / 1_000, peakMb: rssMaxMb, toSick: others },
  };
}

async function measure(
  bench: Workbench,
  count: number,
  state: (typeof STATES)[number],
  image: Awaited<ReturnType<typeof imageStart>>,
): Promise<Run> {
  using receiver = await startReceiver();
  const isSick = (at: number) => state !== "all healthy" && at % 10 === 9;
  const ids = Array.from({ length: count }, (_, at) => idOf(at));
  const paths = ids.filter((_, at) => isSick(at)).map((id) => `/${id}`);
  const sick: Sick = state === "a tenth hangs" ? { hangs: paths } : { fails: paths };
  await receiver.sicken(sick);
  const concurrency = concurrencyFor(count);
  const destinations = ids.map((id) => ({ id, url: `${receiver.url}${id}`, concurrency }));
  const stages = ["deliver", "delay"];
  const deliveries = DELIVERIES - (DELIVERIES / count) * paths.length;
  await using program = await bench.start({ stages, destinations, image });
  const span = await untilAccepted(deliveries, () => receiver.span());
  return {
    deliveries,
    seconds: (span.lastMs - span.firstMs) / 1_000,
    cpuS: program.cpuMs() / 1_000,
    peakMb: program.peakMb(),
    toSick: span.others,
  };
}

async function untilAccepted(wanted: number, ask: () => Promise<Span>): Promise<Span> {
  let [reached, untilMs] = [-1, 0];
  for (;;) {
    const span = await ask();
    if (span.accepted >= wanted) return span;
    if (span.accepted > reached) untilMs = Date.now() + STALLED_MS;
    if (Date.now() > untilMs) throw new Error(`${span.accepted} of ${wanted} were accepted`);
    reached = span.accepted;
    await sleep(STEP_MS);
  }
}

function rowsOf(count: number, runs: ReadonlyMap<string, readonly Run[]>) {
  const of = (state: string, figure: (run: Run) => number) =>
    median((runs.get(state) ?? []).map(figure));
  const perDelivery = (state: string) =>
    of(state, ({ seconds, deliveries }) => seconds / deliveries);
  return [CEILING, ...STATES].map((state) => ({
    destinations: `${count}`,
    state,
    deliveries: of(state, ({ deliveries }) => deliveries).toFixed(0),
    "first to last attempt s": of(state, ({ seconds }) => seconds).toFixed(1),
    "time per delivery relative to all healthy": (
      perDelivery(state) / perDelivery("all healthy")
    ).toFixed(2),
    "CPU s": of(state, ({ cpuS }) => cpuS).toFixed(1),
    "peak MB": of(state, ({ peakMb }) => peakMb).toFixed(0),
    "requests to the failing tenth": of(state, ({ toSick }) => toSick).toFixed(0),
  }));
}
