/**
 * Sends what waits in the queues, and deals with what brokers answer.
 *
 *   a queue has records and            then
 *   its leader is not asked now        its next batch goes into the leader's next request
 *   its leader is being asked          it waits for that answer
 *   it failed just now                 it waits a while (50 ms to 2 s), and the others go on
 *   its topic is not known             metadata is asked for until it is, at growing intervals
 */

import type { OutgoingRecord } from "../domain/record.ts";
import { Brokers } from "./brokers.ts";
import type { Client, Clients } from "./connection.ts";
import { errorText, errorType, request } from "./internals.ts";
import type { OutageLog } from "./outage-log.ts";
import type { ProduceLane, SendCall } from "./produce-lane.ts";
import { produceOutcome, retryDelayMs } from "./produce-outcome.ts";
import { ProduceTopic } from "./produce-topic.ts";

/** Of one request; the broker's `socket.request.max.bytes` is 100 MB. */
const REQUEST_BYTES_MAX = 8_000_000;
/** How long brokers wait for the replicas; below kafkajs' limit for a request. */
const ACKNOWLEDGE_LIMIT_MS = 20_000;
const ALL_IN_SYNC = -1;
/** Elections and coordinators that are still loading cost one or two tries. */
const WARN_AT = 3;
/** Then partitions are looked up again: there may be more of them. */
const METADATA_AGE_MAX_MS = 300_000;

interface ProduceResponse {
  readonly topics: readonly {
    readonly topicName: string;
    readonly partitions: readonly { readonly partition: number; readonly errorCode: number }[];
  }[];
}

interface ProducerId {
  readonly producerId: string;
  readonly producerEpoch: number;
}

export class ProduceRounds {
  readonly #client: Client;
  readonly #brokers: Brokers;
  readonly #outages: OutageLog;
  readonly #recordBytesMax: (topic: string) => number;
  readonly #topics = new Map<string, ProduceTopic>();
  /** Lanes with records that nothing keeps from being sent. */
  readonly #ready = new Set<ProduceLane>();
  readonly #busy = new Set<number>();
  readonly #unknown = new Set<ProduceTopic>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #producerId: Promise<ProducerId> | null = null;
  #isIdempotent = true;
  #isScheduled = false;
  #isAsking = false;
  #metadataFailures = 0;
  #metadataAtMs = Date.now();
  #isClosed = false;

  constructor(clients: Clients) {
    this.#client = clients.create();
    this.#brokers = new Brokers(this.#client);
    this.#outages = clients.outages;
    this.#recordBytesMax = clients.connection.recordBytesMax;
  }

  topic(name: string): ProduceTopic {
    const known = this.#topics.get(name);
    if (known !== undefined) return known;
    const topic = new ProduceTopic(name, this.#recordBytesMax(name));
    this.#topics.set(name, topic);
    return topic;
  }

  add(topic: ProduceTopic, record: OutgoingRecord, bytes: number, call: SendCall): void {
    const lane = topic.add(record, bytes, call);
    if (lane === null) this.#unknown.add(topic);
    else if (!lane.isUnderWay && lane.failures === 0) this.#ready.add(lane);
  }

  /** Sends after what runs now, so that callers of the same moment share requests. */
  soon(): void {
    if (this.#isScheduled || this.#isClosed) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#go();
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#brokers.close();
    this.#client.destroy();
  }

  #go(): void {
    if (this.#isClosed) return;
    if (Date.now() - this.#metadataAtMs > METADATA_AGE_MAX_MS) {
      for (const topic of this.#topics.values()) this.#unknown.add(topic);
    }
    if (this.#unknown.size > 0 && !this.#isAsking) void this.#learn();
    const requests = new Map<number, ProduceLane[]>();
    for (const lane of this.#ready) {
      if (lane.leader === null) {
        this.#ready.delete(lane);
        this.#unknown.add(this.topic(lane.topic));
        this.soon();
      } else if (!this.#busy.has(lane.leader)) {
        const lanes = requests.get(lane.leader);
        if (lanes === undefined) requests.set(lane.leader, [lane]);
        else lanes.push(lane);
      }
    }
    for (const [nodeId, lanes] of requests) void this.#round(nodeId, lanes);
  }

  /** One request to one broker. */
  async #round(nodeId: number, lanes: readonly ProduceLane[]): Promise<void> {
    this.#busy.add(nodeId);
    const batches = new Map<ProduceLane, readonly OutgoingRecord[]>();
    let bytes = 0;
    for (const lane of lanes) {
      if (bytes >= REQUEST_BYTES_MAX) break;
      const batch = lane.cut(this.topic(lane.topic).batchBytesMax);
      bytes += batch.bytes;
      batches.set(lane, batch.records);
      lane.isUnderWay = true;
      this.#ready.delete(lane);
    }
    try {
      const response = await this.#produce(nodeId, batches);
      this.#answered(response, batches);
    } catch (error) {
      this.#unanswered(nodeId, error as Error, [...batches.keys()]);
    }
    this.#busy.delete(nodeId);
    this.soon();
  }

  async #produce(
    nodeId: number,
    batches: ReadonlyMap<ProduceLane, readonly OutgoingRecord[]>,
  ): Promise<ProduceResponse> {
    const broker = await this.#brokers.leader(nodeId);
    const id = this.#isIdempotent ? await this.#currentId() : null;
    const topics = Map.groupBy(batches, ([lane]) => lane.topic);
    const topicData = [...topics].map(([topic, ofTopic]) => ({
      topic,
      partitions: ofTopic.map(([{ partition, sequence }, messages]) => ({
        partition,
        firstSequence: id === null ? -1 : sequence,
        messages,
      })),
    }));
    return await request(broker, "Produce", {
      acks: ALL_IN_SYNC,
      timeout: ACKNOWLEDGE_LIMIT_MS,
      topicData,
      ...(id ?? { producerId: -1, producerEpoch: -1 }),
    });
  }

  #answered(
    { topics }: ProduceResponse,
    batches: ReadonlyMap<ProduceLane, readonly OutgoingRecord[]>,
  ): void {
    const left = new Set(batches.keys());
    const failed: ProduceLane[] = [];
    for (const { topicName, partitions } of topics) {
      for (const { partition, errorCode } of partitions) {
        const lane = this.topic(topicName).lanes[partition];
        if (lane === undefined || !left.delete(lane)) continue;
        lane.isUnderWay = false;
        if (this.#judge(lane, errorCode)) {
          if (!lane.isEmpty) this.#ready.add(lane);
        } else {
          failed.push(lane);
        }
      }
    }
    // No broker leaves one out, but a lane that nobody ends would wait forever.
    for (const lane of left) {
      lane.isUnderWay = false;
      lane.failed(true);
      failed.push(lane);
    }
    this.#retry(failed);
  }

  /** False when the lane has to wait before it is tried again. */
  #judge(lane: ProduceLane, errorCode: number): boolean {
    const type = errorCode === 0 ? null : errorType(errorCode);
    const outcome = produceOutcome(type);
    switch (outcome) {
      case "acknowledged":
        lane.acknowledged();
        return true;
      case "too-large":
        lane.tooLarge(`${lane.topic} does not take it: ${errorText(errorCode)}`);
        return true;
      case "retry-with-new-id":
        this.#producerId = null;
        break;
      case "retry-with-metadata":
        this.#unknown.add(this.topic(lane.topic));
        break;
      case "retry":
        break;
    }
    lane.failed(type === "REQUEST_TIMED_OUT" || type === "NOT_ENOUGH_REPLICAS_AFTER_APPEND");
    const { topic, failures } = lane;
    if (failures >= WARN_AT) {
      this.#outages.warnOnce(`${topic} ${type}`, { topic, error: type }, "kafka.produce.failing");
    }
    return false;
  }

