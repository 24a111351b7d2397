/**
 * Manages the connections to the brokers that lead partitions: opens a connection when it is needed, and drops it when
 * it fails.
 */

import { hearingLimit } from "../../base/runtime/hearing-limit.ts";
import type { BrokerAddress } from "../broker/address.ts";
import type { Broker, BrokerConnection, CreateBroker } from "../broker/broker-connection.ts";
import { ConnectionClosedError } from "../broker/errors.ts";
import type { Request } from "../broker/request.ts";
import { highestCommon } from "../broker/request-version.ts";
import * as requests from "../broker/requests.ts";
import type { SharedConnections } from "../broker/shared-connections.ts";
import { errorSentence, protocolError } from "./kafka-error.ts";
import { type ClusterMetadata, fetchMetadata } from "./topic-metadata.ts";

/** The ID of a topic on a cluster without topic IDs. */
const NO_ID = "00000000-0000-0000-0000-000000000000";
/** COORDINATOR_NOT_AVAILABLE. */
const NO_COORDINATOR = 15;

interface BrokersOptions {
  /** Connections for requests that any broker can serve. */
  readonly shared: SharedConnections;
  /** Creates connections that only this object uses; if absent, all are shared. */
  readonly createBroker?: CreateBroker;
}

export class Brokers {
  readonly #shared: SharedConnections;
  readonly #createBroker: CreateBroker | null;
  readonly #addresses = new Map<number, BrokerAddress>();
  readonly #brokers = new Map<number, BrokerConnection>();

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

  /** Sends a request that any broker can serve. */
  ask<Result>(request: Request<Result>): Promise<Result> {
    return this.any((broker) => broker.send(request));
  }

  /**
   * Queries any broker for the IDs of topics, by name. An ID distinguishes a topic from a deleted topic that had the same
   * name. Topics that do not exist, or have no ID because the broker is older than Kafka 2.8, are omitted.
   */
  async topicIds(topics: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (topics.length === 0) return new Map();
    const found = await this.any(async (broker) => {
      const request = requests.topicIds([...topics], false);
      if (highestCommon(request.kind.versions, broker.versions[request.kind.apiKey]) === null)
        return [];
      return (await broker.send(request)).topics;
    });
    const known = found.filter(({ errorCode, topicId }) => errorCode === 0 && topicId !== NO_ID);
    return new Map(known.flatMap(({ name, topicId }) => (name ? [[name, topicId]] : [])));
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

  /** Connects to the group's coordinator. Throws if there is currently none. */
  async coordinator(groupId: string): Promise<Broker> {
    const { nodeId } = await this.coordinatorOf(groupId);
    return this.leader(nodeId);
  }

  /** Queries any broker for the group's coordinator. Throws if there is currently none. */
  async coordinatorOf(groupId: string): Promise<BrokerAddress & { readonly nodeId: number }> {
    const query = requests.findCoordinator(requests.GROUP_KEY, [groupId]);
    const [coordinator] = (await this.ask(query)).coordinators;
    if (coordinator === undefined || coordinator.errorCode !== 0)
      throw protocolError(coordinator?.errorCode ?? NO_COORDINATOR, groupId);
    this.#learn(coordinator);
    return coordinator;
  }

  /** Queries any broker for the coordinators' node IDs by group. Omits groups that currently have none. */
  async coordinatorsOf(groups: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const query = requests.coordinators(requests.GROUP_KEY, [...groups]);
    const { coordinators } = await this.ask(query);
    const found = coordinators.filter(({ errorCode }) => errorCode === 0);
    for (const coordinator of found) this.#learn(coordinator);
    return new Map(found.map(({ key, nodeId }) => [key, nodeId]));
  }

  /** Connects to the broker. Throws if the broker is unreachable. */
  async leader(nodeId: number): Promise<Broker> {
    const address = this.#addresses.get(nodeId);
    if (address === undefined) throw new Error(`broker ${nodeId} is unknown`);
    const createBroker = this.#createBroker;
    if (createBroker === null) return await this.#shared.broker(address).open();
    const broker = this.#brokers.get(nodeId) ?? createBroker(address);
    this.#brokers.set(nodeId, broker);
    return await broker.open();
  }

  /** Call after a failure. Makes the other requests to the broker fail; the next request opens a new connection. */
  drop(nodeId: number): void {
    const broker = this.#brokers.get(nodeId);
    this.#brokers.delete(nodeId);
    broker?.leave();
    broker?.close(new ConnectionClosedError("The broker did not respond"));
  }

  close(): void {
    for (const nodeId of this.#brokers.keys()) this.#leave(nodeId);
  }

  #learn({ nodeId, host, port }: BrokerAddress & { readonly nodeId: number }): void {
    const known = this.#addresses.get(nodeId);
    if (known !== undefined && known.host === host && known.port === port) return;
    this.#addresses.set(nodeId, { host, port });
    this.#leave(nodeId);
  }

  /** Closes the connection after requests in flight have received their responses. */
  #leave(nodeId: number): void {
    const broker = this.#brokers.get(nodeId);
    this.#brokers.delete(nodeId);
    broker?.leave();
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
