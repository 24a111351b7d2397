/** Dead letters on a Kafka in memory, and replays of them, on a clock that tests advance. */

import {
  type DeadLetterCause,
  type DeadLetterReason,
  deadLetter,
} from "../../../src/domain/dead-letter.ts";
import { type Delivery, deliveryHeaders } from "../../../src/domain/delivery.ts";
import type { Destination } from "../../../src/domain/destination.ts";
import type { IncomingRecord, RecordHeaders } from "../../../src/domain/record.ts";
import { topicNames } from "../../../src/domain/topics.ts";
import { commandProducer } from "../../../src/operator/connect/command-producer.ts";
import { ReadSuppressions } from "../../../src/operator/connect/known-operations.ts";
import {
  type DeadLetterFilter,
  EVERY_DEAD_LETTER,
} from "../../../src/operator/replay/dead-letter-record.ts";
import { deadLetterRules } from "../../../src/operator/replay/dead-letter-replay.ts";
import { readMarks } from "../../../src/operator/replay/read-dead-letters.ts";
import { type ReplayFigures, sendReplay } from "../../../src/operator/replay/replay.ts";
import {
  type ChosenReplay,
  type DeadLetterReplayPlan,
  rangesOf,
} from "../../../src/operator/replay/replay-store.ts";
import { openReplay } from "../../../src/operator/replay/run-replay.ts";
import {
  type ReplayOptions,
  replayDeadLetters,
} from "../../../src/program/cli/dead-letters/replay.ts";
import { headerTexts } from "../build/calls.ts";
import { deliveryOf, webhookDestination } from "../build/webhook-destination.ts";
import { clockDriver } from "../clock/clock-driver.ts";
import { ManualClock } from "../clock/manual-clock.ts";
import { createPrng } from "../clock/prng.ts";
import { MemoryCluster } from "../memory-kafka/memory-kafka.ts";
import { fakeShell } from "./fake-shell.ts";

export const topics = topicNames("sw.");
const crm = webhookDestination();
export const DELIVERIES = topics.deliveries(crm.id);

export interface DeadLetterSpec {
  readonly stage?: DeadLetterCause["stage"];
  readonly reason?: DeadLetterReason;
  readonly error?: string;
  readonly failedAtMs?: number;
  /** The topic of the record that was dead-lettered. */
  readonly topic?: string;
  readonly key?: string;
  readonly value?: string | null;
  readonly headers?: RecordHeaders;
}

/** A dead letter as the deliver stage writes it for a delivery, with the changes in `given`. */
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

const EVERY_PLAN = { filter: EVERY_DEAD_LETTER, limit: null, perSecond: null };

/** A new replay of all dead letters. */
export function newReplay(given: Partial<DeadLetterReplayPlan> = {}) {
  return { kind: "new", plan: { ...EVERY_PLAN, ...given } } as const;
}

export function resumedReplay(name: string) {
  return { kind: "resume", name, perSecond: null } as const;
}

/** `dead-letters replay` as a separate process. */
export function replayCommand(
  world: ReplayWorld,
  given: Partial<ReplayOptions> = {},
  { kafka = world.cluster.connect(), shell = fakeShell() } = {},
) {
  const options: ReplayOptions = {
    chosen: newReplay(),
    dryRun: false,
    topics,
    destinations: world.destinations,
    registry: null,
    hasLedger: true,
    signal: new AbortController().signal,
    resumeArguments: " --config a.yaml",
    ...given,
  };
  return { shell, ended: replayDeadLetters(kafka, options, shell) };
}

export class ReplayWorld {
  readonly clock = new ManualClock();
  /** Advances the clock until the promise is settled. */
  readonly finish = clockDriver(this.clock).during;
  readonly cluster: MemoryCluster;
  readonly destinations: readonly Destination[];
  readonly refused: string[] = [];
  readonly waits: (string | null)[] = [];
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
    this.cluster.createTopic(topics.ledger, 1);
    for (const { id } of destinations) this.cluster.createTopic(topics.deliveries(id), 1);
  }

  /** Writes dead letters one millisecond apart, to the partitions in turn. */
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
    const { clock, destinations } = this;
    const producer = commandProducer(kafka, { err: () => undefined }, signal, clock);
    const run = async (name: string, chosen: ChosenReplay<"dead-letters">) => {
      const cluster = { kafka, topics, hasLedger: true, signal, clock };
      const replay = await openReplay(cluster, "dead-letters", chosen, { name, by });
      if (replay === null) return "no such replay";
      const marks = await readMarks({ kafka, topics, signal }, rangesOf(replay.stored));
      const reading = new ReadSuppressions(kafka, topics.suppressions, signal);
      const suppressions = await reading.read();
      const given = { topics, destinations, marks, suppressions };
      return sendReplay(
        replay,
        { ...deadLetterRules(replay, given), suppressions: reading },
        producer,
        {
          onProgress: ({ counts: { written = 0, refused = 0 } }: ReplayFigures) => {
            this.progress.push({ replayed: written, refused });
          },
          onRefused: (why) => void this.refused.push(why),
          onWaiting: (why) => void this.waits.push(why),
        },
      );
    };
    return {
      kafka,
      begin: (
        name: string,
        given: Partial<DeadLetterReplayPlan> = {},
        filter: Partial<DeadLetterFilter> = {},
      ) => {
        const whole = { ...EVERY_DEAD_LETTER, ...filter };
        return run(name, newReplay({ ...given, filter: whole }));
      },
      resume: (name: string) => run(name, resumedReplay(name)),
    };
  }

  /** Message IDs on the destination's topic. */
  delivered(): string[] {
    return this.cluster
      .records(DELIVERIES)
      .map((record) => headerTexts(record)["switchyard-message-id"] ?? "");
  }
}
