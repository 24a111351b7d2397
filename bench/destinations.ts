/**
 * `bench destinations`: CPU of a delivery in a process with 1,000 destinations against one with 10,
 * and what the larger one costs while it has nothing to do. `bench destinations-cluster`: the same on
 * three brokers.
 *
 * Both processes run all the time, each on topics of its own, and get the same calls in turns: a
 * span of seconds for the one, then the same for the other. So a pair of spans is close in time, and
 * what moves the machine moves both. Counted is CPU that the system has charged, from a span's first
 * call until a second after its last delivery, commits included.
 *
 * Goals: a delivery at most 1.5 times; idle at most 3 % of a core.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { OutgoingRecord } from "../src/domain/record.ts";
import type { Kafka } from "../src/kafka/port.ts";
import { startCluster } from "../tools/kafka/cluster.ts";
import { benchKafka, createTopics, deleteTopics, newPrefix } from "./bench-kafka.ts";
import { post, untilCount } from "./isolation-run.ts";
import { bootstrapped, markdown } from "./measure.ts";
import { type Program, startProgram } from "./program.ts";
import { benchCall } from "./route-work.ts";
import { type Receiver, startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const FEW = 10;
/** Each call goes to so many destinations, in turns over all of them. */
const COPIES = 10;
/** Of all destinations, at most 64 of each. */
const CONNECTIONS = 4_000;
const SPAN_S = 5;
const SETTLE_MS = 15_000;
const COMMIT_MS = 1_000;
/** A collection of the whole heap comes about once in 70 s. */
const IDLE_MS = 150_000;

export interface DestinationsBench {
  readonly many: number;
  readonly callsPerSecond: number;
  /** Pairs of spans that are not counted: V8 compiles. */
  readonly warmUp: number;
  readonly pairs: number;
}

interface Span {
  readonly deliveries: number;
  readonly cpuMs: number;
}

class Contestant implements AsyncDisposable {
  readonly #kafka: Kafka;
  readonly #destinations: number;
  readonly #callsTopic: string;
  readonly #receiver: Receiver;
  readonly program: Program;
  #posted = 0;

  private constructor(
    kafka: Kafka,
    destinations: number,
    callsTopic: string,
    receiver: Receiver,
    program: Program,
  ) {
    this.#kafka = kafka;
    this.#destinations = destinations;
    this.#callsTopic = callsTopic;
    this.#receiver = receiver;
    this.program = program;
  }

  /** The caller disposes of it, which leaves its topics. */
  static async start(
    brokers: string,
    kafka: Kafka,
    topicPrefix: string,
    count: number,
  ): Promise<Contestant> {
    const callsTopic = `${topicPrefix}calls`;
    await createTopics(kafka, [callsTopic], PARTITIONS);
    const receiver = await startReceiver();
    const url = `http://127.0.0.1:${receiver.port}/`;
    const concurrency = Math.min(64, Math.ceil(CONNECTIONS / count));
    const program = await startProgram({
      brokers,
      topicPrefix,
      stages: ["route", "deliver", "delay"],
      destinations: Array.from({ length: count }, (_, index) => {
        return { id: idOf(index), url, concurrency };
      }),
    });
    return new Contestant(kafka, count, callsTopic, receiver, program);
  }

