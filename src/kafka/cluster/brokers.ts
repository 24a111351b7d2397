/**
 * Manages the connections to the brokers that lead partitions: opens a connection when it is needed, and drops it when
 * it fails.
 */

import { hearingLimit } from "../../runtime/hearing-limit.ts";
import type { Address } from "../kafkajs/address.ts";
import {
  type Broker,
  type CreateBroker,
  cutOff,
  request,
  sendProduce,
} from "../kafkajs/internals.ts";
import { rawRequest, readTopicIds } from "../kafkajs/raw-request.ts";
import type { SharedConnections } from "../kafkajs/shared-connections.ts";
import type { ProduceRequest } from "../wire/encode-produce.ts";
import { encodeCoordinatorsQuery, readCoordinators } from "../wire/groups-offsets.ts";
import { COORDINATORS, LEADERS } from "../wire/request-kinds.ts";
import { errorSentence, protocolError } from "./kafka-error.ts";
import { type ClusterMetadata, fetchMetadata } from "./topic-metadata.ts";

interface CoordinatorResponse {
  readonly errorCode: number;
  readonly coordinator: Address & { readonly nodeId: number };
}

export interface ProduceResponse {
  readonly topics: readonly {
    readonly topicName: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly errorCode: number;
      /** The broker's time in milliseconds, if the topic's records have it; otherwise -1. */
      readonly logAppendTime?: string;
    }[];
  }[];
}

const GROUP = 0;

interface BrokersOptions {
  /** Connections for requests that any broker can serve. */
  readonly shared: SharedConnections;
  /** Creates connections that only this object uses; if absent, all are shared. */
  readonly createBroker?: CreateBroker;
}

export class Brokers {
  readonly #shared: SharedConnections;
  readonly #createBroker: CreateBroker | null;
  readonly #addresses = new Map<number, Address>();
  readonly #brokers = new Map<number, Broker>();
  /** Connections that are being opened; concurrent callers for the same broker share one. */
  readonly #connecting = new Map<number, Promise<Broker>>();

  constructor({ shared, createBroker }: BrokersOptions) {
    this.#shared = shared;
    this.#createBroker = createBroker ?? null;
  }

  /** The number of brokers known so far. */
  get count(): number {
    return this.#addresses.size;
  }

  /**
   * Queries any broker. Also records the brokers' addresses.
   *
   * @param topics at least one, or null for all.
   */
  async metadata(topics: readonly string[] | null): Promise<ClusterMetadata> {
    const metadata = await this.any((broker) => fetchMetadata(broker, topics));
    for (const broker of metadata.brokers) this.#learn(broker);
    return metadata;
  }

  /** Queries any broker for leaders. @param topics as encoded by `encodeLeadersRequest`. */
  leaders(topics: Buffer): Promise<Buffer> {
    const request = { encode: () => topics, read: (payload: Buffer) => payload };
    return this.any((broker) => rawRequest(broker, LEADERS, request));
  }

  /** Queries any broker for topic IDs. */
  topicIds(topics: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.any((broker) => readTopicIds(broker, topics));
  }

  /** Queries a known broker. */
  async metadataFrom(nodeId: number, topics: readonly string[]): Promise<ClusterMetadata> {
    const metadata = await fetchMetadata(await this.leader(nodeId), topics);
    for (const broker of metadata.brokers) this.#learn(broker);
    return metadata;
  }

  /** Makes `metadata` use the next of the configured addresses. */
  nextSeed(): void {
    this.#shared.nextSeed();
  }

  /** Sends a request that any broker can serve. */
  any<Result>(send: (broker: Broker) => Promise<Result>): Promise<Result> {
    return this.#shared.any(send);
  }

  initProducerId(): Promise<{
    readonly errorCode: number;
    readonly producerId: string;
    readonly producerEpoch: number;
  }> {
    return this.any((broker) =>
      request(broker, "InitProducerId", { transactionalId: null, transactionTimeout: 60_000 }),
    );
  }

