/**
 * Presents the shared connections to a broker as one client's pool of connections, which is the form that kafkajs
 * expects. When a client is stopped or destroyed, only that client's requests end.
 *
 *   kafkajs requests              result
 *   a connection                  waits until the shared connection is established
 *   the API's versions            returns those of the shared connection
 *   authentication                done: the shared connection has authenticated
 *   to close it                   the client's requests fail, the shared connection stays
 */

import { type InFlightItem, InFlightSet } from "../../runtime/in-flight-set.ts";
import type { GroupResponse } from "../wire/group-requests.ts";
import { FETCH } from "../wire/request-kinds.ts";
import { highestCommon, type RequestKind } from "../wire/request-version.ts";
import type { DirectRequest } from "./broker-connection.ts";
import type { OwnPool, PoolOptions } from "./connection-pools.ts";
import { usePools } from "./connection-pools.ts";
import type { FetchRequest } from "./consumer-group.ts";
import type { FetchResult, TakeResult } from "./fetch-result.ts";
import { closedError, type Protocol } from "./internals.ts";
import { latest, type SharedBroker, type SharedConnections } from "./shared-connections.ts";

const API_VERSIONS = 18;

interface KeyedProtocol extends Protocol {
  readonly request: { readonly apiKey: number };
}

interface Waiting extends InFlightItem {
  readonly abort: (error: Error) => void;
}

/** One kafkajs client on shared connections. */
export class SharedMember {
  readonly #pools = new Set<MemberPool>();
  #isDestroyed = false;

  /** @param socketFactory the client's socket factory. */
  constructor(shared: SharedConnections, socketFactory: object) {
    usePools(socketFactory, (options, createOwn) => {
      return new MemberPool(this, shared.broker(options), options, createOwn);
    });
  }

  /** Registers a pool whose requests may have to be abandoned. */
  addPool(pool: MemberPool): void {
    this.#pools.add(pool);
  }

  removePool(pool: MemberPool): void {
    this.#pools.delete(pool);
  }

  /** Ends the client's fetches in flight without records. */
  endFetches(): void {
    for (const pool of this.#pools) pool.endFetch();
  }

  /** Time of the last response to a fetch that is still in flight, in epoch milliseconds; null if there is none. */
  fetchRespondedAtMs(): number | null {
    return latest([...this.#pools].map((pool) => pool.fetchRespondedAtMs()));
  }

  get isDestroyed(): boolean {
    return this.#isDestroyed;
  }

  /** Makes the client's requests fail, including all later ones. */
  destroy(): void {
    this.#isDestroyed = true;
    for (const pool of this.#pools) pool.abort("the client is closed");
  }
}

export class MemberPool {
  readonly host: string;
  readonly port: number;
  rack: string | null | undefined;
  readonly sasl: unknown;
  readonly connectionTimeout: number;
  /** The connections over which `cutOff` iterates. */
  readonly pool: readonly object[];
  readonly #member: SharedMember;
  readonly #shared: SharedBroker;
  readonly #createOwn: () => OwnPool;
  #own: OwnPool | null = null;
  #isOpen = false;
  readonly #waiting = new InFlightSet<Waiting>();
  /** Aborted to end joins. */
  #ending = new AbortController();

  constructor(
    member: SharedMember,
    shared: SharedBroker,
    options: PoolOptions,
    createOwn: () => OwnPool,
  ) {
    const { host, port, rack, sasl, connectionTimeout } = options;
    this.host = host;
    this.port = port;
    this.rack = rack;
    this.sasl = sasl;
    this.connectionTimeout = connectionTimeout;
    this.#member = member;
    this.#shared = shared;
    this.#createOwn = createOwn;
    const rejectRequests = ({ message }: Error): void => this.abort(message);
    this.pool = [{ authHandlers: null, rejectRequests }];
  }

  /** `true` if the broker accepts the version of a fetch with a session. */
  get sharesFetches(): boolean {
    return this.supports(FETCH);
  }

  isConnected(): boolean {
    return this.#isOpen && this.#shared.connection.isOpen;
  }

  isAuthenticated(): boolean {
    return this.isConnected();
  }

  setVersions(): void {}

  setSupportAuthenticationProtocol(): void {}

  async getConnection(): Promise<object> {
    await this.#untilAbandoned(() => this.#shared.connection.open());
    const authenticate = async (): Promise<void> => {
      this.#isOpen = true;
    };
    return { getSupportAuthenticationProtocol: () => true, authenticate };
  }

  async send(protocol: KeyedProtocol): Promise<unknown> {
    const { apiKey } = protocol.request;
    if (apiKey === API_VERSIONS) return await this.#untilAbandoned(() => this.#versions());
    if (apiKey === FETCH.apiKey) return await this.#sendByOwn(protocol);
    const { signal } = this.#ending;
    return await this.#untilAbandoned(() => this.#shared.send(apiKey, protocol, signal));
  }

  /** `true` if the broker accepts a version of the request. */
  supports({ apiKey, versions }: RequestKind): boolean {
    return highestCommon(versions, this.#shared.connection.versions?.[apiKey]) !== null;
  }

  /** Like `send`, for requests that kafkajs does not encode. */
  sendDirect(request: DirectRequest<GroupResponse>): Promise<GroupResponse> {
    return this.#untilAbandoned(() => this.#shared.sendDirect(request));
  }

  fetch(request: FetchRequest, take?: TakeResult): Promise<FetchResult> {
    return this.#untilAbandoned(() => this.#shared.fetch(this.#member, request, take));
  }

  endFetch(): void {
    this.#shared.endFetch(this.#member);
  }

  fetchRespondedAtMs(): number | null {
    return this.#shared.respondedAtMs(this.#member);
  }

  /** Closes the pool. kafkajs may open it again. */
  async destroy(): Promise<void> {
    this.abort("Closed connection");
    const own = this.#own;
    this.#own = null;
    await own?.destroy();
  }

  abort(why: string): void {
    this.#isOpen = false;
    const ending = this.#ending;
    this.#ending = new AbortController();
    const error = closedError(why, this);
    ending.abort(error);
    for (const { abort } of this.#waiting.all()) abort(error);
    this.#shared.leave(this.#member);
    this.#member.removePool(this);
  }

  async #versions(): Promise<unknown> {
    const { versions } = await this.#shared.connection.open();
    const apiVersions = Object.entries(versions ?? {}).map(([apiKey, each]) => ({
      apiKey: Number(apiKey),
      ...each,
    }));
    return { errorCode: 0, apiVersions };
  }

  /** Sends a fetch without a session on a separate connection, because such fetches block their connection. */
  async #sendByOwn(protocol: KeyedProtocol): Promise<unknown> {
    const { versions } = await this.#shared.connection.open();
    if (this.#own === null) {
      this.#own = this.#createOwn();
      this.#own.setVersions(versions);
      this.#own.setSupportAuthenticationProtocol(true);
    }
    return await this.#own.send(protocol);
  }

  /**
   * A set is used because an abort signal keeps its listeners in a map, which would be recreated each time
   * (`runtime/in-flight-set.ts`).
   */
  #untilAbandoned<Result>(send: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#member.isDestroyed) throw closedError("the client is closed", this);
      this.#member.addPool(this);
      const waiting: Waiting = { place: -1, abort: reject };
      this.#waiting.add(waiting);
      send().then(
        (result) => {
          this.#waiting.delete(waiting);
          resolve(result);
        },
        (error: unknown) => {
          this.#waiting.delete(waiting);
          reject(error);
        },
      );
    });
  }
}
