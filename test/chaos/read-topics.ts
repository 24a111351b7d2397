/** Reads the programs' records for the journal and the canaries, and finds out whether the programs have processed everything. */

import { setTimeout as sleep } from "node:timers/promises";

import type { DestinationId } from "../../src/domain/ids.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import type { Kafka, PartitionOffsets } from "../../src/kafka/port.ts";
import { Facts, readFact } from "../../src/router/order/facts.ts";
import { type ChaosDestination, consumedTopics, RETRY_DELAYS_MS, STRICT, topics } from "./setup.ts";

const STEP_MAX_BYTES = 1_024 * 1_024;
/** A partition may have no leader until its only broker has started. */
const INSIST_MS = 120_000;
const INSIST_STEP_MS = 100;

export interface Progress {
  /** Descriptions of the partitions whose group has not committed the end. */
  readonly behind: readonly string[];
  /** Records of all topics. */
  readonly ends: number;
}

interface Witness {
  read(record: IncomingRecord): void;
}

export class TopicReader {
  readonly #kafka: Kafka;
  readonly #witnesses: readonly Witness[];
  readonly #destinations: readonly ChaosDestination[];
  readonly #positions = new Map<string, number>();
  /** Reads run one at a time; each continues where the previous one ended. */
  #last: Promise<void> = Promise.resolve();

  /** @param witnesses take each record once. */
  constructor(
    kafka: Kafka,
    witnesses: readonly Witness[],
    destinations: readonly ChaosDestination[],
  ) {
    this.#kafka = kafka;
    this.#witnesses = witnesses;
    this.#destinations = destinations;
  }

  /** Reads all records that were written since the last read. */
  read(): Promise<void> {
    return this.#next(() => insist(() => this.#readAll()));
  }

  /** Runs after the previous read, even if that failed. */
  #next(look: () => Promise<void>): Promise<void> {
    this.#last = this.#last.catch(() => undefined).then(look);
    return this.#last;
  }

  /** Deletes a topic. Offsets start at 0 again in the topic that replaces it. */
  delete(topic: string): Promise<void> {
    return this.#next(async () => {
      await this.#kafka.admin.deleteTopics([topic]);
      for (const place of this.#positions.keys()) {
        if (place.startsWith(`${topic}/`)) this.#positions.delete(place);
      }
    });
  }

  endsOf(topic: string): Promise<readonly PartitionOffsets[]> {
    return insist(() => this.#kafka.admin.offsets(topic));
  }

  /** Can be repeated after a failure: it continues after the last record that was read. */
  async #readAll(): Promise<void> {
    const names = [
      ...this.#destinations.flatMap(({ id }) => [topics.deliveries(id), topics.retries(id)]),
      ...RETRY_DELAYS_MS.map(topics.delays),
      topics.deadLetters,
    ];
    const existing = new Set(await this.#kafka.admin.topics());
    for (const topic of names.filter((name) => existing.has(name))) {
      for (const each of await this.#kafka.admin.offsets(topic)) await this.#readOne(topic, each);
    }
  }

  async #readOne(topic: string, { partition, end }: PartitionOffsets): Promise<void> {
    const place = `${topic}/${partition}`;
    const from = this.#positions.get(place) ?? 0;
    if (from >= end) return;
    const signal = AbortSignal.timeout(60_000);
    const range = { topic, partition, from, to: end, maxBytes: STEP_MAX_BYTES, signal };
    for await (const records of this.#kafka.read(range)) {
      for (const record of records) {
        for (const witness of this.#witnesses) witness.read(record);
        this.#positions.set(place, record.offset + 1);
      }
    }
    this.#positions.set(place, end);
  }

  /**
   * The progress of the groups. When all groups have reached the ends, and the ends no longer change, no more records
   * follow.
   */
  progress(): Promise<Progress> {
    return insist(async () => {
      const { behind, ends } = await progressOf(this.#kafka, consumedTopics(this.#destinations));
      const waiting = await Promise.all(STRICT.map((id) => this.#waiting(id as DestinationId)));
      return { behind: [...behind, ...waiting.flat()], ends };
    });
  }

  /** Users of a destination with a strict order whose deliveries wait. */
  async #waiting(id: DestinationId): Promise<readonly string[]> {
    const topic = topics.order(id);
    const partitions = new Map<string, Facts>();
    for (const { partition, first, end } of await this.#kafka.admin.offsets(topic)) {
      const signal = AbortSignal.timeout(60_000);
      const range = { topic, partition, from: first, to: end, maxBytes: STEP_MAX_BYTES, signal };
      for await (const records of this.#kafka.read(range)) {
        for (const record of records) {
          const read = readFact(record);
          if (read === null) continue;
          const facts = partitions.get(read.line) ?? new Facts();
          partitions.set(read.line, facts);
          facts.apply(read.fact, read.isThere);
        }
      }
    }
    return [...partitions].flatMap(([line, facts]) =>
      [...facts.keys()].flatMap((key) => {
        const { head, waiting } = facts.known(key);
        if (head === null && waiting.length === 0) return [];
        return `${topic}: ${key} of ${line} waits for ${head}, with ${waiting.length} behind`;
      }),
    );
  }
}

/** The progress of groups, each of which must have read all of its topic. */
export async function progressOf(
  kafka: Kafka,
  consumed: readonly (readonly [topic: string, group: string])[],
): Promise<Progress> {
  const behind: string[] = [];
  let ends = 0;
  const existing = new Set(await kafka.admin.topics());
  for (const [topic, group] of consumed) {
    if (!existing.has(topic)) {
      behind.push(`${topic} is not there`);
      continue;
    }
    const commits = await kafka.admin.committed(group, topic);
    const committed = new Map(commits.map(({ partition, offset }) => [partition, offset]));
    for (const { partition, end } of await kafka.admin.offsets(topic)) {
      const offset = committed.get(partition) ?? 0;
      ends += end;
      if (offset < end) behind.push(`${topic}/${partition} is committed to ${offset} of ${end}`);
    }
  }
  return { behind, ends };
}

async function insist<Result>(act: () => Promise<Result>): Promise<Result> {
  for (const untilMs = Date.now() + INSIST_MS; ; ) {
    try {
      return await act();
    } catch (error) {
      if (Date.now() >= untilMs) throw error;
    }
    await sleep(INSIST_STEP_MS);
  }
}
