/**
 * One run of `bench isolation`: Switchyard in one process with many destinations, calls at an even
 * rate, and how long each took from its append to `calls` until the receiver had it. It has three
 * parts: the program becomes warm; all are healthy; one of them is sick.
 *
 * The broker stamps the append (`LogAppendTime`), the receiver the arrival, by the same clock. Only
 * healthy destinations are at the receiver, so that what it notes is theirs alone.
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { OutgoingRecord } from "../src/domain/record.ts";
import type { Kafka } from "../src/kafka/port.ts";
import { benchKafka, deleteTopics, newPrefix } from "./bench-kafka.ts";
import { type Program, startProgram, type WebhookSetting } from "./program.ts";
import { benchCall } from "./route-work.ts";
import { type Health, type SickServer, startSickServer } from "./sick-server.ts";
import { type Receiver, startReceiver } from "./start-receiver.ts";

const PARTITIONS = 3;
const STEP_MS = 10;
const STALLED_MS = 60_000;
const READ_BYTES = 1_024 * 1_024;
/** A program that was just started compiles its code for so long under load. */
const WARM_UP_MS = 15_000;
const SECOND_MS = 1_000;
/** Calls that are posted and not delivered while the capacity is measured. */
const UNDER_WAY_MAX = 200;
/** Of all destinations, at most 64 of each: a burst should not be spent on opening connections. */
const CONNECTIONS = 4_000;
/** Each call goes to so many destinations, in turns over all of them. */
const COPIES = 10;
/** Short ones, so that what was refused comes back within the run. */
const DELAYS = ["2s", "5s", "10s"];

export interface IsolationLoad {
  readonly callsPerSecond: number;
  /** With all healthy, and again with one sick. */
  readonly seconds: number;
}

/** Of the healthy destinations' deliveries while all are healthy, or one is not. */
export interface Part {
  /** In milliseconds, of each second in which calls were appended. */
  readonly seconds: readonly (readonly number[])[];
  /** Of Switchyard's process, for each 1,000 of these deliveries. */
  readonly cpuMsPerThousand: number;
}

export interface IsolationFigures {
  readonly before: Part;
  readonly after: Part;
}

/** The brokers around the runs. */
export interface Surroundings {
  readonly replicationFactor: number;
  /** Called before a program starts, with the topic of calls and that of the destination that becomes sick. */
  prepare(health: Health, topics: { readonly calls: string; readonly sick: string }): Promise<void>;
  /** Called when it does, whatever it becomes. */
  fall(): Promise<void>;
}

export const ONE_BROKER: Surroundings = {
  replicationFactor: 1,
  prepare: async () => undefined,
  fall: async () => undefined,
};

interface Running {
  readonly program: Program;
  /** Of all destinations but the last. */
  readonly receiver: Receiver;
  readonly sick: SickServer;
  /** The destination that becomes sick, if one does. */
  readonly lastId: string;
}

/**
 * Topics that all runs share: to create them for 1,000 destinations takes longer than a run. The
 * sick destination has another id in each run, so that what is left of it comes into no other.
 */
export class IsolationRuns implements AsyncDisposable {
  readonly #brokers: string;
  readonly #destinations: number;
  readonly #surroundings: Surroundings;
  readonly #topicPrefix = newPrefix();
  readonly #callsTopic = `${this.#topicPrefix}calls`;
  readonly #kafka: Kafka;
  #runs = 0;
  #posted = 0;

  private constructor(brokers: string, destinations: number, surroundings: Surroundings) {
    this.#brokers = brokers;
    this.#destinations = destinations;
    this.#surroundings = surroundings;
    this.#kafka = benchKafka(brokers);
  }

