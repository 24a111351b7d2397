/**
 * The leaders of the topics that this process's members read, looked up for all members together. If a lookup
 * finds a change, members move their cursors to the leaders.
 *
 *   a lookup                             is made
 *   of all watched topics                every 5 s, 500 topics per request
 *                                        every 30 s while the brokers throttle this process
 *   of topics whose leader may have      at once, but at least 250 ms after the last such lookup
 *   moved
 *   of a member's topics or topic IDs,   at once, in one request with others in the same turn of the event
 *   as it joins                          loop
 *
 * If a lookup fails, or takes longer than 4 s, the next one uses another address.
 */

import type { BrokerAddress } from "../broker/address.ts";
import type { Request } from "../broker/request.ts";
import {
  isSameResponse,
  type Leaders,
  type LeadersResponse,
  leadersRequest,
  readLeaders,
  type TopicLeaders,
} from "../broker/topic-leaders.ts";
import { type Brokers, inTime } from "./brokers.ts";
import type { Clients } from "./connection.ts";
import { topicIdsOf } from "./offsets.ts";

const LOOK_EVERY_MS = 5_000;
const THROTTLED_LOOK_EVERY_MS = 30_000;
const AGAIN_MS = 250;
const RESPONSE_LIMIT_MS = 4_000;
const TOPICS_MAX = 500;

export interface WatchingTopics {
  readonly topics: readonly string[];
  /** Called after each lookup of one of the topics, except for a periodic one that finds no change. */
  readonly found: () => void;
}

interface LeadersQuery {
  readonly request: Request<LeadersResponse>;
  /** The latest response; null if there is none yet. */
  response: Buffer | null;
  /** The number of changes of the table after this response. */
  changes: number;
}

/** Shared by the consumers of a process. Idle while there are no consumers. The caller must close it. */
export class LeaderTable {
  readonly brokers: Brokers;
  readonly #clients: Pick<Clients, "throttles">;
  readonly #watching = new Set<WatchingTopics>();
  readonly #watchers = new Map<string, readonly WatchingTopics[]>();
  readonly #topics = new Map<string, TopicLeaders>();
  readonly #addresses = new Map<number, BrokerAddress>();
  #addressChanges = 0;
  /** The number of changes of topics and addresses. */
  #changes = 0;
  /** Null if the topics have changed since the last lookup. */
  #queries: readonly LeadersQuery[] | null = null;
  readonly #loads = new OneTurn((topics) => this.#query(queriesFor(topics)));
  readonly #idLookups: OneTurn<ReadonlyMap<string, string>>;
  #timer: NodeJS.Timeout | undefined;
  /** Topics whose leaders may have moved. */
  readonly #stale = new Set<string>();
  #refreshing: NodeJS.Timeout | undefined;
  #refreshedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  /** @param brokers is closed with the table. */
  constructor(clients: Pick<Clients, "throttles">, brokers: Brokers) {
    this.#clients = clients;
    this.brokers = brokers;
    this.#idLookups = new OneTurn((topics) => topicIdsOf(brokers, topics));
  }

