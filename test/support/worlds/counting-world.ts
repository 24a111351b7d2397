/** Delay stages with small buffers, so that most waiting records are read ahead to be counted. */

import { type Delivery, deliveryHeaders } from "../../../src/domain/delivery.ts";
import type { DestinationId } from "../../../src/domain/ids.ts";
import { delayMsOfTopic, groupNames, topicNames } from "../../../src/domain/topics.ts";
import type { Kafka } from "../../../src/kafka/port.ts";
import { type DelayConfig, startDelay } from "../../../src/router/delay/stage.ts";
import type { StageDeps } from "../../../src/router/stage/running-stage.ts";
import { deliveryOf } from "../build/webhook-destination.ts";
import { clockDriver } from "../clock/clock-driver.ts";
import { ManualClock } from "../clock/manual-clock.ts";
import { createPrng } from "../clock/prng.ts";
import { MemoryCluster } from "../memory-kafka/memory-kafka.ts";
import { closing, stageProcess } from "./stage-process.ts";

export const topics = topicNames("sw.");
export const groups = groupNames("sw.");
export const CRM = "crm" as DestinationId;
export const BILLING = "billing" as DestinationId;
export const DELAYS = ["10m", "60m"] as const;
export const WINDOW_MS = 4 * 3_600_000;
/** Longer than checks and reading ahead take. */
export const COUNTED_MS = 60_000;

export type Delay = (typeof DELAYS)[number];

interface Start {
  readonly config?: Partial<DelayConfig>;
  /** Replacements of the port's own methods. */
  readonly kafka?: Partial<Kafka>;
  readonly deps?: Partial<StageDeps>;
}

export class CountingWorld {
  readonly clock = new ManualClock();
  readonly cluster = new MemoryCluster({ clock: this.clock, random: createPrng(7) });
  #scheduled = 0;

  constructor(partitions = 2) {
    for (const delay of DELAYS) this.cluster.createTopic(topicOf(delay), partitions);
    for (const id of [CRM, BILLING]) {
      this.cluster.createTopic(topics.deliveries(id), 1);
      this.cluster.createTopic(topics.retries(id), 1);
    }
    this.cluster.createTopic(topics.deadLetters, 1);
  }

  async start({ config, kafka: instead, deps: more }: Start = {}) {
    const { deps, metrics, producer, kafka, failures } = stageProcess(this.cluster, this.clock);
    const stage = await startDelay(
      { ...deps, ...more, kafka: { ...deps.kafka, ...instead } },
      {
        topics,
        groups,
        delays: DELAYS,
        maxBytes: 4_000,
        drainLimitMs: 1_000,
        destinations: [CRM, BILLING],
        shownMax: Number.POSITIVE_INFINITY,
        retryWindowMs: WINDOW_MS,
        ...config,
      },
    );
    const text = () => metrics.text();
    return {
      kafka,
      failures,
      stage,
      text,
      ...waitingValues(text),
      time: async (of: string, destination: string) => {
        const values = await valuesOf(text(), `switchyard_deliveries_${of}_timestamp_seconds`);
        return (values[destination] ?? Number.NaN) * 1_000;
      },
      stop: () => closing(stage, producer, clockDriver(this.clock)),
    };
  }

  /** Schedules retries as the deliver stage would do now. */
  scheduleRetry(
    destination: string,
    delay: Delay,
    count = 1,
    delivery: Partial<Delivery> = {},
  ): void {
    const nowMs = this.clock.nowMs();
    for (let number = 0; number < count; number += 1) {
      this.#scheduled += 1;
      const scheduled = deliveryOf({
        destination: destination as DestinationId,
        attempt: 1,
        firstAttemptAtMs: nowMs - 1_000,
        dueAtMs: nowMs + (delayMsOfTopic(delay) ?? 0),
        ...delivery,
      });
      const key = Buffer.from(`user-${this.#scheduled}`);
      const headers = deliveryHeaders(scheduled);
      this.cluster.append({ topic: topicOf(delay), key, value: Buffer.from("{}"), headers });
    }
  }
}

export function topicOf(delay: string, of = topics): string {
  return of.delays(delayMsOfTopic(delay) ?? 0);
}

/** The gauges of what waits, in the text of the metrics. */
export function waitingValues(text: () => Promise<string>) {
  return {
    waiting: () => valuesOf(text(), "switchyard_deliveries_awaiting_retry"),
    unknown: () => valuesOf(text(), "switchyard_delay_uncounted_partitions"),
  };
}

/** The values of a metric by the values of its labels, separated by slashes. */
export async function valuesOf(
  text: Promise<string>,
  name: string,
): Promise<Record<string, number>> {
  const values: Record<string, number> = {};
  for (const line of (await text).split("\n")) {
    const found = new RegExp(`^${name}\\{(.*)\\} (.*)$`).exec(line);
    if (found === null) continue;
    const labels = [...(found[1] ?? "").matchAll(/="([^"]*)"/g)].map(([, value]) => value);
    values[labels.join("/")] = Number(found[2]);
  }
  return values;
}
