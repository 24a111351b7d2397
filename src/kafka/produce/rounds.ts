/**
 * Sends the records that wait in the buffers, and handles the brokers' responses.
 *
 *   a buffer has records and          then
 *   no request to its leader is in    its next batch is part of the next request to the leader
 *     flight
 *   a request is in flight            it waits for the response
 *   its last batch has just failed    it waits 100 ms to 2 s; the others continue
 *   it has no leader                  it waits until one is found
 */

import type { Clock } from "../../base/runtime/clock.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import { type ProduceResponse, produce } from "../broker/requests.ts";
import { Brokers } from "../cluster/brokers.ts";
import type { Client, Clients } from "../cluster/connection.ts";
import { errorText, errorType, retryDelayMs } from "../cluster/kafka-error.ts";
import type { OutageLog } from "../cluster/outage-log.ts";
import type { Identity } from "../cluster/permission.ts";
import type { BlockedTopic, ProducerOptions } from "../port.ts";
import { blockedBy, produceOutcome, rejectionText } from "./outcome.ts";
import type { PartitionBuffer, SendCall } from "./partition-buffer.ts";
import { NO_ID, ProducerIds } from "./producer-id.ts";
import type { ProduceTopic } from "./topic.ts";
import { ProduceTopics } from "./topics.ts";
import { BLOCK_AFTER_MS } from "./write-failures.ts";

/** Maximum bytes of one request; the broker's `socket.request.max.bytes` is 100 MB. */
const REQUEST_MAX_BYTES = 8_000_000;
/** How long brokers wait for the replicas; shorter than the request timeout. */
const ACKNOWLEDGE_LIMIT_MS = 20_000;
const ALL_IN_SYNC = -1;
/** In a response, this append time means that the topic's records have the producer's time. */
const NOT_ITS_TIME = -1n;
/**
 * The first attempt for which a warning is logged, because an election, or a coordinator that is still loading, causes
 * only one or two failed attempts.
 */
const WARN_AT = 3;

type Batches = ReadonlyMap<PartitionBuffer, readonly OutgoingRecord[]>;

