/** Calls on a Kafka in memory, and replays of them for one destination, on a clock that tests advance. */

import type { Source } from "../../../src/domain/destination.ts";
import type { SourceId } from "../../../src/domain/ids.ts";
import { topicNames } from "../../../src/domain/topics.ts";
import type { Kafka, Producer } from "../../../src/kafka/port.ts";
import { commandProducer } from "../../../src/operator/connect/command-producer.ts";
import { ReadSuppressions } from "../../../src/operator/connect/known-operations.ts";
import { callDecisions } from "../../../src/operator/replay/call-replay.ts";
import { countReplay, sendReplay } from "../../../src/operator/replay/replay.ts";
import type {
  CallReplayPlan,
  ChosenReplay,
  Counts,
} from "../../../src/operator/replay/replay-store.ts";
import { openReplay } from "../../../src/operator/replay/run-replay.ts";
import type { Schemas } from "../../../src/registry/port.ts";
import type { WebhookDestination } from "../../../src/router/destinations/webhook/settings.ts";
import { headerTexts } from "../build/calls.ts";
import { webhookDestination } from "../build/webhook-destination.ts";
import { clockDriver } from "../clock/clock-driver.ts";
import { ManualClock } from "../clock/manual-clock.ts";
import { createPrng } from "../clock/prng.ts";
import { MemoryCluster, type MemoryKafka } from "../memory-kafka/memory-kafka.ts";

export const topics = topicNames("sw.");
const WEB = "web" as SourceId;

export interface CallWorldOptions {
  readonly partitions?: number;
  readonly schemas?: Schemas;
  readonly recordMaxBytes?: (topic: string) => number;
}

/** What a process reads and writes with. */
export interface CallReplayPorts {
  readonly kafka: Pick<Kafka, "admin" | "read">;
  readonly producer: Producer;
}

export class CallReplayWorld {
  readonly clock = new ManualClock();
  /** Advances the clock until the promise is settled. */
  readonly finish = clockDriver(this.clock).during;
  readonly cluster: MemoryCluster;
  readonly crm: WebhookDestination = webhookDestination();
  readonly sources: readonly Source[];
  readonly topic = topics.deliveries(this.crm.id);
  counts: Counts = {};
  readonly waits: (string | null)[] = [];
  readonly #options: CallWorldOptions;

  constructor(options: CallWorldOptions = {}) {
    const { partitions = 2, recordMaxBytes } = options;
    const limit = recordMaxBytes === undefined ? {} : { recordMaxBytes };
    this.#options = options;
    this.cluster = new MemoryCluster({ clock: this.clock, random: createPrng(5), ...limit });
    this.cluster.createTopic(topics.calls, partitions);
    this.cluster.createTopic(topics.ledger, 1);
    this.cluster.createTopic(this.topic, partitions);
    this.sources = [
      {
        id: WEB,
        writeKeys: [],
        destinations: [this.crm.id],
        callsPerSecond: null,
        correctClock: true,
      },
    ];
  }

  /** Writes track calls `m-0`, `m-1`, ... one millisecond apart, to the partitions in turn. */
  async fill(count: number, more: (number: number) => object = () => ({}), from = 0) {
    for (let number = from; number < from + count; number += 1) {
      await this.clock.advance(1);
      const call = { type: "track", userId: `u-${number}`, event: "E", messageId: `m-${number}` };
      const value = Buffer.from(JSON.stringify({ ...call, ...more(number) }));
      const partition = number % (this.#options.partitions ?? 2);
      this.cluster.append({ topic: topics.calls, partition, key: null, value, headers: [] });
    }
  }

  plan(given: Partial<CallReplayPlan> = {}): CallReplayPlan {
    const asked = { sinceMs: 0, untilMs: null, types: [], events: [] };
    return { destination: this.crm.id, asked, perSecond: null, ...given };
  }

  /** Creates a separate process. @param changed ports that the test replaces. */
  process(
    by: string,
    {
      signal = new AbortController().signal,
      changed = (ports: CallReplayPorts): CallReplayPorts => ports,
    } = {},
  ) {
    const kafka: MemoryKafka = this.cluster.connect();
    const { clock, sources, crm: destination } = this;
    const schemas = this.#options.schemas ?? null;
    const config = { sources, defaultSource: WEB };
    const ports = changed({
      kafka,
      producer: commandProducer(kafka, { err: () => undefined }, signal, clock),
    });
    const follower = {
      onProgress: ({ counts }: { readonly counts: Counts }) => {
        this.counts = counts;
      },
      onWaiting: (why: string | null) => void this.waits.push(why),
      onRefused: () => undefined,
    };
    const open = async (chosen: ChosenReplay<"calls">) => {
      const cluster = { kafka: ports.kafka, topics, hasLedger: true, signal, clock };
      const replay = await openReplay(cluster, "calls", chosen, { name: "replay-1", by });
      if (replay === null) return null;
      const { plan } = replay.stored;
      const reading = new ReadSuppressions(ports.kafka, topics.suppressions, signal);
      const suppressions = await reading.read();
      const given = { plan, topics, config, destination, schemas, suppressions, clock, signal };
      return { replay, rules: { decide: callDecisions(given), suppressions: reading } };
    };
    const run = async (chosen: ChosenReplay<"calls">) => {
      const opened = await open(chosen);
      if (opened === null) return "no such replay";
      return sendReplay(opened.replay, opened.rules, ports.producer, follower);
    };
    const fresh = (given: Partial<CallReplayPlan> = {}) =>
      ({ kind: "new", plan: this.plan(given) }) as const;
    return {
      kafka,
      begin: (given: Partial<CallReplayPlan> = {}) => run(fresh(given)),
      resume: () => run({ kind: "resume", name: "replay-1", perSecond: null }),
      count: async () => {
        const opened = await open(fresh());
        return opened && countReplay(opened.replay, opened.rules.decide, follower);
      },
    };
  }

  /** Message IDs on the destination's topic, in the order in which they were written. */
  written(): string[] {
    return this.cluster
      .records(this.topic)
      .toSorted((one, other) => one.timestampMs - other.timestampMs)
      .map((record) => headerTexts(record)["switchyard-message-id"] ?? "");
  }
}

export function ids(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => `m-${from + index}`);
}
