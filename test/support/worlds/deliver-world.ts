/** The deliver and delay stages with a Kafka in memory and scripted endpoints, on a clock that tests advance. */

import { createMetrics } from "../../../src/base/telemetry/instruments.ts";
import { type Delivery, deliveryHeaders } from "../../../src/domain/delivery.ts";
import { endpointKey } from "../../../src/domain/destination.ts";
import type { DestinationId, MessageId } from "../../../src/domain/ids.ts";
import type { IncomingRecord } from "../../../src/domain/record.ts";
import { delayName, groupNames, topicNames } from "../../../src/domain/topics.ts";
import { patienceMs } from "../../../src/kafka/cluster/kafka-error.ts";
import type { Schemas } from "../../../src/registry/port.ts";
import {
  followOperatorActions,
  type RunningOperatorActions,
} from "../../../src/router/control/follow-operator-actions.ts";
import {
  earlyReleaseRecord,
  forgetRecord,
  goneKey,
  pauseRecord,
  resumeRecord,
} from "../../../src/router/control/operator-actions.ts";
import { startDelay } from "../../../src/router/delay/stage.ts";
import { startAttemptsTopic } from "../../../src/router/deliver/attempts-topic.ts";
import { startDeliver } from "../../../src/router/deliver/stage.ts";
import type { WebhookDestination } from "../../../src/router/destinations/webhook/settings.ts";
import { webhookTransport } from "../../../src/router/destinations/webhook/transport.ts";
import type { RunningStage } from "../../../src/router/stage/running-stage.ts";
import type { KnownSuppressions } from "../../../src/router/suppression/known-suppressions.ts";
import { headerTexts } from "../build/calls.ts";
import { listsOf } from "../build/lists.ts";
import { deliveryOf } from "../build/webhook-destination.ts";
import { clockDriver } from "../clock/clock-driver.ts";
import { ManualClock } from "../clock/manual-clock.ts";
import { createPrng } from "../clock/prng.ts";
import { parsedLog } from "../log/parsed-log.ts";
import { MemoryCluster, type MemoryKafka } from "../memory-kafka/memory-kafka.ts";
import { ScriptedHttp, type ScriptedResponse, type Sent } from "./scripted-http.ts";
import { scriptedTokens, type TokenResponse } from "./scripted-tokens.ts";

export const topics = topicNames("sw.");
const groups = groupNames("sw.");
export const RETRY_DELAYS_MS = [10_000, 30_000, 120_000, 300_000, 900_000, 1_800_000, 3_600_000];
export const HOUR_MS = 3_600_000;
export const CRM = "crm" as DestinationId;
/** A round trip, and the time until the topic `operator-actions` is read again. */
export const READ_MS = 500;

export interface WorldOptions {
  readonly destinations: readonly WebhookDestination[];
  readonly respond: (sent: Sent, earlier: number) => ScriptedResponse;
  readonly retryDelaysMs?: readonly number[];
  readonly retryWindowMs?: number;
  readonly partitions?: number;
  readonly recordMaxBytes?: (topic: string) => number;
  /** Maximum number of blocked users, for destinations with a strict order. */
  readonly blockedMax?: number;
  readonly schemas?: Schemas;
  /** Responds to token requests; absent if no destination needs a token. */
  readonly tokens?: (earlier: number) => TokenResponse;
  /** Absent if nobody is suppressed. */
  readonly suppressions?: KnownSuppressions;
  /** If present, attempts are recorded. */
  readonly attempts?: { readonly responseBytes: number | null };
}

interface CallsGiven extends Partial<Delivery> {
  readonly user?: (call: number) => string;
}

export function idOf({ headers }: Sent): string {
  return headers["X-Switchyard-Message-Id"] ?? "";
}