  add(watching: WatchingTopics): void {
    this.#watching.add(watching);
    for (const topic of watching.topics) {
      const others = this.#watchers.get(topic);
      this.#watchers.set(topic, others === undefined ? [watching] : [...others, watching]);
    }
    this.#queries = null;
    if (this.#timer === undefined) this.#schedule();
  }

  delete(watching: WatchingTopics): void {
    if (!this.#watching.delete(watching)) return;
    this.#queries = null;
    for (const topic of watching.topics) {
      const others = (this.#watchers.get(topic) ?? []).filter((each) => each !== watching);
      if (others.length > 0) {
        this.#watchers.set(topic, others);
        continue;
      }
      this.#watchers.delete(topic);
      this.#topics.delete(topic);
    }
  }

  /** Changes when a broker has another address. */
  get addressChanges(): number {
    return this.#addressChanges;
  }

  /** Undefined before the first lookup. The same object as long as its content stays the same. */
  of(topic: string): TopicLeaders | undefined {
    return this.#topics.get(topic);
  }

  /** `false` if, according to the latest lookup, the topic has an error or no such partition. */
  has(topic: string, partition: number): boolean {
    return this.#topics.get(topic)?.nodes[partition] !== undefined;
  }

  /** The leader's address; null if it is unknown, or if there is none at the moment. */
  leaderOf(topic: string, partition: number): BrokerAddress | null {
    const node = this.#topics.get(topic)?.nodes[partition] ?? -1;
    return this.#addresses.get(node) ?? null;
  }

  /** Looks up these topics now. Rejects if no broker responds; errors of topics are in the table. */
  load(topics: readonly string[]): Promise<void> {
    return this.#loads.ask(topics);
  }

  /** The IDs of these topics, and perhaps of others, by name; topics without an ID are omitted. */
  topicIds(topics: readonly string[]): Promise<ReadonlyMap<string, string>> {
    return this.#idLookups.ask(topics);
  }

  /** Call when leaders of these topics may have moved. */
  refresh(topics: Iterable<string>): void {
    for (const topic of topics) this.#stale.add(topic);
    if (this.#refreshing !== undefined || this.#isClosed) return;
    const inMs = Math.max(0, this.#refreshedAtMs + AGAIN_MS - performance.now());
    this.#refreshing = setTimeout(() => {
      this.#refreshing = undefined;
      this.#refreshedAtMs = performance.now();
      const queries = queriesFor([...this.#stale].filter((topic) => this.#topics.has(topic)));
      this.#stale.clear();
      this.#query(queries).catch(() => undefined);
    }, inMs).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#refreshing);
    this.brokers.close();
  }

  #schedule(): void {
    if (this.#isClosed) return;
    const isThrottled = this.#clients.throttles.isThrottled();
    const everyMs = isThrottled ? THROTTLED_LOOK_EVERY_MS : LOOK_EVERY_MS;
    this.#timer = setTimeout(() => void this.#live(), everyMs).unref();
  }

  async #live(): Promise<void> {
    this.#queries ??= queriesFor([...this.#watching].flatMap(({ topics }) => topics));
    // The members' own requests also fail, and report the outage.
    await this.#query(this.#queries).catch(() => undefined);
    this.#timer = undefined;
    if (this.#watching.size > 0) this.#schedule();
  }

  async #query(queries: readonly LeadersQuery[]): Promise<void> {
    const before = this.#addressChanges;
    const concerned = new Set<WatchingTopics>();
    try {
      for (const query of queries) {
        const asked = this.brokers.ask(query.request);
        const { payload: response } = await inTime(asked, RESPONSE_LIMIT_MS);
        const isSame = query.response !== null && isSameResponse(response, query.response);
        if (isSame && query.changes === this.#changes) continue;
        const leaders = readLeaders(response);
        this.#learn(leaders);
        query.response = response;
        query.changes = this.#changes;
        for (const topic of leaders.topics.keys()) {
          for (const watching of this.#watchers.get(topic) ?? []) concerned.add(watching);
        }
      }
    } catch (error) {
      this.brokers.nextSeed();
      throw error;
    }
    // Members that join look up their topics in hundreds of lookups, which do not concern 10,000 others.
    const isAll = this.#addressChanges !== before;
    for (const { found } of isAll ? this.#watching : concerned) found();
  }

  #learn({ brokers, topics }: Leaders): void {
    for (const [node, address] of brokers) {
      const known = this.#addresses.get(node);
      if (known?.host === address.host && known.port === address.port) continue;
      this.#addresses.set(node, address);
      this.#addressChanges += 1;
      this.#changes += 1;
    }
    for (const [topic, leaders] of topics) {
      const known = this.#topics.get(topic);
      if (known !== undefined && isSame(known, leaders)) continue;
      this.#topics.set(topic, leaders);
      this.#changes += 1;
    }
  }
}

/** Makes one lookup for all topics that are asked for in one turn of the event loop. */
class OneTurn<Result> {
  readonly #send: (topics: readonly string[]) => Promise<Result>;
  /** The lookup that has not started yet. */
  #next: { readonly topics: Set<string>; readonly done: Promise<Result> } | null = null;

  constructor(send: (topics: readonly string[]) => Promise<Result>) {
    this.#send = send;
  }

  ask(topics: readonly string[]): Promise<Result> {
    this.#next ??= { topics: new Set(), done: this.#start() };
    for (const topic of topics) this.#next.topics.add(topic);
    return this.#next.done;
  }

  async #start(): Promise<Result> {
    await new Promise((resolve) => setImmediate(resolve));
    const topics = this.#next?.topics ?? [];
    this.#next = null;
    return await this.#send([...topics]);
  }
}

function isSame(one: TopicLeaders, other: TopicLeaders): boolean {
  if (one.errorCode !== other.errorCode) return false;
  if (one.nodes.length !== other.nodes.length) return false;
  return one.nodes.every((node, partition) => node === other.nodes[partition]);
}

function queriesFor(topics: readonly string[]): readonly LeadersQuery[] {
  const all = [...new Set(topics)];
  return Array.from({ length: Math.ceil(all.length / TOPICS_MAX) }, (_, at) => {
    const request = leadersRequest(all.slice(at * TOPICS_MAX, (at + 1) * TOPICS_MAX));
    return { request, response: null, changes: 0 };
  });
}
