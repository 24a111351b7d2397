/** One process delivers a backlog in three partitions, and no partition waits for another. */

import { expect, test } from "vitest";

import { groupNames } from "../../src/domain/topics.ts";
import { ManualClock } from "../support/clock/manual-clock.ts";
import { createPrng } from "../support/clock/prng.ts";
import { MemoryCluster } from "../support/memory-kafka/memory-kafka.ts";
import { Ledger } from "../support/worlds/ledger.ts";
import { Endpoints } from "./endpoints.ts";
import { SimulatedProcess } from "./process.ts";
import { configOf, DELAY_TOPICS, destinations, SECOND_MS, topics } from "./setup.ts";

const PARTITIONS = 3;
const CALLS = 3_000;
const SEEDS = 10;
/** The number of records that the deliver stage takes from a partition at once. */
const BATCH = 256;
/** The expected time with two requests at a time, which take 200 ms on average. */
const DONE_WITHIN_MS = 600 * SECOND_MS;

test("partitions with a backlog advance together, within a batch of each other", async () => {
  for (let seed = 0; seed < SEEDS; seed += 1) {
    expect(await new Backlog(seed).spread(), `seed ${seed}`).toBeLessThanOrEqual(BATCH);
  }
});

class Backlog {
  readonly #clock = new ManualClock();
  readonly #cluster: MemoryCluster;
  readonly #destinations = destinations().filter(({ id }) => id === "narrow");
  readonly #deliveries: { readonly topic: string; readonly groupId: string }[];
  readonly #endpoints: Endpoints;

  constructor(seed: number) {
    const random = createPrng(seed);
    this.#cluster = new MemoryCluster({ clock: this.#clock, random: random.fork() });
    this.#endpoints = new Endpoints(this.#clock, random.fork(), new Ledger(), new Map());
    this.#deliveries = this.#destinations.map(({ id }) => ({
      topic: topics.deliveries(id),
      groupId: groupNames("").deliver(id),
    }));
    const deliveries = this.#deliveries.map(({ topic }) => topic);
    const retries = this.#destinations.map(({ id }) => topics.retries(id));
    for (const name of [topics.calls, topics.deadLetters, ...deliveries]) {
      this.#cluster.createTopic(name, PARTITIONS);
    }
    for (const name of [topics.suppressions, ...retries, ...DELAY_TOPICS])
      this.#cluster.createTopic(name, 1);
    for (let number = 0; number < CALLS; number += 1) this.#append(`m${number}`);
  }

  /**
   * Returns the largest difference between the committed offsets of two partitions while all of them have a backlog.
   */
  async spread(): Promise<number> {
    const failures: string[] = [];
    const config = configOf(this.#destinations);
    const kafka = this.#cluster.connect();
    const onFatal = ({ message }: Error) => failures.push(message);
    const process = new SimulatedProcess(this.#clock, kafka, this.#endpoints, config, onFatal);
    const limitMs = this.#clock.nowMs() + DONE_WITHIN_MS;
    let spread = 0;
    for (let committed = await this.#committed(); this.#isBacklog(committed); ) {
      spread = Math.max(spread, Math.max(...committed) - Math.min(...committed));
      if (this.#clock.nowMs() > limitMs) failures.push("it took longer than its endpoint does");
      if (failures.length > 0) break;
      committed = await this.#committed();
    }
    process.kill();
    expect(failures).toEqual([]);
    return spread;
  }

  /** Returns the committed offset of each partition. Before its first commit, a partition counts as 0. */
  async #committed(): Promise<number[]> {
    const { admin } = this.#cluster.connect();
    const all = this.#deliveries.map(({ groupId, topic }) => admin.committed(groupId, topic));
    await this.#clock.advance(SECOND_MS);
    const offsets = new Array<number>(PARTITIONS).fill(0);
    for (const { partition, offset } of (await Promise.all(all)).flat()) {
      offsets[partition] = Math.max(0, offset);
    }
    return offsets;
  }

  /** Returns true if each partition has a backlog, or the route stage has not written all of it yet. */
  #isBacklog(committed: readonly number[]): boolean {
    const ends = this.#deliveries.flatMap(({ topic }) =>
      committed.map((_, partition) => this.#cluster.endOf(topic, partition)),
    );
    const written = ends.reduce((sum, end) => sum + end, 0);
    return (
      written < CALLS || committed.every((offset, partition) => offset < (ends[partition] ?? 0))
    );
  }

  #append(messageId: string): void {
    const call = { type: "track", userId: messageId, event: "Signed Up", messageId };
    const value = Buffer.from(JSON.stringify(call));
    this.#cluster.append({ topic: topics.calls, key: Buffer.from(messageId), value, headers: [] });
  }
}
