/**
 * Looks up the leaders of the topics that this process's members read, for all members together, and reports
 * the results to each member. A member's fetch lasts for minutes, but the member ends it early if a leader has changed
 * or a topic has more partitions.
 *
 *   a lookup                             then
 *   every 5 s, 500 topics per request    all members get the result, even if nothing is new, because a
 *                                        member may have queried a broker with older metadata
 *   every 30 s while the brokers         the same
 *   throttle this process
 *   fails, or takes longer than 4 s      the next lookup uses another address. From the responses to
 *                                        fetches, members still learn that leaders have moved
 */

import type { TopicLeaders, TopicWatch, WatchingTopics } from "../membership.ts";
import { encodeLeadersRequest, isSameResponse, readLeaders } from "../wire/topic-leaders.ts";
import { Brokers, inTime } from "./brokers.ts";
import type { Client, Clients } from "./connection.ts";

const LOOK_EVERY_MS = 5_000;
const THROTTLED_LOOK_EVERY_MS = 30_000;
const RESPONSE_LIMIT_MS = 4_000;
const TOPICS_MAX = 500;

type WatchingClients = Pick<Clients, "createShared" | "throttles">;

interface LeadersQuery {
  readonly request: Buffer;
  /** The latest response; null if there is none yet. */
  response: Buffer | null;
  found: TopicLeaders;
}

/**
 * Shared by the consumers of a process. Does nothing while there are no consumers. The caller must close the object.
 */
export class ClusterTopicWatch implements TopicWatch {
  readonly #clients: WatchingClients;
  readonly #watching = new Set<WatchingTopics>();
  #client: Client | null = null;
  #brokers: Brokers | null = null;
  /** Null if the topics have changed since the last lookup. */
  #queries: readonly LeadersQuery[] | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(clients: WatchingClients) {
    this.#clients = clients;
  }

  add(watching: WatchingTopics): void {
    this.#watching.add(watching);
    this.#queries = null;
    if (this.#timer === undefined && !this.#isClosed) this.#schedule();
  }

  delete(watching: WatchingTopics): void {
    if (this.#watching.delete(watching)) this.#queries = null;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#brokers?.close();
    this.#client?.destroy();
  }

  #schedule(): void {
    const isThrottled = this.#clients.throttles.isThrottled();
    const everyMs = isThrottled ? THROTTLED_LOOK_EVERY_MS : LOOK_EVERY_MS;
    this.#timer = setTimeout(() => void this.#live(), everyMs).unref();
  }

  async #live(): Promise<void> {
    await this.#look();
    this.#timer = undefined;
    if (!this.#isClosed && this.#watching.size > 0) this.#schedule();
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    this.#client ??= this.#clients.createShared(0);
    this.#brokers ??= new Brokers(this.#client);
    this.#queries ??= requestsFor([...this.#watching].flatMap(({ topics }) => topics));
    const all = this.#queries;
    try {
      for (const query of all) {
        const response = await inTime(this.#brokers.leaders(query.request), RESPONSE_LIMIT_MS);
        if (query.response !== null && isSameResponse(response, query.response)) continue;
        query.response = response;
        query.found = readLeaders(response);
      }
    } catch {
      this.#brokers.nextSeed();
      return;
    }
    const leaders = new Map(all.flatMap(({ found }) => [...found]));
    for (const { found } of this.#watching) found(leaders);
  }
}

function requestsFor(topics: readonly string[]): readonly LeadersQuery[] {
  const all = [...new Set(topics)];
  return Array.from({ length: Math.ceil(all.length / TOPICS_MAX) }, (_, at) => {
    const request = encodeLeadersRequest(all.slice(at * TOPICS_MAX, (at + 1) * TOPICS_MAX));
    return { request, response: null, found: new Map() };
  });
}
