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
 * After each response, a broker that throttles a client stops reading from the connection for the throttle time.
 * Fetches wait until it reads again. If the connection for commits, or the one for all other requests, is blocked,
 * further requests use a spare connection, so that a thousand heartbeats do not wait for one another until their
 * sessions expire. Heartbeats that the broker has not read yet are sent again on a spare connection.
 *
 * The connections for joins are limited, and each waits for the members of other processes, whose connections for joins
 * are limited too. So a SyncGroup comes before all JoinGroups: if the leaders of groups had to wait for other groups'
 * members, and these for the leaders, the groups would only continue when their rebalances time out.
 *
 * Unused connections are closed: those for joins after 250 ms, the others after a minute.
 */

import { hostAndPort } from "../../base/runtime/listening.ts";
import type { BrokerAddress } from "./address.ts";
import type { Broker, BrokerConnection, CreateBroker } from "./broker-connection.ts";
import type { Request } from "./request.ts";

const OFFSET_COMMIT = 8;
const JOIN_GROUP = 11;
const SYNC_GROUP = 14;

const LOOK_EVERY_MS = 2_500;
const UNUSED_MS = 60_000;
/** A member that has joined sends a SyncGroup next. */
const UNUSED_JOIN_MS = 250;
/** Maximum connections to a broker for joins, and the same for spare ones. A thousand members may start together. */
const CONNECTIONS_MAX = 256;
/**
 * How many requests may wait for each connection while the broker throttles. A connection then handles only about one
 * request per second.
 */
const WAITING_PER_CONNECTION = 1;

export class SharedConnections {
  readonly #createBroker: CreateBroker;
  readonly #seeds: readonly BrokerAddress[];
  readonly #brokers = new Map<string, SharedBroker>();
  readonly #isThrottled: (address: BrokerAddress) => boolean;
  readonly #looks: NodeJS.Timeout;
  #seed = 0;

