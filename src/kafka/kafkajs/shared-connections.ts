/**
 * The connections to the brokers that all members of a process share. A broker answers the requests
 * of a connection one after the other, so that one that has to wait holds up those behind it.
 *
 *   request                        how long a broker may take      goes by
 *   Fetch                          as long as it may wait for      a connection for the fetches of all
 *                                  records
 *   OffsetCommit                   until it is replicated          a connection for the commits of all
 *   JoinGroup, SyncGroup           until all members are there     one that is free, or a new one
 *   any other (heartbeats, leaving,  no time                       a connection for all of these
 *   committed offsets, metadata)
 *
 * Connections that nobody uses are closed: those for joins at once, the others after a minute.
 */

import { hostAndPort } from "../../runtime/listening.ts";
import type { GroupAnswer } from "../wire/group-requests.ts";
import { COMMIT } from "../wire/request-kinds.ts";
import type { Address } from "./address.ts";
import type { FetchRequest } from "./consumer-group.ts";
import type { FetchAnswer, TakeAnswer } from "./fetch-answer.ts";
import type { BrokerPool, Protocol } from "./internals.ts";
import { Line, type Question } from "./line.ts";
import { type FetchOutages, SharedFetch } from "./shared-fetch.ts";

const JOIN_GROUP = 11;
const SYNC_GROUP = 14;

const LOOK_EVERY_MS = 2_500;
const UNUSED_MS = 60_000;
/** A member that has joined asks to sync next. */
const UNUSED_JOIN_MS = 250;
/** To one broker. A thousand members that begin together should not open a thousand connections. */
const JOINS_MAX = 256;

export class SharedConnections {
  readonly #source: BrokerPool;
  readonly #brokers = new Map<string, SharedBroker>();
  readonly #outagesOf: (address: Address) => FetchOutages;
  readonly #looks: NodeJS.Timeout;

  /** @param source makes connections. */
  constructor(source: BrokerPool, outagesOf: (address: Address) => FetchOutages) {
    this.#source = source;
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
      broker = new SharedBroker(this.#source, address, this.#outagesOf(address));
      this.#brokers.set(key, broker);
    }
    return broker;
  }

  /** Requests under way fail. */
  close(): void {
    clearInterval(this.#looks);
    for (const broker of this.#brokers.values()) broker.close();
  }
}

export class SharedBroker {
  /** For requests that are answered at once. */
  readonly line: Line;
  readonly #commits: Line;
  readonly #joins: Joins;
  /** More than one only where two groups read the same partition: a session has it once. */
  readonly #fetches: SharedFetch[] = [];
  readonly #newLine: () => Line;
  readonly #outages: FetchOutages;

  constructor(source: BrokerPool, address: Address, outages: FetchOutages) {
    this.#outages = outages;
    this.#newLine = () => new Line(source, address, { isGathered: false });
    this.line = new Line(source, address, { isGathered: true });
    this.#commits = new Line(source, address, { isGathered: true });
    this.#joins = new Joins(this.#newLine);
  }

  send(apiKey: number, protocol: Protocol, signal: AbortSignal): Promise<unknown> {
    if (apiKey === COMMIT.apiKey) return this.#commits.send(protocol);
    if (apiKey === JOIN_GROUP || apiKey === SYNC_GROUP) return this.#joins.send(protocol, signal);
    return this.line.send(protocol);
  }

  ask(question: Question<GroupAnswer>): Promise<GroupAnswer> {
    return (question.apiKey === COMMIT.apiKey ? this.#commits : this.line).ask(question);
  }

  fetch(member: object, request: FetchRequest, take?: TakeAnswer): Promise<FetchAnswer> {
    let fetch = this.#fetches.find((each) => !each.isTaken(member, request));
    if (fetch === undefined) {
      fetch = new SharedFetch(this.#newLine(), this.#outages);
      this.#fetches.push(fetch);
    }
    if (this.#fetches.length > 1) this.endFetch(member);
    return fetch.fetch(member, request, take);
  }

  /** The member's fetch ends with nothing. */
  endFetch(member: object): void {
    for (const fetch of this.#fetches) fetch.end(member);
  }

  /** The last answer that the member's fetch has waited through, in epoch milliseconds. */
  answeredAtMs(member: object): number | null {
    return latest(this.#fetches.map((fetch) => fetch.answeredAtMs(member)));
  }

  /** The member fetches no more. */
  leave(member: object): void {
    for (const fetch of this.#fetches) fetch.leave(member);
  }

  look(): void {
    for (const fetch of this.#fetches) fetch.look();
    this.line.closeIfUnused(UNUSED_MS);
    this.#commits.closeIfUnused(UNUSED_MS);
    for (const { line } of this.#fetches) line.closeIfUnused(UNUSED_MS);
  }

  close(): void {
    this.line.close();
    this.#commits.close();
    for (const { line } of this.#fetches) line.close();
    this.#joins.close();
  }
}

/** Null: none is known. */
export function latest(times: readonly (number | null)[]): number | null {
  const known = times.filter((atMs) => atMs !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** Connections for requests that wait for other members, each of them for one request at a time. */
class Joins {
  readonly #newLine: () => Line;
  readonly #lines = new Set<Line>();
  readonly #free: Line[] = [];
  readonly #waiting: ((line: Line) => void)[] = [];
  #look: NodeJS.Timeout | undefined;

  constructor(newLine: () => Line) {
    this.#newLine = newLine;
  }

  async send(protocol: Protocol, signal: AbortSignal): Promise<unknown> {
    const line = await this.#take();
    // A member that has given up must not keep a connection until the coordinator answers.
    const giveUp = (): void => line.close();
    signal.addEventListener("abort", giveUp);
    try {
      signal.throwIfAborted();
      return await line.send(protocol);
    } finally {
      signal.removeEventListener("abort", giveUp);
      const next = this.#waiting.shift();
      if (next === undefined) this.#leave(line);
      else next(line);
    }
  }

  #leave(line: Line): void {
    this.#free.push(line);
    this.#look ??= setInterval(() => this.#closeUnused(), UNUSED_JOIN_MS).unref();
  }

  #closeUnused(): void {
    for (const line of this.#free.splice(0)) {
      line.closeIfUnused(UNUSED_JOIN_MS);
      if (line.isOpen) this.#free.push(line);
      else this.#lines.delete(line);
    }
    if (this.#free.length > 0) return;
    clearInterval(this.#look);
    this.#look = undefined;
  }

  close(): void {
    clearInterval(this.#look);
    for (const line of this.#lines) line.close();
  }

  #take(): Promise<Line> {
    const free = this.#free.pop();
    if (free !== undefined) return Promise.resolve(free);
    if (this.#lines.size >= JOINS_MAX) return new Promise((resolve) => this.#waiting.push(resolve));
    const line = this.#newLine();
    this.#lines.add(line);
    return Promise.resolve(line);
  }
}