export class DeliverWorld {
  readonly clock = new ManualClock();
  readonly cluster: MemoryCluster;
  readonly http: ScriptedHttp;
  readonly #log = parsedLog();
  readonly lines = this.#log.lines;
  readonly #tokens;
  readonly failures: Error[] = [];
  readonly metrics = createMetrics();
  readonly #options: WorldOptions;
  readonly #delaysMs: readonly number[];
  #calls = 0;
  kafka: MemoryKafka;
  #operatorActions: RunningOperatorActions | null = null;
  /** The destinations for the next start. */
  destinations: readonly WebhookDestination[];

  constructor(options: WorldOptions) {
    const {
      destinations,
      retryDelaysMs = RETRY_DELAYS_MS,
      partitions = 1,
      recordMaxBytes,
    } = options;
    this.#options = options;
    this.destinations = destinations;
    this.#delaysMs = retryDelaysMs;
    const limit = recordMaxBytes === undefined ? {} : { recordMaxBytes };
    this.cluster = new MemoryCluster({ clock: this.clock, random: createPrng(7), ...limit });
    this.http = new ScriptedHttp(this.clock, options.respond);
    this.#tokens = scriptedTokens(this.clock, options.tokens ?? (() => 404));
    this.kafka = this.cluster.connect();
    this.cluster.createTopic(topics.deadLetters, 1);
    this.createTopics(destinations, partitions);
    if (options.attempts !== undefined) this.cluster.createTopic(topics.attempts, 1);
    for (const delayMs of new Set(retryDelaysMs))
      this.cluster.createTopic(topics.delays(delayMs), 1);
  }

