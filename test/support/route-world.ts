/** The route stage with a Kafka in memory around it, whose clock tests move. */

import type { DestinationId, SourceId } from "../../src/domain/ids.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import { groupNames, topicNames } from "../../src/domain/topics.ts";
import { startRoute } from "../../src/route/stage.ts";
import { aSource, aTopicDestination, valueBytes } from "./calls.ts";
import { clockDriver } from "./clock-driver.ts";
import { committedOffsets } from "./committed-offsets.ts";
import { ManualClock } from "./manual-clock.ts";
import { MemoryCluster, type MemoryKafka } from "./memory-kafka.ts";
import { createPrng } from "./prng.ts";
import { closing, stageProcess } from "./stage-process.ts";

export const topics = topicNames("sw.");
const groups = groupNames("sw.");
/** All destinations that are configured. */
export const DESTINATIONS = Array.from({ length: 20 }, (_, index) => `d${index}`);

export class RouteWorld {
  readonly clock = new ManualClock();
  readonly #driver = clockDriver(this.clock);
  readonly until = this.#driver.until;
  readonly during = this.#driver.during;
  readonly cluster: MemoryCluster;
  readonly #connections: MemoryKafka[] = [];

  constructor(partitions = 1, recordBytesMax: (topic: string) => number = () => 1_048_576) {
    const random = createPrng(7);
    this.cluster = new MemoryCluster({ clock: this.clock, random, recordBytesMax });
    this.cluster.createTopic(topics.calls, partitions);
    this.cluster.createTopic(topics.deadLetters, 1);
    for (const id of DESTINATIONS)
      this.cluster.createTopic(topics.deliveries(id as DestinationId), 2);
  }

  /** Starts the stage in a process of its own, with its sends and batches counted. */
  async start(connectedTo: readonly string[]) {
    const own = stageProcess(this.cluster, this.clock);
    this.#connections.push(own.kafka);
    const stage = await startRoute(own.deps, {
      topics,
      groups,
      sources: [aSource("web", connectedTo)],
      defaultSource: "web" as SourceId,
      destinations: DESTINATIONS.map((id) => aTopicDestination(id)),
      bytesMax: 32_000_000,
      drainLimitMs: 10_000,
    });
    const close = () => closing(stage, own.producer, this);
    return { ...own, stage, close };
  }

  /** @param value JSON, or text as it is. */
  append(value: unknown, partition = 0): IncomingRecord {
    const record = { topic: topics.calls, key: null, headers: [], partition };
    return this.cluster.append({ ...record, value: valueBytes(value) });
  }

  appendCalls(count: number, from = 0): void {
    for (let number = from; number < from + count; number += 1) this.append(trackCall(number));
  }

  deliveries(id: string): readonly IncomingRecord[] {
    return this.cluster.records(topics.deliveries(id as DestinationId));
  }

  deadLetters(): readonly IncomingRecord[] {
    return this.cluster.records(topics.deadLetters);
  }

  async committed(): Promise<number> {
    const offsets = await committedOffsets(this, groups.route, topics.calls);
    return offsets.reduce((sum, offset) => sum + offset, 0);
  }

  kill(): void {
    for (const connection of this.#connections) connection.kill();
  }
}

/** Of one of seven users, with the message id `m<number>`. */
export const trackCall = (number: number, more: object = {}) => ({
  type: "track",
  userId: `u${number % 7}`,
  event: "e",
  messageId: `m${number}`,
  ...more,
});
