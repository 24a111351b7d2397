/**
 * Sends what waits in the lanes, and deals with what brokers answer.
 *
 *   a lane has records and            then
 *   its leader is not asked now       its next batch goes into the leader's next request
 *   its leader is being asked         it waits for that answer
 *   it failed just now                it waits a while (50 ms to 2 s), and the others go on
 *   it has no leader                  it waits until one is found
 */

import type { OutgoingRecord } from "../../domain/record.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Brokers, type ProduceResponse } from "../cluster/brokers.ts";
import type { Client, Clients } from "../cluster/connection.ts";
import { errorText, errorType } from "../cluster/kafka-error.ts";
import type { OutageLog } from "../cluster/outage-log.ts";
import type { Asker } from "../cluster/permission.ts";
import { retryDelayMs } from "../cluster/retry-delay.ts";
import type { BlockedTopic, ProducerOptions } from "../port.ts";
import { blockedBy, produceOutcome, refusalText } from "./outcome.ts";
import type { ProduceLane, SendCall } from "./partition-buffer.ts";
import { NO_ID, ProducerIds } from "./producer-id.ts";
import type { ProduceTopic } from "./topic.ts";
import { ProduceTopics } from "./topics.ts";
import { BLOCK_AFTER_MS } from "./write-failures.ts";

/** Of one request; the broker's `socket.request.max.bytes` is 100 MB. */
const REQUEST_MAX_BYTES = 8_000_000;
/** How long brokers wait for the replicas; below the driver's limit for a request. */
const ACKNOWLEDGE_LIMIT_MS = 20_000;
const ALL_IN_SYNC = -1;
/** The response for a topic whose records have the producer's time. */
const NOT_ITS_TIME = "-1";
/** An election costs one or two tries, and so does a coordinator that is still loading. */
const WARN_AT = 3;

type Batches = ReadonlyMap<ProduceLane, readonly OutgoingRecord[]>;

export class ProduceRounds {
  readonly #client: Client;
  readonly #brokers: Brokers;
  readonly #outages: OutageLog;
  readonly #asker: Asker;
  readonly #topics: ProduceTopics;
  readonly #ids: ProducerIds;
  readonly #options: ProducerOptions;
  readonly #clock: Clock;
  /** Idle lanes with records, in the order in which they came. */
  #line: ProduceLane[] = [];
  /** Nodes that were asked, and whether a request is under way. */
  readonly #isBusy = new Map<number, boolean>();
  #busy = 0;
  readonly #timers = new Set<NodeJS.Timeout>();
  #isScheduled = false;
  #isClosed = false;

