/**
 * Checks the brokers, and the log end offsets of the partitions that this process owns, for the metrics and
 * states that operators see. One request per broker covers all of its partitions, regardless of the number of
 * consumers. Nothing else depends on these checks: consumers and producers detect outages themselves.
 *
 *   step of a check                          every    after a failure
 *   1  each known broker is queried for the  5 s      it is unreachable until it responds
 *      log end offsets of its partitions
 *      (or, every second time, for none)
 *   2  leaders are fetched: at the start,    60 s     they are fetched with the next check. If no known
 *      for new topics, after a move          or less  broker responds, the configured addresses are
 *                                                     tried in turn
 *
 * A broker that throttles this process responds late, so it does not count as unreachable until 5 s have
 * passed without a throttled response. Meanwhile no empty queries are sent to this broker.
 *
 * A request may take 4 s, so an outage is detected within 10 s, and a log end offset is at most 15 s
 * old. A frozen broker still accepts connections, so only a response counts.
 */

import { hostAndPort } from "../../base/runtime/listening.ts";
import type { PartitionPlace } from "../../domain/record.ts";
import type { BrokerState } from "../port.ts";
import { Brokers, inTime } from "./brokers.ts";
import type { Clients } from "./connection.ts";
import type { LogEnds, OwnedPlace } from "./log-ends.ts";
import { EARLIEST, LATEST, listOffsets } from "./offsets.ts";
import { type ClusterMetadata, isUsable } from "./topic-metadata.ts";

const LOOK_EVERY_MS = 5_000;
const RESPONSE_LIMIT_MS = 4_000;
const LEADERS_AGE_MAX_MS = 60_000;
/** Maximum number of topics per metadata request. */
const TOPICS_MAX = 500;

type Owned = readonly OwnedPlace[];

export class ClusterWatch {
  readonly #brokers: Brokers;
  readonly #clients: Clients;
  readonly #ends: LogEnds;
  readonly #owned: () => Owned;
  /** Broker addresses by node ID. */
  #known = new Map<number, string>();
  /** Node IDs by topic, then by partition. */
  readonly #leaders = new Map<string, readonly number[]>();
  /** Topics with a partition whose leader is unknown or has moved. */
  readonly #unsettled = new Set<string>();
  #leadersAtMs = Number.NEGATIVE_INFINITY;
  #looks = 0;
  /** Topics of the partitions that were owned at the last fetch of log end offsets. */
  #topics: readonly string[] = [];
  #endsAtMs: number | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** Starts immediately. The caller closes it. @param owned returns the partitions to check. */
  constructor(clients: Clients, ends: LogEnds, owned: () => Owned) {
    this.#clients = clients;
    this.#brokers = new Brokers({ shared: clients.connections() });
    this.#ends = ends;
    this.#owned = owned;
    void this.#live();
  }

  throttledMs(): ReadonlyMap<string, number> {
    return this.#clients.throttles.totalsMs();
  }

  /** All brokers of the cluster; before the first response, the configured addresses. */
  brokers(): readonly BrokerState[] {
    const { outages, connection } = this.#clients;
    const addresses = this.#known.size === 0 ? connection.brokers : [...this.#known.values()];
    return addresses.map((broker) => ({ broker, outage: outages.outageOf(broker) }));
  }

  endsAtMs(): number | null {
    return this.#endsAtMs;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#brokers.close();
  }

  async #live(): Promise<void> {
    const beganAtMs = performance.now();
    await this.#look();
    if (this.#isClosed) return;
    const leftMs = Math.max(0, beganAtMs + LOOK_EVERY_MS - performance.now());
    this.#timer = setTimeout(() => void this.#live(), leftMs).unref();
  }

  async #look(): Promise<void> {
    const withEnds = this.#looks % 2 === 0;
    const owned = withEnds ? this.#owned() : [];
    if (withEnds) {
      this.#topics = [...new Set(owned.map(({ topic }) => topic))];
      this.#ends.keep(owned);
    }
    this.#looks += 1;
    const topics = this.#topics;
    const responding = await this.#queryAll(owned);
    const isWhole = responding.length > 0 && responding.length === this.#known.size;
    if (withEnds && isWhole) this.#endsAtMs = this.#clients.clock.nowMs();
    const isOld = performance.now() - this.#leadersAtMs >= LEADERS_AGE_MAX_MS;
    if (isOld) this.#keep(new Set(topics));
    const wanted = topics.filter(
      (topic) => this.#unsettled.has(topic) || !this.#leaders.has(topic),
    );
    if (responding.length > 0 && wanted.length === 0 && !isOld) return;
    const isNews = this.#known.size === 0 || wanted.length > 0;
    const isDone = await this.#lookup(responding[0] ?? null, isOld ? topics : wanted);
    if (isDone && isOld) this.#leadersAtMs = performance.now();
    if (!isDone || !isNews) return;
    const all = await this.#queryAll(this.#owned());
    if (all.length === this.#known.size) this.#endsAtMs = this.#clients.clock.nowMs();
  }