  async span(callsPerSecond: number): Promise<Span> {
    const calls = callsPerSecond * SPAN_S;
    const first = this.#posted;
    this.#posted += calls;
    const before = this.program.cpuMs();
    await post(this.#kafka, calls, callsPerSecond, (number) => this.#call(first + number));
    await untilCount(this.#receiver, this.#posted * COPIES);
    await sleep(COMMIT_MS);
    return { deliveries: calls * COPIES, cpuMs: this.program.cpuMs() - before };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program.stop();
    this.#receiver[Symbol.dispose]();
  }

  #call(number: number): OutgoingRecord {
    const { key, value } = benchCall(number, "all");
    const named = Array.from({ length: COPIES }, (_, at) => [
      idOf((number * COPIES + at) % this.#destinations),
      true,
    ]);
    const integrations = { All: false, ...Object.fromEntries(named) };
    const text = JSON.stringify({ ...(JSON.parse(value) as object), integrations });
    const topic = this.#callsTopic;
    return { topic, key: Buffer.from(key), value: Buffer.from(text), headers: [] };
  }
}

export async function benchDestinations(
  brokers: string,
  { many, callsPerSecond, warmUp, pairs }: DestinationsBench,
): Promise<string> {
  const kafka = benchKafka(brokers);
  const prefixes = [newPrefix(), newPrefix()] as const;
  try {
    await using large = await Contestant.start(brokers, kafka, prefixes[0], many);
    await using small = await Contestant.start(brokers, kafka, prefixes[1], FEW);
    const startMs = large.program.cpuMs();
    const spans: { readonly large: Span; readonly small: Span }[] = [];
    for (let pair = 1 - warmUp; pair <= pairs; pair += 1) {
      const one = await large.span(callsPerSecond);
      const other = await small.span(callsPerSecond);
      process.stderr.write(`  pair ${pair}/${pairs}: ${us(one)} and ${us(other)} us CPU each\n`);
      if (pair >= 1) spans.push({ large: one, small: other });
    }
    await sleep(SETTLE_MS);
    const idle = await Promise.all([idlePercent(large.program), idlePercent(small.program)]);
    const rssMb = [large, small].map(({ program }) => program.rssMb().toFixed(0));
    const all = [spans.map((each) => each.large), spans.map((each) => each.small)];
    const rows = [many, FEW].map((count, at) => [
      `${count}`,
      us(sum(all[at] ?? [])),
      (idle[at] ?? Number.NaN).toFixed(1),
      rssMb[at] ?? "",
    ]);
    const ratio = bootstrapped(spans, (some) => {
      const of = (which: "large" | "small") => sum(some.map((each) => each[which])).cpuMs;
      return of("large") / of("small");
    });
    return (
      `${markdown(["destinations", "CPU us a delivery", "idle % of a core", "MB"], rows)}\n\n` +
      `Ratio of CPU of a delivery: ${ratio.value.toFixed(2)}, with 95 % certainty between ` +
      `${ratio.low.toFixed(2)} and ${ratio.high.toFixed(2)} (bootstrap over ${pairs} pairs of spans of ` +
      `${SPAN_S} s). ${callsPerSecond} calls a second, each to ${COPIES} destinations in turns, log level ` +
      `warn. ${many} destinations were ready after ${(startMs / 1_000).toFixed(1)} s of CPU. Idle: over ` +
      `${IDLE_MS / 1_000} s. Goals: a ratio of at most 1.5; idle at most 3 %.`
    );
  } finally {
    await kafka.close();
    for (const prefix of prefixes) await deleteTopics(brokers, prefix);
  }
}

/** The leaders of all topics lie on three brokers. Each topic is kept once. */
export async function benchDestinationsCluster(bench: DestinationsBench): Promise<string> {
  await using cluster = await startCluster({
    log: (line) => void process.stderr.write(`${line}\n`),
  });
  return await benchDestinations(cluster.brokers.join(), bench);
}

async function idlePercent(program: Program): Promise<number> {
  const [before, startedAtMs] = [program.cpuMs(), performance.now()];
  await sleep(IDLE_MS);
  return ((program.cpuMs() - before) / (performance.now() - startedAtMs)) * 100;
}

function sum(spans: readonly Span[]): Span {
  const total = (of: (span: Span) => number) => spans.reduce((all, span) => all + of(span), 0);
  return { deliveries: total(({ deliveries }) => deliveries), cpuMs: total(({ cpuMs }) => cpuMs) };
}

function us({ deliveries, cpuMs }: Span): string {
  return ((cpuMs / deliveries) * 1_000).toFixed(0);
}

function idOf(index: number): string {
  return `d${index + 1}`;
}
