/**
 * The connections to the brokers that all members of a process share. A broker responds to the requests of a
 * connection in order, so a request that has to wait blocks the requests behind it.
 *
 *   request                          a broker may take              connection
 *   Fetch                            as long as it may wait for     one for the fetches of all
 *                                    records
 *   OffsetCommit                     until it is replicated         one for the commits of all
 *   JoinGroup, SyncGroup             until all members have joined  an unused one, or a new one
 *   any other (heartbeats, leaving,  no time                        one for all of these
 *   committed offsets, metadata)
 *
 * After each response, a broker that throttles a client stops reading from the connection for up to a second. Fetches
 * wait until it reads again. Requests for which the connection for commits, or the one for all others, is blocked use
 * another connection, so that a thousand heartbeats do not wait for one another until their sessions end. Heartbeats
 * that the broker has not read yet are sent again on that connection.
 *
 * Unused connections are closed: connections for joins almost immediately, the others after a minute.
 */

import { hostAndPort } from "../../runtime/listening.ts";
import type { GroupResponse } from "../wire/group-requests.ts";
import { COMMIT } from "../wire/request-kinds.ts";
import type { Address } from "./address.ts";
import { BrokerConnection, type DirectRequest } from "./broker-connection.ts";
import type { FetchRequest } from "./consumer-group.ts";
import type { FetchResult, TakeResult } from "./fetch-result.ts";
import type { BrokerPool, Protocol } from "./internals.ts";
import { type FetchOutages, SharedFetch } from "./shared-fetch.ts";

const JOIN_GROUP = 11;
const SYNC_GROUP = 14;

const LOOK_EVERY_MS = 2_500;
const UNUSED_MS = 60_000;
/** A member that has joined sends a SyncGroup next. */
const UNUSED_JOIN_MS = 250;
/** Maximum connections to one broker: a thousand members that start together should not open a thousand connections. */
const CONNECTIONS_MAX = 256;
/** The limit while a broker throttles, because each connection handles only about one request per second then. */
const WAITING_PER_CONNECTION = 1;

export class SharedConnections {
  readonly #source: BrokerPool;
  readonly #brokers = new Map<string, SharedBroker>();
  readonly #outagesOf: (address: Address) => FetchOutages;
  readonly #isThrottled: (address: Address) => boolean;
  readonly #looks: NodeJS.Timeout;

