/**
 * The runs of `bench everyday`: a process each, on topics that all of them share. The broker stamps
 * the append (`LogAppendTime`), the receiver the arrival, by the same clock.
 */

import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { OutgoingRecord } from "../src/domain/record.ts";
import type { Kafka } from "../src/kafka/port.ts";
import { spawnGuarded } from "../tools/kafka/guarded-process.ts";
import { benchKafka, createTopics, deleteTopics, fill, newPrefix } from "./bench-kafka.ts";
import type { ImageStart } from "./image.ts";
import { post, readAppends, untilCount } from "./isolation-run.ts";
import { cpuMsOf, type Program, startProgram } from "./program.ts";
import { benchCall } from "./route-work.ts";
import { type Receiver, startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const MINUTE_MS = 60_000;
/** Deliveries at full speed: V8 compiles for that long, then these count. */
const WARM_UP = 100_000;
const MEASURED = 100_000;

export interface Load {
  readonly title: string;
  readonly callsPerSecond: number;
  /** Each call goes to so many destinations, in turns over all of them. */
  readonly copies: number;
}

export interface Minute {
  /** From 1. */
  readonly minute: number;
  /** Of the deliveries whose calls were appended in it, in milliseconds. */
  readonly latencies: readonly number[];
  /** Received in it. */
  readonly deliveries: number;
  readonly cpuMs: number;
}

/** `plain`: `everyday-plain.ts`, which can do loads of all destinations alone. */
export type Contestant = "product" | "plain";

type Running = Pick<Program, "cpuMs" | "stop">;

interface Mark {
  readonly cpuMs: number;
  readonly received: number;
}

export class EverydayRuns implements AsyncDisposable {
  readonly #brokers: string;
  readonly #destinations: number;
  readonly #image: ImageStart;
  readonly #topicPrefix = newPrefix();
  readonly #kafka: Kafka;
  #posted = 0;

  private constructor(brokers: string, destinations: number, image: ImageStart) {
    this.#brokers = brokers;
    this.#destinations = destinations;
    this.#image = image;
    this.#kafka = benchKafka(brokers);
  }

  /** The caller disposes of it, which deletes the topics. */
  static async create(
    brokers: string,
    destinations: number,
    image: ImageStart,
  ): Promise<EverydayRuns> {
    const runs = new EverydayRuns(brokers, destinations, image);
    await createTopics(runs.#kafka, [runs.#callsTopic], PARTITIONS);
    await runs.#kafka.admin.alterConfig(runs.#callsTopic, {
      "message.timestamp.type": "LogAppendTime",
    });
    return runs;
  }

  /** CPU milliseconds from starting until it is ready. */
  start(): Promise<number> {
    return this.#withProgram("product", (program) => Promise.resolve(program.cpuMs()));
  }

  /** CPU milliseconds for each 1,000 deliveries of a backlog. */
  async fullSpeed({ copies }: Load, contestant: Contestant = "product"): Promise<number> {
    const calls = Math.ceil((WARM_UP + MEASURED) / copies);
    const producer = this.#kafka.producer();
    const make = this.#maker(calls, copies);
    await fill(producer, calls, make);
    await producer.close(10_000);
    return this.#withProgram(contestant, async (program, receiver) => {
      await untilCount(receiver, WARM_UP);
      const from = await mark(program, receiver);
      await untilCount(receiver, calls * copies);
      const to = await mark(program, receiver);
      return ((to.cpuMs - from.cpuMs) / (to.received - from.received)) * 1_000;
    });
  }

  /** Some minutes of a process's life, in their order. */
  everyday(
    { callsPerSecond, copies }: Load,
    minutes: readonly number[],
    contestant: Contestant = "product",
  ): Promise<Minute[]> {
    return this.#withProgram(contestant, async (program, receiver) => {
      const ends = await this.#kafka.admin.offsets(this.#callsTopic);
      const total = (minutes.at(-1) ?? 0) * 60 * callsPerSecond;
      const beganAtMs = Date.now();
      const make = this.#maker(total, copies);
      const posted = post(this.#kafka, total, callsPerSecond, make);
      const marks: { readonly from: Mark; readonly to: Mark }[] = [];
      for (const minute of minutes) {
        const fromMs = beganAtMs + (minute - 1) * MINUTE_MS;
        await sleep(Math.max(0, fromMs - Date.now()));
        const from = await mark(program, receiver);
        await sleep(fromMs + MINUTE_MS - Date.now());
        marks.push({ from, to: await mark(program, receiver) });
      }
      await posted;
      await untilCount(receiver, total * copies);
      const from = new Map(ends.map(({ partition, end }) => [partition, end]));
      const appended = await readAppends(this.#kafka, this.#callsTopic, from);
      const arrived = await receiver.journal();
      return marks.map(({ from, to }, index): Minute => {
        const minute = minutes[index] ?? 0;
        const fromMs = beganAtMs + (minute - 1) * MINUTE_MS;
        const latencies = arrived.flatMap(([messageId, atMs]) => {
          const appendedAtMs = appended.get(messageId) ?? 0;
          const isIn = appendedAtMs >= fromMs && appendedAtMs < fromMs + MINUTE_MS;
          return isIn ? [atMs - appendedAtMs] : [];
        });
        const deliveries = to.received - from.received;
        return { minute, latencies, deliveries, cpuMs: to.cpuMs - from.cpuMs };
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kafka.close();
    await deleteTopics(this.#brokers, this.#topicPrefix);
  }

  get #callsTopic(): string {
    return `${this.#topicPrefix}calls`;
  }

  async #withProgram<Result>(
    contestant: Contestant,
    measure: (program: Running, receiver: Receiver) => Promise<Result>,
  ): Promise<Result> {
    using receiver = await startReceiver({ journal: true });
    const url = `http://127.0.0.1:${receiver.port}/`;
    const program = await this.#start(contestant, url);
    try {
      return await measure(program, receiver);
    } finally {
      await program.stop();
    }
  }

  #start(contestant: Contestant, url: string): Promise<Running> {
    if (contestant === "plain") return this.#startPlain(url);
    return startProgram({
      brokers: this.#brokers,
      topicPrefix: this.#topicPrefix,
      destinations: Array.from({ length: this.#destinations }, (_, index) => {
        return { id: idOf(index), url };
      }),
      logLevel: "info",
      image: this.#image,
    });
  }

  async #startPlain(url: string): Promise<Running> {
    const file = join(import.meta.dirname, "everyday-plain.ts");
    const argv = [this.#brokers, this.#callsTopic, `${this.#topicPrefix}plain`, url];
    const flags = this.#image.flags;
    const child = spawnGuarded(
      null,
      [process.execPath, ...flags, file, ...argv, `${this.#destinations}`],
      { output: ["pipe", "inherit"], env: { ...process.env, ...this.#image.env } },
    );
    const ended = once(child, "close");
    const failed = ended.then(() => {
      throw new Error("the plain loop ended");
    });
    failed.catch(() => undefined);
    if (child.stdout !== null) await Promise.race([once(child.stdout, "data"), failed]);
    return {
      cpuMs: () => cpuMsOf(child.pid ?? 0),
      stop: async () => {
        child.kill("SIGTERM");
        await ended;
      },
    };
  }

  /** Makes the next `calls` calls. Those that go to all name nobody, as most calls do. */
  #maker(calls: number, copies: number): (number: number) => OutgoingRecord {
    const first = this.#posted;
    this.#posted += calls;
    const topic = this.#callsTopic;
    return (at) => {
      const number = first + at;
      const { key, value } = benchCall(number, "all");
      const flags = copies === this.#destinations ? {} : { integrations: this.#named(number) };
      const text = JSON.stringify({ ...(JSON.parse(value) as object), ...flags });
      return { topic, key: Buffer.from(key), value: Buffer.from(text), headers: [] };
    };
  }

  #named(number: number): object {
    return { All: false, [idOf(number % this.#destinations)]: true };
  }
}

function idOf(index: number): string {
  return `d${index + 1}`;
}

async function mark(program: Running, receiver: Receiver): Promise<Mark> {
  const received = await receiver.count();
  return { cpuMs: program.cpuMs(), received };
}