  /** No answer: the batches may be written or not. */
  #unanswered(nodeId: number, error: Error, lanes: readonly ProduceLane[]): void {
    if (this.#isClosed) return;
    this.#brokers.drop(nodeId);
    for (const lane of lanes) {
      lane.isUnderWay = false;
      lane.failed(true);
      this.#unknown.add(this.topic(lane.topic));
    }
    if (lanes.some(({ failures }) => failures >= WARN_AT)) {
      const fields = { node: nodeId, error: error.message };
      this.#outages.warnOnce(`produce ${nodeId}`, fields, "kafka.produce.failing");
    }
    this.#retry(lanes);
  }

  #retry(lanes: readonly ProduceLane[]): void {
    if (lanes.length === 0) return;
    const delayMs = retryDelayMs(Math.max(...lanes.map(({ failures }) => failures)));
    this.#later(delayMs, () => {
      for (const lane of lanes) this.#ready.add(lane);
    });
  }

  #later(delayMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
      this.soon();
    }, delayMs);
    this.#timers.add(timer);
  }

  #currentId(): Promise<ProducerId> {
    this.#producerId ??= this.#newId().catch((error: unknown) => {
      this.#producerId = null;
      throw error;
    });
    return this.#producerId;
  }

  async #newId(): Promise<ProducerId> {
    const { errorCode, ...id } = await this.#brokers.initProducerId();
    if (errorCode !== 0) throw new Error(`InitProducerId: ${errorText(errorCode)}`);
    for (const { lanes } of this.#topics.values()) for (const lane of lanes) lane.resetSequence();
    return id;
  }

  /** Asks for partitions and leaders of the topics that lack them. */
  async #learn(): Promise<void> {
    this.#isAsking = true;
    const asked = [...this.#unknown];
    this.#unknown.clear();
    try {
      const { topicMetadata } = await this.#brokers.metadata(asked.map(({ name }) => name));
      this.#metadataAtMs = Date.now();
      for (const metadata of topicMetadata) {
        const topic = this.topic(metadata.topic);
        if (metadata.topicErrorCode !== 0) {
          this.#missing(topic, errorType(metadata.topicErrorCode));
          continue;
        }
        topic.isReportedMissing = false;
        for (const lane of topic.update(metadata)) {
          if (!lane.isUnderWay && lane.failures === 0) this.#ready.add(lane);
        }
      }
    } catch (error) {
      if (this.#isClosed) return;
      this.#outages.warnOnce(
        "metadata",
        { error: (error as Error).message },
        "kafka.produce.failing",
      );
    }
    const without = asked.filter((topic) => topic.isWaiting || !topic.hasLeaders);
    this.#isAsking = false;
    this.#metadataFailures = without.length === 0 ? 0 : this.#metadataFailures + 1;
    if (without.length > 0) {
      this.#later(retryDelayMs(this.#metadataFailures), () => {
        for (const topic of without) this.#unknown.add(topic);
      });
    }
    this.soon();
  }

  #missing(topic: ProduceTopic, error: string): void {
    if (topic.isReportedMissing) return;
    topic.isReportedMissing = true;
    this.#outages.warnOnce(
      `${topic.name} ${error}`,
      { topic: topic.name, error, hint: "Its records wait until it can be written." },
      "kafka.produce.topic-missing",
    );
  }
}
