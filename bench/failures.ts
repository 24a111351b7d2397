/**
 * `bench failures`: what it costs that one request in twenty is answered 503. The same backlog of
 * deliveries goes to a receiver that accepts all of them, and to one that refuses 5 %; those are
 * parked, come back after a second and are delivered then.
 *
 * What counts is requests answered a second, first attempts and later ones. 20,000, as the goal has
 * it, take a third of a second: whether the one collection of the whole heap in five seconds falls
 * into them would decide. So it is measured over ten spans of 20,000 in a row, and the median of
 * the spans of all rounds counts. Those refused while warming up return meanwhile. Goal: at most
 * 10 % fewer with failures.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { DestinationId } from "../src/domain/ids.ts";
import { topicNames } from "../src/domain/topics.ts";
import { benchKafka, createTopics, deleteTopics, fill, newPrefix } from "./bench-kafka.ts";
import { benchDelivery } from "./deliver-work.ts";
import { markdown, median } from "./measure.ts";
import { startProgram } from "./program.ts";
import { startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const CONCURRENCY = 64;
/**
 * So many that those refused, one in twenty, warm up their part of the code as well: after 150,000
 * V8 still compiled for it, three times as much for each request as after 800,000.
 */
const WARM_UP = 600_000;
const CPU_FROM = WARM_UP / 2;
const SPAN = 20_000;
const FAIL_EVERY = 20;
const STEP_MS = 10;
const STALLED_MS = 60_000;

interface Run {
  /** Requests answered, over all deliveries after warming up and over each span of them. */
  readonly perSecond: number;
  readonly perSecondOfSpans: readonly number[];
  /** Over the first span after the start, but for its first thousand. */
  readonly perSecondAtStart: number;
  /** Of the process, for each 1,000 deliveries from half of the warm-up on, until the last one was accepted. */
  readonly cpuMsPerThousand: number;
  readonly secondsUntilAllAccepted: number;
}

export async function benchFailures(
  brokers: string,
  deliveries: number,
  rounds: number,
): Promise<string> {
  const without: Run[] = [];
  const having: Run[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const [runs, failEvery] of [[without, 0] as const, [having, FAIL_EVERY] as const]) {
      const run = await runOnce(brokers, deliveries, failEvery);
      const share = failEvery === 0 ? "none" : `1 in ${failEvery}`;
      process.stderr.write(
        `  round ${round}/${rounds}: ${share} refused ... ${median(run.perSecondOfSpans).toFixed(0)} a second, ${run.perSecond.toFixed(0)} over all\n`,
      );
      runs.push(run);
    }
  }
  const figures = (runs: readonly Run[]) => ({
    ofSpans: median(runs.flatMap(({ perSecondOfSpans }) => perSecondOfSpans)),
    ofAll: median(runs.map(({ perSecond }) => perSecond)),
    atStart: median(runs.map(({ perSecondAtStart }) => perSecondAtStart)),
    cpuMs: median(runs.map(({ cpuMsPerThousand }) => cpuMsPerThousand)),
    seconds: median(runs.map(({ secondsUntilAllAccepted }) => secondsUntilAllAccepted)),
  });
  const base = figures(without);
  const row = (title: string, runs: readonly Run[]) => {
    const { ofSpans, ofAll, atStart, cpuMs, seconds } = figures(runs);
    return [
      title,
      ...[ofSpans.toFixed(0), (ofSpans / base.ofSpans).toFixed(2)],
      ...[ofAll.toFixed(0), (ofAll / base.ofAll).toFixed(2)],
      ...[atStart.toFixed(0), (atStart / base.atStart).toFixed(2)],
      ...[cpuMs.toFixed(1), seconds.toFixed(1)],
    ];
  };
  const header = [
    "answered 503",
    `requests / s over ${SPAN}`,
    "ratio",
    `over ${deliveries}`,
    "ratio",
    `first ${SPAN} after a start`,
    "ratio",
    "CPU ms / 1,000",
    "all accepted after s",
  ];
  return (
    `${markdown(header, [row("none", without), row("5 %", having)])}\n\n` +
    `After ${WARM_UP} deliveries for warming up; ${rounds} alternating runs, medians over their spans ` +
    `of ${SPAN} and over the runs. Those refused return after 1 s. Goal: a ratio of at least 0.90.`
  );
}

async function runOnce(brokers: string, deliveries: number, failEvery: number): Promise<Run> {
  const topics = topicNames(newPrefix());
  const topic = topics.deliveries("d1" as DestinationId);
  const kafka = benchKafka(brokers);
  await createTopics(kafka, [topic], PARTITIONS);
  const producer = kafka.producer();
  const total = WARM_UP + deliveries;
  await fill(producer, total, (number) => benchDelivery(topic, 0, number));
  await kafka.close();
  using receiver = await startReceiver(0, { failEvery });
  const program = await startProgram({
    brokers,
    topicPrefix: topics.prefix,
    destinations: [
      { id: "d1", url: `http://127.0.0.1:${receiver.port}/`, concurrency: CONCURRENCY },
    ],
    stages: ["deliver", "delay"],
    delays: ["1s"],
  });
  const accepted = async () => {
    const answered = await receiver.count();
    return failEvery === 0 ? answered : answered - Math.floor(answered / failEvery);
  };
  try {
    // To be asked takes the process some milliseconds, which are not to be among those that count.
    await until(CPU_FROM, () => receiver.count());
    const cpuBefore = await program.metric("process_cpu_seconds_total");
    await until(total, accepted);
    const acceptedAtMs = performance.timeOrigin + performance.now();
    const cpuS = (await program.metric("process_cpu_seconds_total")) - cpuBefore;
    const instants = await receiver.instants();
    const answeredAtMs = (count: number) => instants[count / 1_000 - 1] ?? Number.NaN;
    const perSecond = (from: number, to: number) =>
      ((to - from) / (answeredAtMs(to) - answeredAtMs(from))) * 1_000;
    return {
      perSecond: perSecond(WARM_UP, total),
      perSecondAtStart: perSecond(1_000, SPAN),
      perSecondOfSpans: Array.from({ length: deliveries / SPAN }, (_, index) =>
        perSecond(WARM_UP + index * SPAN, WARM_UP + (index + 1) * SPAN),
      ),
      cpuMsPerThousand: (cpuS / (total - CPU_FROM)) * 1e6,
      secondsUntilAllAccepted: (acceptedAtMs - answeredAtMs(WARM_UP)) / 1_000,
    };
  } finally {
    await program.stop();
    await deleteTopics(brokers, topics.prefix);
  }
}

/** Resolves when `count` has reached `wanted`. */
async function until(wanted: number, count: () => Promise<number>): Promise<void> {
  const untilMs = Date.now() + STALLED_MS;
  while ((await count()) < wanted) {
    if (Date.now() > untilMs) throw new Error(`${wanted} were not reached in ${STALLED_MS} ms`);
    await sleep(STEP_MS);
  }
}
