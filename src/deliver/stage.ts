/**
 * Destination topics to signed webhooks: a consumer and a group per destination, so that none waits
 * for another.
 *
 *   step                                              a crash after it
 *   0  a value that has a schema waits in its         the record is read again
 *      partition until it is known: route writes
 *      none, others may
 *   1  the requests of an attempt are sent            the attempt is made again
 *   2a accepted: the offset is finished               the same, until the consumer commits
 *   2b else: delay topic or dead letter is written    the record goes on twice: here, and there
 *      and acknowledged, then the offset is finished
 *   3  the consumer commits, now and then             nothing is repeated
 *
 * So an offset is committed only when everything before it is delivered, parked or a dead letter.
 * The same holds for both topics of a destination: its line, and the deliveries that come back. A
 * line that is held is not written anywhere, and a crash finds it as it was.
 * A partition that waits for a schema waits alone: the destination's other partitions go on, and so
 * do the deliveries that come back.
 * A drain starts nothing new, and waits at most `drainLimitMs` for attempts under way. The rest is
 * left to the partition's next owner: a graceful stop repeats nothing.
 *
 *   step of an update                       a crash after it
 *   1  consumers of new destinations start  they start again; their topics hold what they get
 *   2  those of changed ones go by the new  the next start takes the settings of the file
 *      settings, and stay in their groups
 *   3  those of removed ones drain and      what is left is in their topics, and is attempted when the
 *      commit, and leave                    destination comes back
 *   4  one of another type did so too, and  the next start takes the type of the file
 *      starts with a sender of its new type
 *
 * A pause by a command, or its end, is an update of one destination.
 *
 * A consumer that crashes (its topic deleted, a right missing) is started again alone, later each
 * time; the other destinations do not notice.
 */

import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { EndpointNews } from "../control/operator-actions.ts";
import { type AttemptedDestination, isAttempted } from "../domain/destination.ts";
import type { DestinationId } from "../domain/ids.ts";
import type { LiveSettings } from "../domain/live-settings.ts";
import { commonBytes } from "../kafka/port.ts";
import { startLimited } from "../runtime/start-limited.ts";
import type { RunningStage } from "../stage/running-stage.ts";
import { NewsOfEndpoints } from "./endpoint-news.ts";
import {
  type DeliverDeps,
  type DestinationConfig,
  type RunningDestination,
  startDestination,
} from "./running-destination.ts";

/**
 * More joins at a time wait for the broker rather than for us, and a group that cannot be joined
 * must not keep the others from starting.
 */
const STARTING = { atOnce: 16, joinLimitMs: 30_000 };
const COUNT_AGAIN_MS = 1_000;

export interface DeliverConfig extends Omit<DestinationConfig, "maxBytes" | "commonBudget"> {
  readonly destinations: readonly AttemptedDestination[];
  /** Bytes of unfinished records that each destination may have in any case, when there are so many. */
  readonly maxBytes: (destinations: number) => number;
  /** Bytes that a destination may have beyond that, shared by all of them. */
  readonly commonMaxBytes: number;
}

/** Starts a consumer per destination, 16 at a time; `joined` tells when all are there. */
export function startDeliver(deps: DeliverDeps, config: DeliverConfig): Promise<RunningStage> {
  const fleet = new Fleet(deps, config);
  const joined = fleet.startAll();
  return Promise.resolve({
    name: "deliver",
    joined,
    healthProblems: () => fleet.healthProblems(),
    partitions: () => fleet.all().flatMap(({ partitions }) => partitions()),
    destinations: () => fleet.all().map(({ status }) => status()),
    update: (settings) => fleet.update(settings),
    retire: () => fleet.retire(),
    [Symbol.asyncDispose]: () => fleet.stop(),
  });
}

/** The consumers of all destinations. */
class Fleet {
  readonly #deps: DeliverDeps;
  readonly #config: DeliverConfig;
  readonly #stopped = new AbortController();
  readonly #commonBudget;
  #wanted = new Map<DestinationId, AttemptedDestination>();
  /** Of those that run or are about to. */
  readonly #begun = new Set<DestinationId>();
  readonly #running = new Map<DestinationId, RunningDestination>();
  /** They drain, or leave their groups. */
  readonly #leaving = new Map<DestinationId, Promise<void>>();
  readonly #partitions = new Map<DestinationId, number>();
  readonly #endOperatorActions: (() => void) | undefined;

