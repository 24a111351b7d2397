/** Calls on a Kafka in memory, and replays of them for one destination, on a clock that tests advance. */

import type { Source } from "../../../src/domain/destination.ts";
import type { SourceId } from "../../../src/domain/ids.ts";
import { topicNames } from "../../../src/domain/topics.ts";
import { commandProducer } from "../../../src/operator/connect/command-producer.ts";
import { callDecisions } from "../../../src/operator/replay/call-replay.ts";
import { type ReplayDeps, replay } from "../../../src/operator/replay/replay.ts";
import { planReplay, ReplayStore } from "../../../src/operator/replay/replay-store.ts";
import type { CallReplayPlan, Counts } from "../../../src/operator/replay/stored-replay.ts";
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
      changed = (deps: ReplayDeps): ReplayDeps => deps,
    } = {},
  ) {
    const kafka: MemoryKafka = this.cluster.connect();
    const producer = commandProducer(kafka, { err: () => undefined }, signal, this.clock);
    const depsFor = (plan: CallReplayPlan) =>
      changed({
        kafka,
        topics,
        producer,
        clock: this.clock,
        signal,
        by,
        decide: callDecisions({
          plan,
          topics,
          config: { sources: this.sources, defaultSource: WEB },
          destination: this.crm,
          schemas: this.#options.schemas ?? null,
          clock: this.clock,
          signal,
        }),
        onProgress: ({ counts }) => {
          this.counts = counts;
        },
        onWaiting: (why) => void this.waits.push(why),
        onRefused: () => undefined,
      });
    const storeOf = ({ kafka: { admin } }: ReplayDeps) =>
      new ReplayStore(admin, topics, "replay-1", "calls");
    return {
      kafka,
      depsFor,
      begin: async (given: Partial<CallReplayPlan> = {}) => {
        const plan = this.plan(given);
        const deps = depsFor(plan);
        const stored = await planReplay(kafka, topics, "calls", plan);
        await storeOf(deps).begin(stored, by);
        return replay(deps, "replay-1", stored);
      },
      resume: async () => {
        const stored = await storeOf(depsFor(this.plan())).takeOver(by);
        if (stored === null) return "no such replay";
        return replay(depsFor(stored.plan), "replay-1", stored);
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
