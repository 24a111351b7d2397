/** Dead letters on a Kafka in memory, and replays of them on a clock that tests move. */

import {
  type DeadLetterCause,
  type DeadLetterReason,
  deadLetter,
} from "../../../src/domain/dead-letter.ts";
import { type Delivery, deliveryHeaders } from "../../../src/domain/delivery.ts";
import type { Destination } from "../../../src/domain/destination.ts";
import type { IncomingRecord, RecordHeaders } from "../../../src/domain/record.ts";
import { topicNames } from "../../../src/domain/topics.ts";
import type { DeadLetter } from "../../../src/operate/replay/dead-letter-record.ts";
import { type DeadLetterFilter, EVERY_DEAD_LETTER } from "../../../src/operate/replay/filter.ts";
import { readMarks } from "../../../src/operate/replay/read-dead-letters.ts";
import { planReplay, type ReplayDeps, replay } from "../../../src/operate/replay/replay.ts";
import { deadLetterReplay } from "../../../src/operate/replay/replay-store.ts";
import type { ReplayPlan } from "../../../src/operate/replay/stored-replay.ts";
import { headerTexts } from "../build/calls.ts";
import { deliveryOf, webhookDestination } from "../build/webhook-destination.ts";
import { clockDriver } from "../clock/clock-driver.ts";
import { ManualClock } from "../clock/manual-clock.ts";
import { createPrng } from "../clock/prng.ts";
import { MemoryCluster } from "../memory-kafka/memory-kafka.ts";

export const topics = topicNames("sw.");
const crm = webhookDestination();
export const DELIVERIES = topics.deliveries(crm.id);

export interface DeadLetterSpec {
  readonly stage?: DeadLetterCause["stage"];
  readonly reason?: DeadLetterReason;
  readonly error?: string;
  readonly failedAtMs?: number;
  /** Where the record stood. */
  readonly topic?: string;
  readonly key?: string;
  readonly value?: string | null;
  readonly headers?: RecordHeaders;
}

/** A dead letter as deliver writes it of a delivery, or as `given` says. */
export function deadLetterRecord(delivery: Partial<Delivery>, given: DeadLetterSpec = {}) {
  const { value = '{"type":"track"}', key = "u" } = given;
  const full = deliveryOf(delivery);
  const record: IncomingRecord = {
    topic: given.topic ?? topics.deliveries(full.destination),
    partition: 1,
    offset: 7,
    timestampMs: 0,
    key: Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers: given.headers ?? deliveryHeaders(full),
  };
  return deadLetter(topics.deadLetters, record, {
    stage: given.stage ?? "deliver",
    reason: given.reason ?? "rejected",
    error: given.error ?? "every endpoint rejected it",
    failedAtMs: given.failedAtMs ?? 1_800_000_000_000,
  });
}

export class ReplayWorld {
  readonly clock = new ManualClock();
  /** Moves the clock on until the promise is settled. */
  readonly finish = clockDriver(this.clock).during;
  readonly cluster: MemoryCluster;
  readonly destinations: readonly Destination[];
  readonly refused: { readonly deadLetter: DeadLetter; readonly why: string }[] = [];
  readonly progress: { readonly replayed: number; readonly refused: number }[] = [];

  constructor(
    options: {
      readonly partitions?: number;
      readonly destinations?: readonly Destination[];
      readonly recordMaxBytes?: (topic: string) => number;
    } = {},
  ) {
    const { partitions = 2, destinations = [crm], recordMaxBytes } = options;
    const limit = recordMaxBytes === undefined ? {} : { recordMaxBytes };
    this.cluster = new MemoryCluster({ clock: this.clock, random: createPrng(3), ...limit });
    this.destinations = destinations;
    this.cluster.createTopic(topics.deadLetters, partitions);
    this.cluster.createTopic(topics.deadLetterReplays, 1);
    this.cluster.createTopic(topics.calls, 1);
    for (const { id } of destinations) this.cluster.createTopic(topics.deliveries(id), 1);
  }

  /** Writes dead letters one millisecond apart, their partitions in turn. */
  async fill(count: number, spec: (number: number) => DeadLetterSpec = () => ({})): Promise<void> {
    for (let number = 0; number < count; number += 1) {
      await this.clock.advance(1);
      const given = { failedAtMs: this.clock.nowMs(), ...spec(number) };
      const messageId = `m-${number}` as Delivery["messageId"];
      const key = `user-${number}`;
      this.cluster.append(deadLetterRecord({ messageId }, { key, ...given }));
    }
  }

  /** A separate process, which runs a replay on request. */
  process(by: string, signal: AbortSignal = new AbortController().signal) {
    const kafka = this.cluster.connect();
    const deps: Omit<ReplayDeps, "marks"> = {
      kafka,
      topics,
      signal,
      producer: kafka.producer(),
      clock: this.clock,
      targets: { topics, destinations: this.destinations },
      by,
      onProgress: (totals) => this.progress.push(totals),
      onRefused: (deadLetter, why) => this.refused.push({ deadLetter, why }),
    };
    return {
      kafka,
      begin: async (
        name: string,
        plan: Partial<ReplayPlan> = {},
        filter: Partial<DeadLetterFilter> = {},
      ) => {
        const stored = await planReplay(kafka, topics, {
          limit: null,
          perSecond: null,
          ...plan,
          filter: { ...EVERY_DEAD_LETTER, ...filter },
        });
        await deadLetterReplay(kafka.admin, topics, name).begin(stored, by);
        return replay({ ...deps, marks: await readMarks(deps) }, name, stored);
      },
      resume: async (name: string) => {
        const stored = await deadLetterReplay(kafka.admin, topics, name).takeOver(by);
        if (stored === null) return "no such replay";
        return replay({ ...deps, marks: await readMarks(deps) }, name, stored);
      },
    };
  }

  /** Message ids on the destination's topic. */
  delivered(): string[] {
    return this.cluster
      .records(DELIVERIES)
      .map((record) => headerTexts(record)["switchyard-message-id"] ?? "");
  }
}