  /** Makes stages that start later follow the topic `operator-actions`. */
  async control(): Promise<RunningOperatorActions> {
    if (this.#operatorActions === null) this.cluster.createTopic(topics.operatorActions, 1);
    this.#operatorActions?.[Symbol.dispose]();
    const { clock, kafka } = this;
    const operatorActions = followOperatorActions(
      { kafka, clock, log: this.#log.log, isUnreachable: () => false, patienceMs },
      topics.operatorActions,
    );
    this.#operatorActions = operatorActions;
    await clockDriver(clock).during(operatorActions.known);
    return operatorActions;
  }

  /** Creates the topics of new destinations. */
  createTopics(destinations: readonly WebhookDestination[], partitions = 1): void {
    for (const { id, order } of destinations) {
      this.cluster.createTopic(topics.deliveries(id), partitions);
      this.cluster.createTopic(topics.retries(id), 1);
      if (order === "strict") this.cluster.createTopic(topics.order(id), 1);
    }
  }

  /** Gives the stage other destinations, like a reload. Resolves when removed destinations have ended. */
  async update(stage: RunningStage, destinations: readonly WebhookDestination[]): Promise<void> {
    stage.update?.(listsOf({ destinations }));
    await stage.retire?.();
  }

  #deps() {
    const { schemas, suppressions } = this.#options;
    return {
      kafka: this.kafka,
      producer: this.kafka.producer(),
      clock: this.clock,
      log: this.#log.log,
      metrics: this.metrics,
      ...(this.#operatorActions === null ? {} : { operatorActions: this.#operatorActions }),
      ...(schemas === undefined ? {} : { schemas }),
      ...(suppressions === undefined ? {} : { suppressions }),
    };
  }

  startDeliver() {
    const { retryWindowMs = 4 * HOUR_MS, attempts, blockedMax } = this.#options;
    const noted = attempts === undefined ? {} : { attempts: this.#attemptsTopic(attempts) };
    const { destinations } = this;
    return startDeliver(
      {
        ...this.#deps(),
        ...noted,
        transport: webhookTransport(this.http, this.#tokens.tokens),
      },
      {
        topics,
        groups,
        destinations,
        retryDelaysMs: this.#delaysMs,
        retryWindowMs,
        maxBytes: () => 1_048_576,
        commonMaxBytes: 0,
        drainLimitMs: 10_000,
        ...(blockedMax === undefined ? {} : { blockedMax }),
      },
    );
  }

  #attemptsTopic({ responseBytes }: { readonly responseBytes: number | null }) {
    return startAttemptsTopic(this.#deps(), { topic: topics.attempts, responseBytes });
  }

  startDelay() {
    return startDelay(
      { ...this.#deps(), onFatal: (error) => this.failures.push(error) },
      {
        topics,
        groups,
        delays: [...new Set(this.#delaysMs)].map(delayName),
        destinations: this.destinations.map(({ id }) => id),
        shownMax: Number.POSITIVE_INFINITY,
        retryWindowMs: this.#options.retryWindowMs ?? 4 * HOUR_MS,
        maxBytes: 1_048_576,
        drainLimitMs: 10_000,
      },
    );
  }

  /** Writes a track call to a destination's topic, like the route stage. */
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

  /** Appends calls with the message IDs `m0`, `m1` and so on, each from a user of its own unless `user` names one. */
  calls(count: number, { user, ...delivery }: CallsGiven = {}): void {
    for (const last = this.#calls + count; this.#calls < last; this.#calls += 1) {
      const key = Buffer.from(user?.(this.#calls) ?? `u${this.#calls}`);
      this.append({ messageId: `m${this.#calls}` as MessageId, ...delivery }, { key });
    }
  }

  /** Pauses the destination by a command, and waits until it is read. The same applies to `resume` and `cancel`. */
  async pause(forMs: number | null = null, destination = CRM): Promise<void> {
    const sinceMs = this.clock.nowMs();
    const untilMs = forMs === null ? null : sinceMs + forMs;
    const pause = { destination, sinceMs, by: "command", untilMs };
    this.cluster.append(pauseRecord(topics.operatorActions, pause));
    await this.settle(READ_MS);
  }

  /** @param gone the URLs of endpoints that get requests again. */
  async resume(destination = CRM, gone: readonly string[] = []): Promise<void> {
    const { operatorActions } = topics;
    this.cluster.append(resumeRecord(operatorActions, destination));
    for (const key of gone.map((url) => goneKey(destination, endpointKey(url))))
      this.cluster.append(forgetRecord(operatorActions, key));
    await this.settle(READ_MS);
  }

  async cancel(receivedBeforeMs = this.clock.nowMs() + 1): Promise<void> {
    const atMs = this.clock.nowMs() + 1;
    const asked = { kind: "cancel", destination: CRM, id: `c-${atMs}`, atMs } as const;
    const cancel = { ...asked, by: "command", receivedBeforeMs };
    this.cluster.append(earlyReleaseRecord(topics.operatorActions, cancel));
    await this.settle(READ_MS);
  }

  /** Starts both stages. The test ends with `stop`. */
  async run() {
    const deliver = await this.startDeliver();
    const delay = await this.startDelay();
    await this.settle(2_000);
    return { deliver, delay };
  }

  /** Stops the stage. Attempts in progress get 15 s. */
  async stop(stage: RunningStage): Promise<void> {
    const ended = stage[Symbol.asyncDispose]();
    await this.settle(15_000);
    await ended;
  }

  /** Like `update`, with the time that it takes. */
  async reload(stage: RunningStage, destinations: readonly WebhookDestination[]): Promise<void> {
    const ended = this.update(stage, destinations);
    await this.settle(1);
    await this.settle(15_000);
    await ended;
  }

  /** Message IDs of the requests to this host. Needs `messageIdHeader`. */
  sent(host = ""): readonly string[] {
    return this.http.sent.filter(({ url }) => url.includes(host)).map(idOf);
  }

  deadLetters(): readonly Readonly<Record<string, string | null>>[] {
    return this.cluster.records(topics.deadLetters).map((record) => headerTexts(record));
  }

  /** Advances the clock until nothing is left to do, but at most by this time. */
  async settle(limitMs: number): Promise<void> {
    await this.clock.advance(limitMs);
  }

  get tokenRequests() {
    return this.#tokens.requests;
  }

  attempts(): readonly Record<string, unknown>[] {
    return this.lines.filter(({ msg }) => msg === "delivery.attempted");
  }
}
