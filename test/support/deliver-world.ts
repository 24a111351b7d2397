/** Deliver and delay with a Kafka in memory and scripted endpoints, on a clock that tests move. */

import { startDelay } from "../../src/delay/stage.ts";
import { startDeliver } from "../../src/deliver/stage.ts";
import type { Delivery } from "../../src/domain/delivery.ts";
import { deliveryHeaders } from "../../src/domain/delivery.ts";
import type { WebhookDestination } from "../../src/domain/destination.ts";
import type { IncomingRecord, RecordHeaders } from "../../src/domain/record.ts";
import { groupNames, tierName, topicNames } from "../../src/domain/topics.ts";
import { createMetrics } from "../../src/telemetry/instruments.ts";
import { ManualClock } from "./manual-clock.ts";
import { MemoryCluster, type MemoryKafka } from "./memory-kafka.ts";
import { parsedLog } from "./parsed-log.ts";
import { createPrng } from "./prng.ts";
import { type Answer, ScriptedHttp, type Sent } from "./scripted-http.ts";
import { deliveryOf } from "./webhook-destination.ts";

export const topics = topicNames("sw.");
const groups = groupNames("sw.");
export const DELAYS_MS = [10_000, 30_000, 120_000, 300_000, 900_000, 1_800_000, 3_600_000];
export const HOUR_MS = 3_600_000;

export interface WorldOptions {
  readonly destinations: readonly WebhookDestination[];
  readonly answer: (sent: Sent, earlier: number) => Answer;
  readonly delaysMs?: readonly number[];
  readonly windowMs?: number;
  readonly partitions?: number;
  readonly recordBytesMax?: (topic: string) => number;
}

export class DeliverWorld {
  readonly clock = new ManualClock();
  readonly cluster: MemoryCluster;
  readonly http: ScriptedHttp;
  readonly #log = parsedLog();
  readonly lines = this.#log.lines;
  readonly failures: Error[] = [];
  readonly metrics = createMetrics();
  readonly #options: WorldOptions;
  readonly #delaysMs: readonly number[];
  kafka: MemoryKafka;

  constructor(options: WorldOptions) {
    const { destinations, delaysMs = DELAYS_MS, partitions = 1, recordBytesMax } = options;
    this.#options = options;
    this.#delaysMs = delaysMs;
    const limit = recordBytesMax === undefined ? {} : { recordBytesMax };
    this.cluster = new MemoryCluster({ clock: this.clock, random: createPrng(7), ...limit });
    this.http = new ScriptedHttp(this.clock, options.answer);
    this.kafka = this.cluster.connect();
    this.cluster.createTopic(topics.deadLetters, 1);
    for (const { id } of destinations) this.cluster.createTopic(topics.deliveries(id), partitions);
    for (const delayMs of new Set(delaysMs)) this.cluster.createTopic(topics.delays(delayMs), 1);
  }

  #deps() {
    return {
      kafka: this.kafka,
      producer: this.kafka.producer(),
      clock: this.clock,
      log: this.#log.log,
      metrics: this.metrics,
    };
  }

  startDeliver() {
    const { destinations, windowMs = 4 * HOUR_MS } = this.#options;
    return startDeliver(
      { ...this.#deps(), http: this.http },
      {
        topics,
        groups,
        destinations,
        delaysMs: this.#delaysMs,
        windowMs,
        bytesMax: 1_048_576,
        bytesCommonMax: 0,
        drainLimitMs: 10_000,
      },
    );
  }

  startDelay(configured = this.#options.destinations.map(({ id }) => id)) {
    return startDelay(
      { ...this.#deps(), onFatal: (error) => this.failures.push(error) },
      {
        topics,
        groups,
        tiers: [...new Set(this.#delaysMs)].map(tierName),
        destinations: configured,
        bytesMax: 1_048_576,
        drainLimitMs: 10_000,
      },
    );
  }

  /** Puts a track call on a destination's topic, as route would. */
  append(given: Partial<Delivery> = {}, record: Partial<IncomingRecord> = {}): IncomingRecord {
    const delivery = deliveryOf({ receivedAtMs: this.clock.nowMs(), ...given });
    const key = record.key === undefined ? Buffer.from("u") : record.key;
    const value = Buffer.from(
      `{"type":"track","event":"e","userId":"u","messageId":"${delivery.messageId}"}`,
    );
    return this.cluster.append({
      topic: topics.deliveries(delivery.destination),
      key,
      value: record.value === undefined ? value : record.value,
      headers: record.headers ?? deliveryHeaders(delivery),
    });
  }

  deadLetters(): readonly Record<string, string>[] {
    return this.cluster.records(topics.deadLetters).map(({ headers }) => headerTexts(headers));
  }

  /** Moves on until nothing is left to do, at most so long. */
  async settle(limitMs: number): Promise<void> {
    await this.clock.advance(limitMs);
  }

  attempts(): readonly Record<string, unknown>[] {
    return this.lines.filter(({ msg }) => msg === "delivery.attempted");
  }
}

export function headerTexts(headers: RecordHeaders): Record<string, string> {
  return Object.fromEntries(headers.map(([name, value]) => [name, value?.toString() ?? ""]));
}