  constructor(deps: DeliverDeps, config: DeliverConfig) {
    const { operatorActions, producer } = deps;
    const tell = { producer, topic: config.topics.operatorActions, process: randomUUID() };
    const news =
      operatorActions &&
      new NewsOfEndpoints(tell, operatorActions, (reported) => this.#heard(reported));
    this.#deps = news === undefined ? deps : { ...deps, news };
    this.#endOperatorActions = deps.operatorActions?.onChange((id) =>
      this.#running.get(id)?.control(),
    );
    this.#config = config;
    this.#commonBudget = commonBytes(config.commonMaxBytes);
    this.#want(config.destinations);
  }

  async startAll(): Promise<void> {
    // No answer is a matter of the brokers: those who cannot be counted for now cannot join, too.
    const isCounted = await this.#count().then(
      () => true,
      () => false,
    );
    if (!isCounted) void this.#countAgain();
    await this.#startNew();
  }

  update({ destinations: all, deliveryCa }: LiveSettings): void {
    const destinations = all.filter(isAttempted);
    const before = this.#wanted;
    this.#want(destinations);
    const isOtherCa = this.#deps.transport.trust(deliveryCa);
    for (const destination of destinations) {
      const running = this.#running.get(destination.id);
      if (running?.kind !== destination.kind) continue;
      if (!isOtherCa && isDeepStrictEqual(before.get(destination.id), destination)) continue;
      running.update(destination);
    }
    void this.#startNew();
    void this.#countAgain();
  }

  #heard({ destination, endpoint, ...news }: EndpointNews): void {
    this.#running.get(destination)?.heard(endpoint, news);
  }

  async retire(): Promise<void> {
    for (const [id, running] of this.#running) {
      if (this.#wanted.get(id)?.kind === running.kind) continue;
      this.#running.delete(id);
      this.#begun.delete(id);
      this.#partitions.delete(id);
      this.#leaving.set(id, this.#leave(id, running));
    }
    // One of another type starts again with a sender of that type.
    void this.#startNew();
    await Promise.all(this.#leaving.values());
  }

  async #leave(id: DestinationId, running: RunningDestination): Promise<void> {
    await running[Symbol.asyncDispose]();
    this.#leaving.delete(id);
  }

  healthProblems(): readonly string[] {
    return this.all().flatMap(({ healthProblems }) => healthProblems());
  }

  all(): readonly RunningDestination[] {
    return [...this.#running.values()];
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#endOperatorActions?.();
    this.#deps.news?.[Symbol.dispose]();
    const running = [...this.#running.values()].map((one) => one[Symbol.asyncDispose]());
    await Promise.all([...running, ...this.#leaving.values()]);
    await this.#deps.attempts?.[Symbol.asyncDispose]();
  }

  #want(destinations: readonly AttemptedDestination[]): void {
    this.#wanted = new Map(destinations.map((destination) => [destination.id, destination]));
    this.#commonBudget.each = this.#config.maxBytes(destinations.length);
  }

  async #startNew(): Promise<void> {
    const ids = [...this.#wanted.keys()].filter((id) => !this.#begun.has(id));
    for (const id of ids) this.#begun.add(id);
    await startLimited(ids, STARTING, this.#stopped.signal, this.#deps.clock, (id) =>
      this.#one(id),
    );
  }

  async #one(id: DestinationId): Promise<void> {
    // It was removed, and is back before its consumer has left the group.
    await this.#leaving.get(id);
    const destination = this.#wanted.get(id);
    if (destination === undefined || this.#stopped.signal.aborted) {
      this.#begun.delete(id);
      return;
    }
    const maxBytes = this.#config.maxBytes(this.#wanted.size);
    const config = { ...this.#config, maxBytes, commonBudget: this.#commonBudget };
    const partitions = this.#partitions.get(id) ?? 2;
    const running = startDestination(this.#deps, config, destination, partitions);
    this.#running.set(id, running);
    await running.joined;
  }

  /** Only a limit on requests asks for it. */
  async #count(): Promise<void> {
    const { topics } = this.#config;
    const limited = [...this.#wanted.values()].filter((each) => each.requestsPerSecond !== null);
    const ids = new Map(limited.map(({ id }) => [topics.deliveries(id), id]));
    if (ids.size === 0) return;
    for (const { name, partitions } of await this.#deps.kafka.admin.describe([...ids.keys()], [])) {
      const id = ids.get(name);
      if (id === undefined) continue;
      // One more for what is due again.
      this.#partitions.set(id, partitions + 1);
      this.#running.get(id)?.partitionsAre(partitions + 1);
    }
  }

  /** Until the brokers answer. */
  async #countAgain(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        return await this.#count();
      } catch {
        await this.#deps.clock.sleep(COUNT_AGAIN_MS, signal).catch(() => undefined);
      }
    }
  }
}
