/**
 * `bench failures`: what it costs that one request in twenty is answered 503. The same backlog of
 * deliveries goes to a receiver that accepts all of them, and to one that refuses 5 %; those are
 * parked, come back after a second and are delivered then.
 *
 * What counts is requests answered a second, first attempts and later ones, until there were as
 * many as deliveries. Goal: at most 10 % fewer with failures.
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
/** As in `bench deliver`. */
const WARM_UP = 60_000;
const FAIL_EVERY = 20;
const STEP_MS = 10;
const STALLED_MS = 60_000;

interface Run {
  readonly perSecond: number;
  /** Of the process, for each 1,000 deliveries, until the last one was accepted. */
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
        `  round ${round}/${rounds}: ${share} refused ... ${run.perSecond.toFixed(0)} a second\n`,
      );
      runs.push(run);
    }
  }
  const base = median(without.map(({ perSecond }) => perSecond));
  const row = (title: string, runs: readonly Run[]) => {
    const perSecond = median(runs.map((run) => run.perSecond));
    return [
      title,
      perSecond.toFixed(0),
      (perSecond / base).toFixed(2),
      median(runs.map((run) => run.cpuMsPerThousand)).toFixed(1),
      median(runs.map((run) => run.secondsUntilAllAccepted)).toFixed(1),
    ];
  };
  const header = [
    "answered 503",
    "requests / s",
    "ratio",
    "CPU ms / 1,000",
    "all accepted after s",
  ];
  return (
    `${markdown(header, [row("none", without), row("5 %", having)])}\n\n` +
    `${deliveries} deliveries after ${WARM_UP} for warming up, medians of ${rounds} alternating ` +
    "runs; those refused return after 1 s. Goal: a ratio of at least 0.90."
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
    const startedAtMs = await until(WARM_UP, () => receiver.count());
    const cpuBefore = await program.metric("process_cpu_seconds_total");
    const answeredAtMs = await until(total, () => receiver.count());
    const acceptedAtMs = await until(total, accepted);
    const cpuS = (await program.metric("process_cpu_seconds_total")) - cpuBefore;
    return {
      perSecond: (deliveries / (answeredAtMs - startedAtMs)) * 1_000,
      cpuMsPerThousand: (cpuS / deliveries) * 1e6,
      secondsUntilAllAccepted: (acceptedAtMs - startedAtMs) / 1_000,
    };
  } finally {
    await program.stop();
    await deleteTopics(brokers, topics.prefix);
  }
}

/** Resolves with the time at which `count` has reached `wanted`. */
async function until(wanted: number, count: () => Promise<number>): Promise<number> {
  const untilMs = Date.now() + STALLED_MS;
  for (;;) {
    if ((await count()) >= wanted) return performance.now();
    if (Date.now() > untilMs) throw new Error(`${wanted} were not reached in ${STALLED_MS} ms`);
    await sleep(STEP_MS);
  }
}