  /** The caller disposes of it, which deletes the topics. */
  static async create(
    brokers: string,
    destinations: number,
    surroundings: Surroundings,
  ): Promise<IsolationRuns> {
    const runs = new IsolationRuns(brokers, destinations, surroundings);
    const { replicationFactor } = surroundings;
    const config = { "message.timestamp.type": "LogAppendTime" };
    await runs.#kafka.admin.create([
      { name: runs.#callsTopic, partitions: PARTITIONS, replicationFactor, config },
    ]);
    return runs;
  }

  /**
   * Calls a second that one process delivers while so many are under way. A backlog would be read
   * in large pieces, and with 1,000 destinations nothing that runs steadily comes in such.
   */
  capacity(calls: number): Promise<number> {
    return this.#withProgram("healthy", async ({ receiver, lastId }) => {
      const share = 1 - 1 / this.#destinations;
      const make = this.#maker(calls, lastId);
      const producer = this.#kafka.producer();
      const sends: Promise<unknown>[] = [];
      let from = { delivered: 0, atMs: 0 };
      for (let posted = 0, delivered = 0; delivered < calls; ) {
        delivered = Math.round((await receiver.count()) / (COPIES * share));
        // Before that, code runs for the first time.
        if (from.atMs === 0 && delivered >= calls / 4) from = { delivered, atMs: Date.now() };
        const room = Math.floor(Math.min(calls - posted, UNDER_WAY_MAX - (posted - delivered)));
        const step = Array.from({ length: Math.max(0, room) }, (_, at) => make(posted + at));
        if (step.length > 0) sends.push(producer.send(step));
        posted += step.length;
        await sleep(STEP_MS);
      }
      await Promise.all(sends);
      return ((calls - from.delivered) * 1_000) / (Date.now() - from.atMs);
    });
  }

  /** @param health what the last destination's endpoint becomes. */
  run(health: Health, { callsPerSecond, seconds }: IsolationLoad): Promise<IsolationFigures> {
    return this.#withProgram(health, async ({ program, receiver, sick, lastId }) => {
      const ends = await this.#kafka.admin.offsets(this.#callsTopic);
      const partMs = seconds * 1_000;
      const calls = Math.floor((callsPerSecond * (WARM_UP_MS + 2 * partMs)) / 1_000);
      const first = this.#posted;
      const posting = post(this.#kafka, calls, callsPerSecond, this.#maker(calls, lastId));
      const now = () => ({ atMs: Date.now(), cpuMs: program.cpuMs() });
      await sleep(WARM_UP_MS);
      const from = now();
      await sleep(partMs);
      const fell = now();
      await Promise.all([sick.fall(), this.#surroundings.fall()]);
      if (health === "topic") await this.#kafka.admin.deleteTopics([this.#topicOf(lastId)]);
      await posting;
      const to = now();
      await untilCount(receiver, calls * COPIES - this.#copiesToLast(first, calls));
      const before = new Map(ends.map(({ partition, end }) => [partition, end]));
      const appended = await readAppends(this.#kafka, this.#callsTopic, before);
      const journal = await receiver.journal();
      return {
        before: partOf(journal, appended, from, fell),
        after: partOf(journal, appended, fell, to),
      };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kafka.close();
    await deleteTopics(this.#brokers, this.#topicPrefix);
  }

  async #withProgram<Result>(
    health: Health,
    measure: (running: Running) => Promise<Result>,
  ): Promise<Result> {
    using receiver = await startReceiver({ journal: true });
    using sick = await startSickServer(health);
    this.#runs += 1;
    const last = this.#destinations - 1;
    const lastId = `sick-${this.#runs}`;
    const healthyUrl = `http://127.0.0.1:${receiver.port}/`;
    const concurrency = Math.min(64, Math.ceil(CONNECTIONS / this.#destinations));
    const destinations = Array.from({ length: this.#destinations }, (_, index): WebhookSetting => {
      if (index === last) return { id: lastId, url: sick.url, concurrency };
      return { id: idOf(index), url: healthyUrl, concurrency };
    });
    const topics = { calls: this.#callsTopic, sick: this.#topicOf(lastId) };
    await this.#surroundings.prepare(health, topics);
    const program = await startProgram({
      brokers: this.#brokers,
      topicPrefix: this.#topicPrefix,
      replicationFactor: this.#surroundings.replicationFactor,
      destinations,
      stages: ["route", "deliver", "delay"],
      delays: DELAYS,
    });
    try {
      return await measure({ program, receiver, sick, lastId });
    } finally {
      await program.stop();
    }
  }

  /** Makes the next `calls` calls, each of which names the destinations it goes to. */
  #maker(calls: number, lastId: string): (number: number) => OutgoingRecord {
    const first = this.#posted;
    this.#posted += calls;
    return (number) => {
      const { key, value } = benchCall(first + number, "all");
      const indices = this.#indicesOf(first + number);
      const ids = indices.map((index) => (index === this.#destinations - 1 ? lastId : idOf(index)));
      const named = ids.map((id) => [id, true] as const);
      const integrations = { All: false, ...Object.fromEntries(named) };
      const text = JSON.stringify({ ...(JSON.parse(value) as object), integrations });
      const topic = this.#callsTopic;
      return { topic, key: Buffer.from(key), value: Buffer.from(text), headers: [] };
    };
  }

  #topicOf(id: string): string {
    return `${this.#topicPrefix}deliveries.${id}`;
  }

  #indicesOf(number: number): readonly number[] {
    return Array.from({ length: COPIES }, (_, at) => (number * COPIES + at) % this.#destinations);
  }

  #copiesToLast(first: number, calls: number): number {
    let copies = 0;
    for (let number = first; number < first + calls; number += 1) {
      if (this.#indicesOf(number).includes(this.#destinations - 1)) copies += 1;
    }
    return copies;
  }
}

type Journal = Awaited<ReturnType<Receiver["journal"]>>;

interface Instant {
  readonly atMs: number;
  readonly cpuMs: number;
}

function partOf(
  journal: Journal,
  appended: ReadonlyMap<string, number>,
  from: Instant,
  to: Instant,
): Part {
  const count = Math.round((to.atMs - from.atMs) / SECOND_MS);
  const seconds = Array.from({ length: count }, (): number[] => []);
  let deliveries = 0;
  for (const [messageId, atMs] of journal) {
    // Of the run before this one there may be some left.
    const appendedAtMs = appended.get(messageId) ?? 0;
    seconds[Math.floor((appendedAtMs - from.atMs) / SECOND_MS)]?.push(atMs - appendedAtMs);
    if (atMs >= from.atMs && atMs < to.atMs) deliveries += 1;
  }
  const cpuMsPerThousand = ((to.cpuMs - from.cpuMs) * 1_000) / deliveries;
  return { seconds: seconds.filter(({ length }) => length > 0), cpuMsPerThousand };
}

function idOf(index: number): string {
  return `d${index + 1}`;
}

/** Writes calls at an even rate. */
export async function post(
  kafka: Kafka,
  calls: number,
  perSecond: number,
  record: (number: number) => OutgoingRecord,
): Promise<void> {
  const producer = kafka.producer();
  const sends: Promise<unknown>[] = [];
  const startedAtMs = performance.now();
  for (let posted = 0; posted < calls; ) {
    const elapsedMs = performance.now() - startedAtMs;
    const wanted = Math.min(calls, Math.floor((elapsedMs * perSecond) / 1_000));
    const from = posted;
    const step = Array.from({ length: wanted - from }, (_, at) => record(from + at));
    if (step.length > 0) sends.push(producer.send(step));
    posted = wanted;
    await sleep(STEP_MS);
  }
  await Promise.all(sends);
}

/** Resolves with the time at which the receiver has answered so many. */
export async function untilCount(receiver: Receiver, wanted: number): Promise<number> {
  let [count, untilMs] = [-1, 0];
  for (;;) {
    const before = count;
    count = await receiver.count();
    if (count >= wanted) return performance.now();
    if (count > before) untilMs = Date.now() + STALLED_MS;
    if (Date.now() > untilMs) throw new Error(`the receiver has had ${count} of ${wanted}`);
    await sleep(STEP_MS);
  }
}

/** When the broker appended each record from these offsets on, by the call's message id. */
export async function readAppends(
  kafka: Kafka,
  topic: string,
  from: ReadonlyMap<number, number> = new Map(),
): Promise<ReadonlyMap<string, number>> {
  const appended = new Map<string, number>();
  const { signal } = new AbortController();
  for (const { partition, first, end } of await kafka.admin.offsets(topic)) {
    const begin = from.get(partition) ?? first;
    const range = { topic, partition, from: begin, to: end, maxBytes: READ_BYTES, signal };
    for await (const records of kafka.read(range)) {
      for (const { timestampMs, value } of records) {
        const { messageId } = JSON.parse(`${value}`) as { messageId: string };
        appended.set(messageId, timestampMs);
      }
    }
  }
  return appended;
}