  constructor(clients: Clients, options: ProducerOptions) {
    this.#options = options;
    this.#clock = clients.clock;
    this.#client = clients.createForRecords();
    this.#brokers = new Brokers(this.#client);
    this.#outages = clients.outages;
    this.#topics = new ProduceTopics({
      brokers: this.#brokers,
      outages: clients.outages,
      asker: clients.connection,
      clock: clients.clock,
      recordMaxBytes: clients.connection.recordMaxBytes,
      onRefused: (topic) => this.#watch(topic),
      onLeaders: (lanes) => {
        for (const lane of lanes) if (lane.state === "idle") this.#queue(lane);
        this.soon();
      },
      dropId: (lane) => this.#ids.drop(lane.id),
    });
    this.#asker = clients.connection;
    this.#ids = new ProducerIds(this.#brokers, clients);
  }

  topic(name: string): ProduceTopic {
    return this.#topics.get(name);
  }

  add(topic: ProduceTopic, record: OutgoingRecord, bytes: number, call: SendCall): void {
    const lane = topic.add(record, bytes, call);
    if (lane === null) this.#topics.lookUpInTurn(topic);
    else if (lane.state === "idle") this.#queue(lane);
  }

  /** Sends after what runs now, so that callers of the same moment share requests. */
  soon(): void {
    if (this.#isScheduled || this.#isClosed) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (!this.#isClosed) this.#go();
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#topics.close();
    this.#brokers.close();
    this.#client.destroy();
  }

  /** Topics that take nothing now. */
  blocked(): readonly BlockedTopic[] {
    const nowMs = this.#clock.nowMs();
    return [...this.#topics.all()].flatMap((topic) => {
      const block = topic.blockNow(nowMs);
      if (block === null || block.sinceMs === null) return [];
      return [{ topic: topic.name, sinceMs: block.sinceMs, by: block.by, error: block.error }];
    });
  }

  /** Looks at the topic when it may have refused for long enough. */
  #watch(topic: ProduceTopic): void {
    topic.mayBeBlocked = true;
    if (topic.isWatched || this.#isClosed) return;
    topic.isWatched = true;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      topic.isWatched = false;
      this.#giveBack(topic);
    }, BLOCK_AFTER_MS);
    this.#timers.add(timer);
  }

  #giveBack(topic: ProduceTopic): void {
    const nowMs = this.#clock.nowMs();
    if (topic.block.isBlocked(nowMs) && topic.block.by === "missing")
      this.#options.onMissing?.(topic.name);
    topic.giveBack(nowMs, (lane) => {
      // Others will stand where it may be written: they need other sequences.
      if (lane.mayBeWritten) this.#ids.drop(lane.id);
    });
  }

  #queue(lane: ProduceLane): void {
    if (lane.isInLine) return;
    lane.isInLine = true;
    this.#line.push(lane);
  }

  #go(): void {
    if (this.#busy > 0 && this.#busy === this.#brokers.count) return;
    this.#topics.refresh(this.#clock.nowMs());
    const requests = new Map<number, ProduceLane[]>();
    const line = this.#line;
    this.#line = [];
    for (const lane of line) {
      const { leader } = lane;
      if (lane.isEmpty) {
        // Its records were given back, or its partition is gone and they wait elsewhere.
        lane.isInLine = false;
      } else if (leader === null) {
        lane.isInLine = false;
        this.#topics.lookUpInTurn(this.topic(lane.topic.name));
      } else if (this.#isBusy.get(leader) === true) {
        this.#line.push(lane);
      } else {
        const lanes = requests.get(leader);
        if (lanes === undefined) requests.set(leader, [lane]);
        else lanes.push(lane);
      }
    }
    for (const [nodeId, lanes] of requests) void this.#round(nodeId, lanes);
  }

  /** One request to one broker. */
  async #round(nodeId: number, lanes: readonly ProduceLane[]): Promise<void> {
    this.#isBusy.set(nodeId, true);
    this.#busy += 1;
    const batches = new Map<ProduceLane, readonly OutgoingRecord[]>();
    let bytes = 0;
    for (const lane of lanes) {
      if (bytes >= REQUEST_MAX_BYTES) {
        this.#line.push(lane);
        continue;
      }
      const batch = lane.cut();
      bytes += batch.bytes;
      batches.set(lane, batch.records);
      lane.state = "under-way";
      lane.isInLine = false;
    }
    const askedAtMs = performance.now();
    try {
      this.#answered(await this.#produce(nodeId, batches), batches);
      this.#options.onAnswered?.(performance.now() - askedAtMs);
    } catch (error) {
      if (!this.#isClosed) this.#unanswered(nodeId, error as Error, [...batches.keys()]);
    }
    this.#isBusy.set(nodeId, false);
    this.#busy -= 1;
    this.soon();
  }

  async #produce(nodeId: number, batches: Batches): Promise<ProduceResponse> {
    const broker = await this.#brokers.leader(nodeId);
    const current = await this.#ids.current();
    const nowMs = this.#clock.nowMs();
    const topicData = [...Map.groupBy(batches, ([{ topic }]) => topic.name)].map(
      ([topic, ofTopic]) => ({
        topic,
        partitions: ofTopic.map(([lane, messages]) => {
          const { producerId, producerEpoch } = lane.idFor(current);
          const firstSequence = lane.id === NO_ID ? -1 : lane.sequence;
          const ids = { producerId, producerEpoch, firstSequence };
          return { partition: lane.partition, ...ids, messages, nowMs };
        }),
      }),
    );
    const request = { acks: ALL_IN_SYNC, timeout: ACKNOWLEDGE_LIMIT_MS, topicData };
    const askedAtMs = performance.now();
    const response = await this.#brokers.produce(broker, request);
    if (this.#options.onAppended !== undefined) this.#appended(response, batches, askedAtMs);
    return response;
  }

  /** A batch that may have been written before has the time of then. */
  #appended({ topics }: ProduceResponse, batches: Batches, askedAtMs: number): void {
    const answeredAtMs = performance.now();
    for (const { topicName, partitions } of topics) {
      for (const { partition, errorCode, logAppendTime = NOT_ITS_TIME } of partitions) {
        if (errorCode !== 0 || logAppendTime === NOT_ITS_TIME) continue;
        const lane = this.topic(topicName).lanes[partition];
        if (lane === undefined || lane.mayBeWritten || !batches.has(lane)) continue;
        const appendedAtMs = Number(logAppendTime);
        this.#options.onAppended?.({ appendedAtMs, askedAtMs, answeredAtMs });
      }
    }
  }

  #answered({ topics }: ProduceResponse, batches: Batches): void {
    const failed: ProduceLane[] = [];
    for (const { topicName, partitions } of topics) {
      for (const { partition, errorCode } of partitions) {
        const lane = this.topic(topicName).lanes[partition];
        if (lane?.state !== "under-way" || !batches.has(lane)) continue;
        const isDone = this.#judge(lane, errorCode);
        lane.state = isDone ? "idle" : "waiting";
        if (!isDone) failed.push(lane);
        else if (!lane.isEmpty) this.#queue(lane);
      }
    }
    // No broker leaves one out. But a lane whose answer is missing would wait forever.
    for (const lane of batches.keys()) {
      if (lane.state !== "under-way") continue;
      lane.failed(true);
      failed.push(lane);
    }
    this.#retry(failed);
    // A probe comes back with the first error.
    const nowMs = this.#clock.nowMs();
    for (const { topic, block } of failed) {
      if (block.isBlocked(nowMs)) this.#giveBack(this.topic(topic.name));
    }
  }

  /** False when the lane has to wait before it is tried again. */
  #judge(lane: ProduceLane, errorCode: number): boolean {
    const topic = lane.topic.name;
    const type = errorCode === 0 ? null : errorType(errorCode);
    switch (produceOutcome(type)) {
      case "acknowledged":
        lane.acknowledged();
        return true;
      case "too-large":
        // Others will stand where it may be written: they need other sequences.
        if (lane.mayBeWritten) this.#ids.drop(lane.id);
        lane.tooLarge(`${topic} does not take it: ${errorText(errorCode)}`);
        return true;
      case "retry-with-new-id":
        this.#ids.drop(lane.id);
        lane.idRefused();
        break;
      case "retry-with-metadata":
        this.#topics.lookUp(this.topic(topic));
        lane.failed(true);
        break;
      case "retry-as-it-was":
        lane.failed(true);
        break;
      case "retry":
        lane.failed(false);
        break;
    }
    const error = `${type}`;
    this.#options.onRetried?.(error);
    const by = blockedBy(error);
    const text = refusalText(topic, error, this.#asker);
    lane.block.refused(by, text, this.#clock.nowMs());
    this.#watch(this.topic(topic));
    if (lane.failures < WARN_AT) return false;
    if (by === "forbidden") this.#topics.tellRefused(topic, by, text);
    else {
      this.#outages.trouble(`${topic} ${error}`, { topic, error: text }, "kafka.produce.failing");
    }
    return false;
  }

  /** No answer: the batches may be written or not. */
  #unanswered(nodeId: number, error: Error, lanes: readonly ProduceLane[]): void {
    this.#brokers.drop(nodeId);
    for (const lane of lanes) {
      this.#options.onRetried?.("no-answer");
      lane.failed(true);
      this.#topics.lookUp(this.topic(lane.topic.name));
    }
    if (lanes.some(({ failures }) => failures >= WARN_AT)) {
      const fields = { brokerId: nodeId, error: error.message };
      this.#outages.trouble(`produce ${nodeId}`, fields, "kafka.produce.failing");
    }
    this.#retry(lanes);
  }

  #retry(lanes: readonly ProduceLane[]): void {
    if (lanes.length === 0) return;
    for (const lane of lanes) lane.state = "waiting";
    const delayMs = retryDelayMs(Math.max(...lanes.map(({ failures }) => failures)));
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      for (const lane of lanes) {
        lane.state = "idle";
        this.#queue(lane);
      }
      this.soon();
    }, delayMs);
    this.#timers.add(timer);
  }
}