  /** Returns the nodes that responded. */
  async #queryAll(owned: Owned): Promise<readonly number[]> {
    const ofNode = Map.groupBy(owned, (each) => this.#leaderOf(each));
    const nodes = [...this.#known.keys()];
    const responses = await Promise.all(
      nodes.map((node) => this.#query(node, ofNode.get(node) ?? [])),
    );
    return nodes.filter((_, index) => responses[index] === true);
  }

  async #query(nodeId: number, owned: Owned): Promise<boolean> {
    const broker = this.#known.get(nodeId) ?? "";
    const { outages, throttles } = this.#clients;
    try {
      const isForLife = owned.length === 0;
      // A throttled response also shows that the broker is alive.
      if (!isForLife || !throttles.isThrottled(broker))
        await inTime(this.#queryEnds(nodeId, owned), RESPONSE_LIMIT_MS);
      outages.recordResponse(broker);
      return true;
    } catch (error) {
      this.#brokers.drop(nodeId);
      if (!this.#isClosed && !throttles.isThrottled(broker))
        outages.recordSilence(broker, error as Error);
      return false;
    }
  }

  async #queryEnds(nodeId: number, owned: Owned): Promise<void> {
    const latest = await this.#offsets(nodeId, owned, LATEST);
    const atMs = Date.now();
    for (const { topic, partition, offset } of latest) {
      this.#ends.setEnd(topic, partition, { end: offset, atMs });
    }
    const unread = owned.filter((each) => this.#ends.needsFirst(each));
    if (unread.length === 0) return;
    for (const { topic, partition, offset } of await this.#offsets(nodeId, unread, EARLIEST)) {
      this.#ends.setFirst(topic, partition, offset);
    }
  }

  async #offsets(
    nodeId: number,
    wanted: readonly PartitionPlace[],
    timestamp: typeof LATEST | typeof EARLIEST,
  ) {
    const listed = await listOffsets(await this.#brokers.leader(nodeId), wanted, timestamp);
    for (const { topic, errorCode } of listed) {
      if (errorCode !== 0) this.#unsettled.add(topic);
    }
    return listed.filter(({ errorCode }) => errorCode === 0);
  }

  #leaderOf({ topic, partition }: PartitionPlace): number | undefined {
    return this.#leaders.get(topic)?.[partition];
  }

  async #lookup(nodeId: number | null, topics: readonly string[]): Promise<boolean> {
    const chunks = topics.length === 0 ? [[]] : inChunks(topics);
    try {
      for (const chunk of chunks)
        this.#learn(await inTime(this.#metadata(nodeId, chunk), RESPONSE_LIMIT_MS));
      return true;
    } catch (error) {
      if (nodeId === null && !this.#isClosed) this.#noneResponded(error as Error);
      return false;
    }
  }

  #metadata(nodeId: number | null, topics: readonly string[]): Promise<ClusterMetadata> {
    return nodeId === null
      ? this.#brokers.metadata(topics)
      : this.#brokers.metadataFrom(nodeId, topics);
  }

  #learn({ brokers, topics }: ClusterMetadata): void {
    this.#known = new Map(
      brokers.map(({ nodeId, host, port }) => [nodeId, hostAndPort(host, port)]),
    );
    for (const found of topics) {
      const topic = found.name ?? "";
      const leaders = found.partitions.map(() => -1);
      for (const { partitionIndex, leaderId } of found.partitions)
        leaders[partitionIndex] = leaderId;
      this.#leaders.set(topic, leaders);
      if (isUsable(found)) this.#unsettled.delete(topic);
      else this.#unsettled.add(topic);
    }
  }

  /** Drops all topics except these. */
  #keep(topics: ReadonlySet<string>): void {
    for (const topic of this.#leaders.keys()) if (!topics.has(topic)) this.#leaders.delete(topic);
    for (const topic of this.#unsettled) if (!topics.has(topic)) this.#unsettled.delete(topic);
  }

  /** Call after the known brokers have been recorded as unreachable. */
  #noneResponded(error: Error): void {
    this.#brokers.nextSeed();
    if (this.#known.size > 0 || this.#clients.throttles.isThrottled()) return;
    for (const broker of this.#clients.connection.brokers) {
      this.#clients.outages.recordSilence(broker, error);
    }
  }
}

function inChunks(topics: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(topics.length / TOPICS_MAX);
  return Array.from({ length: count }, (_, at) =>
    topics.slice(at * TOPICS_MAX, (at + 1) * TOPICS_MAX),
  );
}
