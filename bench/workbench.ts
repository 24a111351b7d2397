/** The resources of a bench on the brokers: topics with a separate prefix, their records, and the calls to write. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Clock, systemClock } from "../src/base/runtime/clock.ts";
import { createLog } from "../src/base/telemetry/log.ts";
import type { DestinationId } from "../src/domain/ids.ts";
import type { OutgoingRecord } from "../src/domain/record.ts";
import { groupNames, type TopicNames, topicNames } from "../src/domain/topics.ts";
import { createKafka } from "../src/kafka/kafka.ts";
import type { Kafka, Producer } from "../src/kafka/port.ts";
import { ProcessLedger } from "../src/router/ledger/process-ledger.ts";
import { type Program, type ProgramOptions, startProgram } from "./program.ts";
import { callRecord } from "./work.ts";

const BATCH = 2_000;
const CREATED_AT_ONCE = 100;
const STEP_MS = 10;
const READ_BYTES = 1_024 * 1_024;

export const benchLog = createLog("warn");

/** The caller closes it. */
export function benchKafka(brokers: string, clock: Clock = systemClock): Kafka {
  return createKafka(
    {
      brokers: brokers.split(","),
      clientId: `bench-${randomUUID()}`,
      tls: null,
      sasl: null,
      sessionTimeoutMs: 10_000,
      recordMaxBytes: () => 1_024 * 1_024,
    },
    benchLog,
    clock,
  );
}

/** The ledger of a process that is a contestant. */
export function benchLedger(producer: Producer, topics: TopicNames): ProcessLedger {
  const own = { producer, clock: systemClock, topic: topics.ledger, process: randomUUID() };
  return new ProcessLedger(own);
}

interface TopicOptions {
  /** The default is 3. */
  readonly partitions?: number;
  /** The default is 1. */
  readonly replicationFactor?: number;
  /** If true, the broker records the time of the append, by the same clock as the receiver. */
  readonly isStamped?: boolean;
}

/** Disposing it deletes its topics, because the brokers may be used for other things. */
export class Workbench implements AsyncDisposable {
  readonly brokers: string;
  readonly kafka: Kafka;
  readonly topics = topicNames(`bench-${randomUUID().slice(0, 8)}.`);
  readonly groups = groupNames(this.topics.prefix);
  readonly #producer: Producer;
  #calls = 0;

  constructor(brokers: string) {
    this.brokers = brokers;
    this.kafka = benchKafka(brokers);
    this.#producer = this.kafka.producer();
  }

  deliveries(destination: string): string {
    return this.topics.deliveries(destination as DestinationId);
  }

  retries(destination: string): string {
    return this.topics.retries(destination as DestinationId);
  }

  async create(
    names: readonly string[],
    { partitions = 3, replicationFactor = 1, isStamped = false }: TopicOptions = {},
  ): Promise<void> {
    const config = isStamped ? { "message.timestamp.type": "LogAppendTime" } : {};
    for (let from = 0; from < names.length; from += CREATED_AT_ONCE) {
      const some = names.slice(from, from + CREATED_AT_ONCE);
      await this.kafka.admin.create(
        some.map((name) => ({ name, partitions, replicationFactor, config })),
      );
    }
  }

  /** Starts a program, which the caller stops. */
  start(options: Omit<ProgramOptions, "brokers" | "topicPrefix">): Promise<Program> {
    const { brokers, topics } = this;
    return startProgram({ brokers, topicPrefix: topics.prefix, ...options });
  }

  /** Creates the topics to which the deliver stage writes, except for the topics of its destinations. */
  async createForDeliver(destination: string): Promise<void> {
    await this.create([`${this.topics.prefix}delays.1s`, this.topics.deadLetters]);
    await this.create([this.retries(destination)], { partitions: 1 });
  }

  send(records: readonly OutgoingRecord[]): Promise<unknown> {
    return this.#producer.send(records);
  }

  /** Writes `count` records that `record` creates, and prints progress to standard error. */
  async fill(count: number, record: (number: number) => OutgoingRecord): Promise<void> {
    for (let from = 0; from < count; from += BATCH) {
      const size = Math.min(BATCH, count - from);
      const records = Array.from({ length: size }, (_, at) => record(from + at));
      const [refused] = await this.#producer.send(records);
      if (refused !== undefined) throw new Error(`the broker refused a record: ${refused.error}`);
      if ((from / BATCH) % 50 === 49) report(`  ${from + size} of ${count} written`);
    }
  }

  /** Writes records at an even rate. */
  async post(
    count: number,
    perSecond: number,
    record: (number: number) => OutgoingRecord,
  ): Promise<void> {
    const sends: Promise<unknown>[] = [];
    const startedAtMs = performance.now();
    for (let posted = 0; posted < count; ) {
      const elapsedMs = performance.now() - startedAtMs;
      const wanted = Math.min(count, Math.floor((elapsedMs * perSecond) / 1_000));
      const from = posted;
      const step = Array.from({ length: wanted - from }, (_, at) => record(from + at));
      if (step.length > 0) sends.push(this.#producer.send(step));
      posted = wanted;
      await sleep(STEP_MS);
    }
    await Promise.all(sends);
  }

  /** The number of calls that `nextCalls` has returned. */
  get calls(): number {
    return this.#calls;
  }

  /**
   * Creates the next `count` calls, which are numbered from 0.
   *
   * @param idsOf returns the destinations that the call with a number names; null if it names none
   */
  nextCalls(
    count: number,
    idsOf: (number: number) => readonly string[] | null = () => null,
  ): (at: number) => OutgoingRecord {
    const first = this.#calls;
    this.#calls += count;
    return (at) => callRecord(this.topics.calls, first + at, idsOf(first + at));
  }

  /** Deletes the groups, so that their next consumers start at the beginning of their topics. */
  async forgetGroups(
    ...groups: readonly (readonly [group: string, topic: string])[]
  ): Promise<void> {
    for (const [group, topic] of groups) {
      const isKnown = (await this.kafka.admin.committed(group, topic)).length > 0;
      if (isKnown) await this.kafka.admin.deleteGroup(group);
    }
  }

  /** Returns the end of each partition. */
  async ends(topic: string): Promise<ReadonlyMap<number, number>> {
    const offsets = await this.kafka.admin.offsets(topic);
    return new Map(offsets.map(({ partition, end }) => [partition, end]));
  }

  /** Yields all records from these offsets on, in pieces. */
  async *read(topic: string, from: ReadonlyMap<number, number> = new Map()) {
    const { signal } = new AbortController();
    for (const { partition, first, end } of await this.kafka.admin.offsets(topic)) {
      const begin = from.get(partition) ?? first;
      const range = { topic, partition, from: begin, to: end, maxBytes: READ_BYTES, signal };
      yield* this.kafka.read(range);
    }
  }

  /** Returns the time at which the broker appended each call from these offsets on, by message ID. */
  async appends(
    topic: string,
    from?: ReadonlyMap<number, number>,
  ): Promise<ReadonlyMap<string, number>> {
    const appended = new Map<string, number>();
    for await (const records of this.read(topic, from)) {
      for (const { timestampMs, value } of records) {
        const { messageId } = JSON.parse(`${value}`) as { messageId: string };
        appended.set(messageId, timestampMs);
      }
    }
    return appended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const names = await this.kafka.admin.topics();
    await this.kafka.admin.deleteTopics(
      names.filter((name) => name.startsWith(this.topics.prefix)),
    );
    await this.kafka.close();
  }
}

/** Prints progress. */
export function report(line: string): void {
  process.stderr.write(`${line}\n`);
}
