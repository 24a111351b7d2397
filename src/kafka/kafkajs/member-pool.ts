/**
 * The shared connections to a broker as kafkajs sees them: as the pool of connections that belongs to
 * one client. A client that gives up, or is destroyed, ends its own requests and nobody else's.
 *
 *   kafkajs asks             it is told
 *   for a connection         when the shared one is there
 *   for the API's versions   those of the shared connection
 *   for a log-in             done: the shared connection has done it
 *   to close it              its own requests fail, the shared connection stays
 */

import { type Bagged, InFlightSet } from "../../runtime/in-flight-set.ts";
import type { GroupAnswer } from "../wire/group-requests.ts";
import { FETCH } from "../wire/request-kinds.ts";
import { highestCommon, type RequestKind } from "../wire/request-version.ts";
import type { Question } from "./broker-connection.ts";
import type { OwnPool, PoolOptions } from "./connection-pools.ts";
import { usePools } from "./connection-pools.ts";
import type { FetchRequest } from "./consumer-group.ts";
import type { FetchAnswer, TakeAnswer } from "./fetch-result.ts";
import { closedError, type Protocol } from "./internals.ts";
import { latest, type SharedBroker, type SharedConnections } from "./shared-connections.ts";

const API_VERSIONS = 18;

interface KeyedProtocol extends Protocol {
  readonly request: { readonly apiKey: number };
}

interface Waiting extends Bagged {
  readonly giveUp: (error: Error) => void;
}

/** One client of kafkajs on shared connections. */
export class SharedMember {
  readonly #pools = new Set<MemberPool>();
  #isDestroyed = false;

  /** @param socketFactory the client's. */
  constructor(shared: SharedConnections, socketFactory: object) {
    usePools(socketFactory, (options, createOwn) => {
      return new MemberPool(this, shared.broker(options), options, createOwn);
    });
  }

  /** From now on the pool has requests to give up. */
  uses(pool: MemberPool): void {
    this.#pools.add(pool);
  }

  leaves(pool: MemberPool): void {
    this.#pools.delete(pool);
  }

  /** Its fetches under way end with nothing. */
  endFetches(): void {
    for (const pool of this.#pools) pool.endFetch();
  }

  /** The last answer to a fetch that goes on, in epoch milliseconds; null: there is none. */
  fetchAnsweredAtMs(): number | null {
    return latest([...this.#pools].map((pool) => pool.fetchAnsweredAtMs()));
  }

  get isDestroyed(): boolean {
    return this.#isDestroyed;
  }

  /** Its requests fail, and all later ones. */
  destroy(): void {
    this.#isDestroyed = true;
    for (const pool of this.#pools) pool.giveUp("the client is closed");
  }
}

export class MemberPool {
  readonly host: string;
  readonly port: number;
  rack: string | null | undefined;
  readonly sasl: unknown;
  readonly connectionTimeout: number;
  /** For `cutOff`, which walks through connections. */
  readonly pool: readonly object[];
  readonly #member: SharedMember;
  readonly #shared: SharedBroker;
  readonly #createOwn: () => OwnPool;
  #own: OwnPool | null = null;
  #isOpen = false;
  readonly #waiting = new InFlightSet<Waiting>();
  /** For joins. */
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
    const rejectRequests = ({ message }: Error): void => this.giveUp(message);
    this.pool = [{ authHandlers: null, rejectRequests }];
  }

  /** Whether the broker accepts the version of a fetch that carries a session. */
  get sharesFetches(): boolean {
    return this.knows(FETCH);
  }

  isConnected(): boolean {
    return this.#isOpen && this.#shared.line.isOpen;
  }

  isAuthenticated(): boolean {
    return this.isConnected();
  }

  setVersions(): void {}

  setSupportAuthenticationProtocol(): void {}

  async getConnection(): Promise<object> {
    await this.#untilAbandoned(() => this.#shared.line.open());
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

  /** Whether the broker accepts a version of it. */
  knows({ apiKey, versions }: RequestKind): boolean {
    return highestCommon(versions, this.#shared.line.versions?.[apiKey]) !== null;
  }

  /** As `send` does for requests of kafkajs. */
  ask(question: Question<GroupAnswer>): Promise<GroupAnswer> {
    return this.#untilAbandoned(() => this.#shared.ask(question));
  }

  fetch(request: FetchRequest, take?: TakeAnswer): Promise<FetchAnswer> {
    return this.#untilAbandoned(() => this.#shared.fetch(this.#member, request, take));
  }

  endFetch(): void {
    this.#shared.endFetch(this.#member);
  }

  fetchAnsweredAtMs(): number | null {
    return this.#shared.answeredAtMs(this.#member);
  }

  /** kafkajs may open it again. */
  async destroy(): Promise<void> {
    this.giveUp("Closed connection");
    const own = this.#own;
    this.#own = null;
    await own?.destroy();
  }

  giveUp(why: string): void {
    this.#isOpen = false;
    const ending = this.#ending;
    this.#ending = new AbortController();
    const error = closedError(why, this);
    ending.abort(error);
    for (const { giveUp } of this.#waiting.all()) giveUp(error);
    this.#shared.leave(this.#member);
    this.#member.leaves(this);
  }

  async #versions(): Promise<unknown> {
    const { versions } = await this.#shared.line.open();
    const apiVersions = Object.entries(versions ?? {}).map(([apiKey, each]) => ({
      apiKey: Number(apiKey),
      ...each,
    }));
    return { errorCode: 0, apiVersions };
  }

  /** Fetches without a session wait by themselves, and so they need a connection for them. */
  async #sendByOwn(protocol: KeyedProtocol): Promise<unknown> {
    const { versions } = await this.#shared.line.open();
    if (this.#own === null) {
      this.#own = this.#createOwn();
      this.#own.setVersions(versions);
      this.#own.setSupportAuthenticationProtocol(true);
    }
    return await this.#own.send(protocol);
  }

  /** A signal keeps its listeners in a map, which is then made anew each time (`runtime/in-flight-set.ts`). */
  #untilAbandoned<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#member.isDestroyed) throw closedError("the client is closed", this);
      this.#member.uses(this);
      const waiting: Waiting = { place: -1, giveUp: reject };
      this.#waiting.add(waiting);
      ask().then(
        (answer) => {
          this.#waiting.delete(waiting);
          resolve(answer);
        },
        (error: unknown) => {
          this.#waiting.delete(waiting);
          reject(error);
        },
      );
    });
  }
}
