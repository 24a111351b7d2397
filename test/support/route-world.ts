/** The route stage with a Kafka in memory around it, whose clock tests move. */

import type { DestinationId, SourceId } from "../../src/domain/ids.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import { groupNames, topicNames } from "../../src/domain/topics.ts";
import type { Producer } from "../../src/kafka/port.ts";
import { startRoute } from "../../src/route/stage.ts";
import { createMetrics } from "../../src/telemetry/instruments.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { aSource, aTopicDestination } from "./calls.ts";
import { countingTakes } from "./counting-takes.ts";
import { ManualClock } from "./manual-clock.ts";
import { MemoryCluster, type MemoryKafka } from "./memory-kafka.ts";
import { createPrng } from "./prng.ts";

export const topics = topicNames("sw.");
const groups = groupNames("sw.");
/** All destinations that are configured. */
export const DESTINATIONS = Array.from({ length: 20 }, (_, index) => `d${index}`);
const LIMIT_MS = 600_000;

export class RouteWorld {
  readonly clock = new ManualClock();
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
    const kafka = this.cluster.connect();
    this.#connections.push(kafka);
    const lines: Record<string, unknown>[] = [];
    const failures: Error[] = [];
    const counts = { sends: 0, takes: 0 };
    const metrics = createMetrics();
    const inner = kafka.producer();
    const producer: Producer = {
      send: (records) => {
        counts.sends += 1;
        return inner.send(records);
      },
      close: (limitMs) => inner.close(limitMs),
    };
    const stage = await startRoute(
      {
        kafka: countingTakes(kafka, counts),
        producer,
        clock: this.clock,
        log: createLog("debug", { write: (line) => lines.push(JSON.parse(line)) }),
        metrics,
        onFatal: (error) => failures.push(error),
      },
      {
        topics,
        groups,
        sources: [aSource("web", connectedTo)],
        defaultSource: "web" as SourceId,
        destinations: DESTINATIONS.map((id) => aTopicDestination(id)),
        bytesMax: 32_000_000,
        drainLimitMs: 10_000,
      },
    );
    const close = async () => {
      await this.during(Promise.resolve(stage[Symbol.asyncDispose]()));
      await this.during(producer.close(1_000));
    };
    return { stage, kafka, counts, lines, failures, metrics, producer, close };
  }

  /** @param value JSON, or text as it is. */
  append(value: unknown, partition = 0): IncomingRecord {
    const bytes = typeof value === "string" ? value : JSON.stringify(value);
    const record = { topic: topics.calls, key: null, value: Buffer.from(bytes), headers: [] };
    return this.cluster.append({ ...record, partition });
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

  /** Moves the clock on until the condition holds. */
  async until(holds: () => boolean): Promise<void> {
    const untilMs = this.clock.nowMs() + LIMIT_MS;
    while (!holds()) {
      await this.clock.advanceToNext();
      if (this.clock.nowMs() > untilMs) throw new Error("the condition never held");
    }
  }

  /** Moves the clock on until the promise is settled. */
  async during<Value>(promise: Promise<Value>): Promise<Value> {
    let isOver = false;
    const over = promise.finally(() => {
      isOver = true;
    });
    over.catch(() => undefined);
    await this.until(() => isOver);
    return over;
  }

  async committed(): Promise<number> {
    const admin = this.cluster.connect().admin;
    const offsets = await this.during(admin.committed(groups.route, topics.calls));
    return offsets.reduce((sum, { offset }) => sum + offset, 0);
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