  /**
   * @param createBroker creates the connections.
   * @param seeds the configured addresses.
   * @param isThrottled returns `true` while the broker throttles any connection of this process.
   */
  constructor(
    createBroker: CreateBroker,
    seeds: readonly BrokerAddress[],
    isThrottled: (address: BrokerAddress) => boolean,
  ) {
    this.#createBroker = createBroker;
    this.#seeds = seeds;
    this.#isThrottled = isThrottled;
    this.#looks = setInterval(() => {
      for (const broker of this.#brokers.values()) broker.look();
    }, LOOK_EVERY_MS).unref();
  }

  broker(address: BrokerAddress): SharedBroker {
    const key = hostAndPort(address.host, address.port);
    let broker = this.#brokers.get(key);
    if (broker === undefined) {
      broker = new SharedBroker(this.#createBroker, address, () => this.#isThrottled(address));
      this.#brokers.set(key, broker);
    }
    return broker;
  }

  /** Sends a request that any broker can serve. After a failure, the next one goes to another address. */
  async any<Result>(send: (broker: Broker) => Promise<Result>): Promise<Result> {
    const seed = this.#seed;
    const address = this.#seeds[seed % this.#seeds.length];
    if (address === undefined) throw new Error("no address of a broker is configured");
    try {
      return await send(await this.broker(address).open());
    } catch (error) {
      this.nextSeed(seed);
      throw error;
    }
  }

  /** @param after the position of the address that failed. If another caller has moved on already, nothing changes. */
  nextSeed(after: number = this.#seed): void {
    if (this.#seed === after) this.#seed += 1;
  }

  /** Closes all connections; requests in flight fail. */
  close(): void {
    clearInterval(this.#looks);
    for (const broker of this.#brokers.values()) broker.close();
  }
}

export class SharedBroker {
  /** For requests that get an immediate response. */
  readonly #connection: BrokerConnection;
  readonly #commits: BrokerConnection;
  readonly #joins: ExclusiveConnections;
  /** Connections that are used while the broker throttles. */
  readonly #spare: ExclusiveConnections;
  readonly #createBroker: CreateBroker;
  readonly #address: BrokerAddress;
  readonly #isThrottled: () => boolean;

  constructor(createBroker: CreateBroker, address: BrokerAddress, isThrottled: () => boolean) {
    this.#createBroker = createBroker;
    this.#address = address;
    this.#isThrottled = isThrottled;
    const create = (): BrokerConnection => this.createConnection();
    this.#joins = new ExclusiveConnections(create, {
      waitingPerConnection: 0,
      unusedMs: UNUSED_JOIN_MS,
    });
    this.#spare = new ExclusiveConnections(create, {
      waitingPerConnection: WAITING_PER_CONNECTION,
      unusedMs: UNUSED_MS,
    });
    const elsewhere = <Result>(request: Request<Result>): Promise<Result> =>
      this.#spare.use((connection) => connection.send(request));
    this.#connection = createBroker(address, { isGathered: true, elsewhere });
    this.#commits = createBroker(address, { isGathered: true });
  }

  /** A connection of its own, which the caller closes. */
  createConnection(): BrokerConnection {
    return this.#createBroker(this.#address);
  }

  /** The connection for requests that get an immediate response. It must not be closed. */
  open(): Promise<Broker> {
    return this.#connection.open();
  }

  /** @param signal ends a join that waits; other requests are short. */
  async request<Result>(request: Request<Result>, signal: AbortSignal): Promise<Result> {
    const { apiKey } = request.kind;
    const send = (connection: BrokerConnection): Promise<Result> => connection.send(request);
    if (apiKey === JOIN_GROUP || apiKey === SYNC_GROUP) {
      const isFirst = apiKey === SYNC_GROUP;
      return await this.#joins.use((connection) => untilAborted(connection, send, signal), isFirst);
    }
    const connection = apiKey === OFFSET_COMMIT ? this.#commits : this.#connection;
    // All connections share the same quota.
    const wouldWait = connection.wouldWait || (connection.isInUse && this.#isThrottled());
    return await (wouldWait ? this.#spare.use(send) : send(connection));
  }

  look(): void {
    this.#connection.closeIfUnused(UNUSED_MS);
    this.#commits.closeIfUnused(UNUSED_MS);
  }

  close(): void {
    this.#connection.close();
    this.#commits.close();
    this.#joins.close();
    this.#spare.close();
  }
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

  /** @param isFirst `true` if the request comes before all others that wait for a connection. */
  async use<Result>(
    send: (connection: BrokerConnection) => Promise<Result>,
    isFirst = false,
  ): Promise<Result> {
    const connection = await this.#take(isFirst);
    try {
      return await send(connection);
    } finally {
      const forMs = connection.throttledForMs;
      if (forMs === 0) this.#leave(connection);
      else setTimeout(() => this.#leave(connection), forMs).unref();
    }
  }

  #leave(connection: BrokerConnection): void {
    this.#free.push(connection);
    // The response may be followed by a request that comes first.
    if (this.#waiting.length > 0) setImmediate(() => this.#serve());
    const everyMs = Math.min(this.#unusedMs, LOOK_EVERY_MS);
    this.#look ??= setInterval(() => this.#closeUnused(), everyMs).unref();
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const connection = this.#free.pop();
      if (connection === undefined) return;
      this.#waiting.shift()?.(connection);
    }
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

  #take(isFirst: boolean): Promise<BrokerConnection> {
    const isNext = isFirst || this.#waiting.length === 0;
    const free = isNext ? this.#free.pop() : undefined;
    if (free !== undefined) return Promise.resolve(free);
    const { size } = this.#connections;
    const isRoom = this.#waiting.length < size * this.#waitingPerConnection;
    if (isRoom || size >= CONNECTIONS_MAX)
      return new Promise((resolve) => {
        if (isFirst) this.#waiting.unshift(resolve);
        else this.#waiting.push(resolve);
      });
    const connection = this.#createConnection();
    this.#connections.add(connection);
    return Promise.resolve(connection);
  }
}