export class ProduceRounds {
  readonly #client: Client;
  readonly #brokers: Brokers;
  readonly #outages: OutageLog;
  readonly #identity: Identity;
  readonly #topics: ProduceTopics;
  readonly #ids: ProducerIds;
  readonly #options: ProducerOptions;
  readonly #clock: Clock;
  /** Idle buffers with records, in the order in which they were added to this queue. */
  #queued: PartitionBuffer[] = [];
  /** Nodes to which requests were sent; true while a request is in flight. */
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
      identity: clients.connection,
      clock: clients.clock,
      recordMaxBytes: clients.connection.recordMaxBytes,
      onRejected: (topic) => this.#watch(topic),
      onLeaders: (buffers) => {
        for (const buffer of buffers) if (buffer.state === "idle") this.#queue(buffer);
        this.soon();
      },
      dropId: (buffer) => this.#ids.drop(buffer.id),
    });
    this.#identity = clients.connection;
    this.#ids = new ProducerIds(this.#brokers, clients);
  }

  topic(name: string): ProduceTopic {
    return this.#topics.get(name);
  }

  add(topic: ProduceTopic, record: OutgoingRecord, bytes: number, call: SendCall): void {
    const buffer = topic.add(record, bytes, call);
    if (buffer === null) this.#topics.lookupInTurn(topic);
    else if (buffer.state === "idle") this.#queue(buffer);
  }

  /** Sends the batches after the current synchronous code has run, so that concurrent callers share requests. */
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

  /** Topics that are currently not writable. */
  blocked(): readonly BlockedTopic[] {
    const nowMs = this.#clock.nowMs();
    return [...this.#topics.all()].flatMap((topic) => {
      const block = topic.blockNow(nowMs);
      if (block === null || block.sinceMs === null) return [];
      return [{ topic: topic.name, sinceMs: block.sinceMs, by: block.by, error: block.error }];
    });
  }

  /** Sets a timer to check the topic when it may have rejected writes for long enough. */
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
    topic.giveBack(nowMs, (buffer) => {
      // The partition may already have this batch, so later records need other sequence numbers.
      if (buffer.mayBeWritten) this.#ids.drop(buffer.id);
    });
  }

  #queue(buffer: PartitionBuffer): void {
    if (buffer.isQueued) return;
    buffer.isQueued = true;
    this.#queued.push(buffer);
  }

  #go(): void {
    if (this.#busy > 0 && this.#busy === this.#brokers.count) return;
    this.#topics.refresh(this.#clock.nowMs());
    const requests = new Map<number, PartitionBuffer[]>();
    const queued = this.#queued;
    this.#queued = [];
    for (const buffer of queued) {
      const { leader } = buffer;
      if (buffer.isEmpty) {
        // The records were returned to their callers, or the partition is gone and its records wait in other buffers.
        buffer.isQueued = false;
      } else if (leader === null) {
        buffer.isQueued = false;
        this.#topics.lookupInTurn(this.topic(buffer.topic.name));
      } else if (this.#isBusy.get(leader) === true) {
        this.#queued.push(buffer);
      } else {
        const buffers = requests.get(leader);
        if (buffers === undefined) requests.set(leader, [buffer]);
        else buffers.push(buffer);
      }
    }
    for (const [nodeId, buffers] of requests) void this.#round(nodeId, buffers);
  }

  /** Sends one request to one broker, and handles the response. */
  async #round(nodeId: number, buffers: readonly PartitionBuffer[]): Promise<void> {
    this.#isBusy.set(nodeId, true);
    this.#busy += 1;
    const batches = new Map<PartitionBuffer, readonly OutgoingRecord[]>();
    let bytes = 0;
    for (const buffer of buffers) {
      if (bytes >= REQUEST_MAX_BYTES) {
        this.#queued.push(buffer);
        continue;
      }
      const batch = buffer.cut();
      bytes += batch.bytes;
      batches.set(buffer, batch.records);
      buffer.state = "in-flight";
      buffer.isQueued = false;
    }
    const sentAtMs = performance.now();
    try {
      this.#handleResponse(await this.#produce(nodeId, batches), batches);
      this.#options.onResponse?.(performance.now() - sentAtMs);
    } catch (error) {
      if (!this.#isClosed) this.#handleFailure(nodeId, error as Error, [...batches.keys()]);
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
        partitions: ofTopic.map(([buffer, messages]) => {
          const { producerId, producerEpoch } = buffer.idFor(current);
          const firstSequence = buffer.id === NO_ID ? -1 : buffer.sequence;
          const ids = { producerId, producerEpoch, firstSequence };
          return { partition: buffer.partition, ...ids, messages, nowMs };
        }),
      }),
    );
    const request = { acks: ALL_IN_SYNC, timeout: ACKNOWLEDGE_LIMIT_MS, topicData };
    const sentAtMs = performance.now();
    const response = await broker.send(produce(request));
    if (this.#options.onAppended !== undefined) this.#appended(response, batches, sentAtMs);
    return response;
  }

  /**
   * Reports append times. A batch that an earlier attempt may have written is omitted, because its time may be from the
   * earlier attempt.
   */
  #appended({ responses }: ProduceResponse, batches: Batches, sentAtMs: number): void {
    const respondedAtMs = performance.now();
    for (const { name, partitionResponses } of responses) {
      for (const { index, errorCode, logAppendTimeMs } of partitionResponses) {
        if (errorCode !== 0 || logAppendTimeMs === NOT_ITS_TIME) continue;
        const buffer = this.topic(name).buffers[index];
        if (buffer === undefined || buffer.mayBeWritten || !batches.has(buffer)) continue;
        const appendedAtMs = Number(logAppendTimeMs);
        this.#options.onAppended?.({ appendedAtMs, sentAtMs, respondedAtMs });
      }
    }
  }

  #handleResponse({ responses }: ProduceResponse, batches: Batches): void {
    const failed: PartitionBuffer[] = [];
    for (const { name, partitionResponses } of responses) {
      for (const { index, errorCode } of partitionResponses) {
        const buffer = this.topic(name).buffers[index];
        if (buffer?.state !== "in-flight" || !batches.has(buffer)) continue;
        const isDone = this.#judge(buffer, errorCode);
        buffer.state = isDone ? "idle" : "waiting";
        if (!isDone) failed.push(buffer);
        else if (!buffer.isEmpty) this.#queue(buffer);
      }
    }
    // Brokers should not omit partitions. But if one did, the partition's buffer would wait forever.
    for (const buffer of batches.keys()) {
      if (buffer.state !== "in-flight") continue;
      buffer.recordFailure(true);
      failed.push(buffer);
    }
    this.#retry(failed);
    // A record that was sent as a probe is returned at the first error.
    const nowMs = this.#clock.nowMs();
    for (const { topic, block } of failed) {
      if (block.isBlocked(nowMs)) this.#giveBack(this.topic(topic.name));
    }
  }

  /** Returns false if the buffer has to wait before it is retried. */
  #judge(buffer: PartitionBuffer, errorCode: number): boolean {
    const topic = buffer.topic.name;
    const type = errorCode === 0 ? null : errorType(errorCode);
    switch (produceOutcome(type)) {
      case "acknowledged":
        buffer.acknowledge();
        return true;
      case "too-large":
        // The partition may already have this batch, so later records need other sequence numbers.
        if (buffer.mayBeWritten) this.#ids.drop(buffer.id);
        buffer.shrink(`${topic} rejected it: ${errorText(errorCode)}`);
        return true;
      case "retry-with-new-id":
        this.#ids.drop(buffer.id);
        buffer.rejectId();
        break;
      case "retry-with-metadata":
        this.#topics.lookup(this.topic(topic));
        buffer.recordFailure(true);
        break;
      case "retry-as-it-was":
        buffer.recordFailure(true);
        break;
      case "retry":
        buffer.recordFailure(false);
        break;
    }
    const error = `${type}`;
    this.#options.onRetried?.(error);
    const by = blockedBy(error);
    const text = rejectionText(topic, error, this.#identity);
    buffer.block.recordRejection(by, text, this.#clock.nowMs());
    this.#watch(this.topic(topic));
    if (buffer.failures < WARN_AT) return false;
    if (by === "forbidden") this.#topics.reportRejected(topic, by, text);
    else {
      this.#outages.warnUnlessOutage(
        `${topic} ${error}`,
        { topic, error: text },
        "kafka.produce.failing",
      );
    }
    return false;
  }

  /** Call if there is no response. The batches may or may not have been written. */
  #handleFailure(nodeId: number, error: Error, buffers: readonly PartitionBuffer[]): void {
    this.#brokers.drop(nodeId);
    for (const buffer of buffers) {
      this.#options.onRetried?.("no-answer");
      buffer.recordFailure(true);
      this.#topics.lookup(this.topic(buffer.topic.name));
    }
    if (buffers.some(({ failures }) => failures >= WARN_AT)) {
      const fields = { brokerId: nodeId, error: error.message };
      this.#outages.warnUnlessOutage(`produce ${nodeId}`, fields, "kafka.produce.failing");
    }
    this.#retry(buffers);
  }

  #retry(buffers: readonly PartitionBuffer[]): void {
    if (buffers.length === 0) return;
    for (const buffer of buffers) buffer.state = "waiting";
    const delayMs = retryDelayMs(Math.max(...buffers.map(({ failures }) => failures)));
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      for (const buffer of buffers) {
        buffer.state = "idle";
        this.#queue(buffer);
      }
      this.soon();
    }, delayMs);
    this.#timers.add(timer);
  }
}