  /** Connects to the group's coordinator. Throws if there is currently none. */
  async coordinator(groupId: string): Promise<Broker> {
    const { nodeId } = await this.coordinatorOf(groupId);
    return this.leader(nodeId);
  }

  /** Queries any broker for the group's coordinator. Throws if there is currently none. */
  async coordinatorOf(groupId: string): Promise<Address & { readonly nodeId: number }> {
    const { errorCode, coordinator } = await this.any((broker) =>
      request<CoordinatorResponse>(broker, "GroupCoordinator", { groupId, coordinatorType: GROUP }),
    );
    if (errorCode !== 0) throw protocolError(errorCode, groupId);
    this.#learn(coordinator);
    return coordinator;
  }

  /** Queries any broker for the coordinators' node IDs by group. Omits groups that currently have none. */
  async coordinatorsOf(groups: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const encode = () => encodeCoordinatorsQuery(groups);
    const found = await this.any((broker) =>
      rawRequest(broker, COORDINATORS, { encode, read: readCoordinators }),
    );
    for (const coordinator of found.values()) this.#learn(coordinator);
    return new Map([...found].map(([group, { nodeId }]) => [group, nodeId]));
  }

  /** Connects to the broker. Throws if the broker is unreachable. */
  async leader(nodeId: number): Promise<Broker> {
    const known = this.#brokers.get(nodeId);
    if (known?.isConnected()) return known;
    let connecting = this.#connecting.get(nodeId);
    if (connecting === undefined) {
      connecting = this.#connect(nodeId).finally(() => this.#connecting.delete(nodeId));
      this.#connecting.set(nodeId, connecting);
    }
    return await connecting;
  }

  async #connect(nodeId: number): Promise<Broker> {
    const known = this.#brokers.get(nodeId);
    const address = this.#addresses.get(nodeId);
    if (address === undefined) throw new Error(`broker ${nodeId} is unknown`);
    const createBroker = this.#createBroker;
    if (createBroker === null) return await this.#shared.broker(address).open();
    const broker = known ?? createBroker(address);
    this.#brokers.set(nodeId, broker);
    await broker.connect();
    return broker;
  }

  /** Returns the response, which contains the errors of individual partitions. Throws if there is no response. */
  produce(broker: Broker, batches: ProduceRequest): Promise<ProduceResponse> {
    return sendProduce(broker, batches);
  }

  /** Call after a failure. Makes the other requests to the broker fail; the next request opens a new connection. */
  drop(nodeId: number): void {
    const broker = this.#brokers.get(nodeId);
    this.#brokers.delete(nodeId);
    if (broker !== undefined) cutOff(broker);
  }

  close(): void {
    for (const nodeId of this.#brokers.keys()) this.#leave(nodeId);
  }

  #learn({ nodeId, host, port }: Address & { readonly nodeId: number }): void {
    const known = this.#addresses.get(nodeId);
    if (known !== undefined && known.host === host && known.port === port) return;
    this.#addresses.set(nodeId, { host, port });
    this.#leave(nodeId);
  }

  /** Closes the connection after requests in flight have received their responses. */
  #leave(nodeId: number): void {
    const broker = this.#brokers.get(nodeId);
    this.#brokers.delete(nodeId);
    broker?.disconnect().catch(() => undefined);
  }
}

/** @throws Error if there is no response within `limitMs`. */
export async function inTime<Result>(result: Promise<Result>, limitMs: number): Promise<Result> {
  using late = hearingLimit(limitMs);
  const { promise, reject } = Promise.withResolvers<never>();
  const over = new Error(`no response within ${limitMs / 1_000} s`);
  late.signal.addEventListener("abort", () => reject(over));
  try {
    return await Promise.race([result, promise]);
  } catch (error) {
    throw error === over ? over : new Error(errorSentence(error), { cause: error });
  }
}
