/**
 * `bench failures`: what it costs that one request in twenty is answered 503. The same backlog of
 * deliveries goes to a receiver that accepts all of them, and to one that refuses 5 %; those are
 * parked, come back after a second and are delivered then.
 *
 * What counts is requests answered a second, first attempts and later ones: over as many as the
 * goal names, and over all of them, as the first take less than half a second. Those refused while
 * warming up return meanwhile. Goal: at most 10 % fewer with failures.
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
/** So many that those refused, one in twenty, warm up their part of the code as well. */
const WARM_UP = 200_000;
const CPU_FROM = WARM_UP / 2;
const GOAL_DELIVERIES = 20_000;
const FAIL_EVERY = 20;
const STEP_MS = 10;
const STALLED_MS = 60_000;

interface Run {
  /** Requests answered, over the first deliveries after warming up and over all of them. */
  readonly perSecondFirst: number;
  readonly perSecond: number;
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
        `  round ${round}/${rounds}: ${share} refused ... ${run.perSecondFirst.toFixed(0)} and ${run.perSecond.toFixed(0)} a second\n`,
      );
      runs.push(run);
    }
  }
  const of = (runs: readonly Run[], figure: keyof Run) => median(runs.map((run) => run[figure]));
  const row = (title: string, runs: readonly Run[]) => {
    const speed = (figure: "perSecond" | "perSecondFirst") => {
      const perSecond = of(runs, figure);
      return [perSecond.toFixed(0), (perSecond / of(without, figure)).toFixed(2)];
    };
    return [
      title,
      ...speed("perSecondFirst"),
      ...speed("perSecond"),
      of(runs, "cpuMsPerThousand").toFixed(1),
      of(runs, "secondsUntilAllAccepted").toFixed(1),
    ];
  };
  const header = [
    "answered 503",
    `requests / s over ${GOAL_DELIVERIES}`,
    "ratio",
    `over ${deliveries}`,
    "ratio",
    "CPU ms / 1,000",
    "all accepted after s",
  ];
  return (
    `${markdown(header, [row("none", without), row("5 %", having)])}\n\n` +
    `After ${WARM_UP} deliveries for warming up, medians of ${rounds} alternating runs; those ` +
    "refused return after 1 s. Goal: a ratio of at least 0.90."
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
    const startedAtMs = answeredAtMs(WARM_UP);
    const perSecond = (count: number) =>
      (count / (answeredAtMs(WARM_UP + count) - startedAtMs)) * 1_000;
    return {
      perSecondFirst: perSecond(GOAL_DELIVERIES),
      perSecond: perSecond(deliveries),
      cpuMsPerThousand: (cpuS / (total - CPU_FROM)) * 1e6,
      secondsUntilAllAccepted: (acceptedAtMs - startedAtMs) / 1_000,
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