  /**
   * @param source opens connections.
   * @param isThrottled returns `true` while the broker throttles any connection of this process.
   */
  constructor(
    source: BrokerPool,
    outagesOf: (address: Address) => FetchOutages,
    isThrottled: (address: Address) => boolean,
  ) {
    this.#source = source;
    this.#isThrottled = isThrottled;
    this.#outagesOf = outagesOf;
    this.#looks = setInterval(() => {
      for (const broker of this.#brokers.values()) broker.look();
    }, LOOK_EVERY_MS).unref();
  }

  broker({ host, port }: Address): SharedBroker {
    const key = hostAndPort(host, port);
    let broker = this.#brokers.get(key);
    if (broker === undefined) {
      const address = { host, port };
      broker = new SharedBroker(this.#source, address, {
        outages: this.#outagesOf(address),
        isThrottled: () => this.#isThrottled(address),
      });
      this.#brokers.set(key, broker);
    }
    return broker;
  }

  /** Closes all connections; requests in flight fail. */
  close(): void {
    clearInterval(this.#looks);
    for (const broker of this.#brokers.values()) broker.close();
  }
}

export class SharedBroker {
  /** The connection for requests that get an immediate response. */
  readonly connection: BrokerConnection;
  readonly #commits: BrokerConnection;
  readonly #joins: ExclusiveConnections;
  /** Connections that are used while the broker throttles. */
  readonly #spare: ExclusiveConnections;
  /**
   * There is more than one only if two groups read the same partition, because a session can contain a partition only
   * once.
   */
  readonly #fetches: SharedFetch[] = [];
  readonly #createConnection: () => BrokerConnection;
  readonly #outages: FetchOutages;
  readonly #isThrottled: () => boolean;

  constructor(
    source: BrokerPool,
    address: Address,
    {
      outages,
      isThrottled,
    }: { readonly outages: FetchOutages; readonly isThrottled: () => boolean },
  ) {
    this.#outages = outages;
    this.#isThrottled = isThrottled;
    this.#createConnection = () => new BrokerConnection(source, address, { isGathered: false });
    this.#joins = new ExclusiveConnections(this.#createConnection, {
      waitingPerConnection: 0,
      unusedMs: UNUSED_JOIN_MS,
    });
    this.#spare = new ExclusiveConnections(this.#createConnection, {
      waitingPerConnection: WAITING_PER_CONNECTION,
      unusedMs: UNUSED_MS,
    });
    const elsewhere = <Result>(request: DirectRequest<Result>): Promise<Result> =>
      this.#spare.use((connection) => connection.sendDirect(request));
    this.connection = new BrokerConnection(source, address, { isGathered: true, elsewhere });
    this.#commits = new BrokerConnection(source, address, { isGathered: true });
  }

  send(apiKey: number, protocol: Protocol, signal: AbortSignal): Promise<unknown> {
    const send = (connection: BrokerConnection): Promise<unknown> => connection.send(protocol);
    if (apiKey === JOIN_GROUP || apiKey === SYNC_GROUP)
      return this.#joins.use((connection) => untilAborted(connection, send, signal));
    return this.#by(apiKey, send);
  }

  sendDirect(request: DirectRequest<GroupResponse>): Promise<GroupResponse> {
    return this.#by(request.apiKey, (connection) => connection.sendDirect(request));
  }

  #by<Result>(
    apiKey: number,
    send: (connection: BrokerConnection) => Promise<Result>,
  ): Promise<Result> {
    const connection = apiKey === COMMIT.apiKey ? this.#commits : this.connection;
    // All connections share the same quota.
    const wouldWait = connection.wouldWait || (connection.isInUse && this.#isThrottled());
    return wouldWait ? this.#spare.use(send) : send(connection);
  }

  fetch(member: object, request: FetchRequest, take?: TakeResult): Promise<FetchResult> {
    let fetch = this.#fetches.find((each) => !each.isTaken(member, request));
    if (fetch === undefined) {
      fetch = new SharedFetch(this.#createConnection(), this.#outages);
      this.#fetches.push(fetch);
    }
    if (this.#fetches.length > 1) this.endFetch(member);
    return fetch.fetch(member, request, take);
  }

  /** Ends the member's fetch without records. */
  endFetch(member: object): void {
    for (const fetch of this.#fetches) fetch.end(member);
  }

  /** Time of the last response that did not end the member's fetch, in epoch milliseconds. */
  respondedAtMs(member: object): number | null {
    return latest(this.#fetches.map((fetch) => fetch.respondedAtMs(member)));
  }

  /** Call when the member stops fetching. */
  leave(member: object): void {
    for (const fetch of this.#fetches) fetch.leave(member);
  }

  look(): void {
    for (const fetch of this.#fetches) fetch.look();
    this.connection.closeIfUnused(UNUSED_MS);
    this.#commits.closeIfUnused(UNUSED_MS);
    for (const { connection } of this.#fetches) connection.closeIfUnused(UNUSED_MS);
  }

  close(): void {
    this.connection.close();
    this.#commits.close();
    for (const { connection } of this.#fetches) connection.close();
    this.#joins.close();
    this.#spare.close();
  }
}

/** The latest of the known times; null if none is known. */
export function latest(times: readonly (number | null)[]): number | null {
  const known = times.filter((atMs) => atMs !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/**
 * Stops waiting when the signal aborts. Otherwise a stopped member would occupy a connection until the coordinator
 * responds.
 */
async function untilAborted<Result>(
  connection: BrokerConnection,
  send: (connection: BrokerConnection) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const abort = (): void => connection.close();
  signal.addEventListener("abort", abort);
  try {
    signal.throwIfAborted();
    return await send(connection);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

interface ExclusiveConnectionsOptions {
  /** How many requests may wait for each connection before another connection is opened. */
  readonly waitingPerConnection: number;
  /** A connection that has been unused for this time is closed. */
  readonly unusedMs: number;
}

/** Connections for requests that must not wait for other requests. Each connection has one request at a time. */
class ExclusiveConnections {
  readonly #createConnection: () => BrokerConnection;
  readonly #waitingPerConnection: number;
  readonly #unusedMs: number;
  readonly #connections = new Set<BrokerConnection>();
  readonly #free: BrokerConnection[] = [];
  readonly #waiting: ((connection: BrokerConnection) => void)[] = [];
  #look: NodeJS.Timeout | undefined;

  constructor(
    createConnection: () => BrokerConnection,
    { waitingPerConnection, unusedMs }: ExclusiveConnectionsOptions,
  ) {
    this.#createConnection = createConnection;
    this.#waitingPerConnection = waitingPerConnection;
    this.#unusedMs = unusedMs;
  }

  async use<Result>(send: (connection: BrokerConnection) => Promise<Result>): Promise<Result> {
    const connection = await this.#take();
    try {
      return await send(connection);
    } finally {
      const forMs = connection.throttledForMs;
      if (forMs === 0) this.#leave(connection);
      else setTimeout(() => this.#leave(connection), forMs).unref();
    }
  }

  #leave(connection: BrokerConnection): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next(connection);
      return;
    }
    this.#free.push(connection);
    const everyMs = Math.min(this.#unusedMs, LOOK_EVERY_MS);
    this.#look ??= setInterval(() => this.#closeUnused(), everyMs).unref();
  }

  #closeUnused(): void {
    for (const connection of this.#free.splice(0)) {
      connection.closeIfUnused(this.#unusedMs);
      if (connection.isOpen) this.#free.push(connection);
      else this.#connections.delete(connection);
    }
    if (this.#free.length > 0) return;
    clearInterval(this.#look);
    this.#look = undefined;
  }

  close(): void {
    clearInterval(this.#look);
    for (const connection of this.#connections) connection.close();
  }

  #take(): Promise<BrokerConnection> {
    const free = this.#free.pop();
    if (free !== undefined) return Promise.resolve(free);
    const { size } = this.#connections;
    const isRoom = this.#waiting.length < size * this.#waitingPerConnection;
    if (isRoom || size >= CONNECTIONS_MAX)
      return new Promise((resolve) => this.#waiting.push(resolve));
    const connection = this.#createConnection();
    this.#connections.add(connection);
    return Promise.resolve(connection);
  }
}
