/**
 * The deliver stage: sends the deliveries on the destinations' topics. Each destination has its own consumer and
 * consumer group, so that no destination waits for another.
 *
 *   step                                               if the process crashes after it
 *   0  if the value's schema has not been loaded, the  the record is read again
 *      partition waits for it; only other programs
 *      write values with a schema
 *   1  send the requests of an attempt                 the attempt is repeated
 *   2a accepted: the record is processed               the same, until the next commit
 *   1' its user is suppressed: the record is           the same, until the next commit; it is sent if the user was
 *      processed, no request is sent                   lifted meanwhile
 *   2b otherwise: write to a delay topic or the dead   the delivery continues twice: here, and from the
 *      letters, then the record is processed           record that was written
 *   3  the consumer commits, periodically              nothing is repeated
 *
 *   step of a batch (`units.ts`)                       if the process crashes after it
 *   1  its deliveries are put together                 they are read again; none was sent
 *   2  send its requests                               the batch is repeated as a whole, perhaps in other batches
 *   3a accepted: all its records are processed in one  the same, until the next commit, which has the records of
 *      synchronous step                                all partitions
 *   3b split: two halves are sent, each as a batch     a half that was accepted is repeated as a whole, until the
 *                                                      next commit; the others are sent again
 *   3c otherwise: as step 2b, for each delivery        each delivery continues twice or once, independently
 *
 * So an accepted batch is repeated as a whole or not at all.
 *
 * An offset is therefore committed only when everything before it is delivered, scheduled for retry,
 * dead-lettered or suppressed. This holds for both topics of a destination, its queue and its retries. While a destination
 * is on hold, its queue stays in Kafka, where a crash does not affect it. While a partition waits for a
 * schema, the destination's other partitions and its retries continue. When a partition is revoked or the
 * process stops, no attempts start, and those in progress get `drainLimitMs` to complete. The next owner
 * processes all other records, so nothing is repeated after a graceful stop.
 *
 *   step of an update                           if the process crashes after it
 *   1  start consumers of new destinations      they start again; their topics keep their deliveries
 *   2  apply new settings to changed ones,      the next start reads the settings from the file
 *      which stay in their groups
 *   3  drain removed ones, commit and leave     their other deliveries stay in their topics, and are
 *                                               attempted if the destination is added again
 *   4  the same for destinations with a new     the next start reads the settings from the file
 *      type or order, which then start again
 *
 * Pausing and resuming by a command are updates of one destination.
 *
 * A consumer that crashes (its topic was deleted, a permission is missing) is restarted alone, with increasing delays, while
 * the other destinations continue.
 */

import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { untilAnswered } from "../../base/runtime/ask-again.ts";
import { startLimited } from "../../base/runtime/start-limited.ts";
import { type AttemptedDestination, isAttempted } from "../../domain/destination.ts";
import type { DestinationId, EndpointKey } from "../../domain/ids.ts";
import type { LiveSettings } from "../../domain/live-settings.ts";
import { commonBytes } from "../../kafka/port.ts";
import type { EndpointNews } from "../control/operator-actions.ts";
import type { RunningStage } from "../stage/running-stage.ts";
import { NewsOfEndpoints } from "./endpoint-news.ts";
import {
  type DeliverDeps,
  type DestinationConfig,
  RunningDestination,
  runsAs,
} from "./running-destination.ts";

/**
 * By default, brokers wait 3 s for more members of an empty group. Starting 1,000 destinations therefore took
 * 198 s with 16 at a time, 30 s with 128, and 25 s with 256, which also took 84 MB more. A group that cannot
 * be joined must not prevent the others from starting.
 */
const STARTING = { atOnce: 128, joinLimitMs: 30_000 };

export interface DeliverConfig
  extends Omit<DestinationConfig, "maxBytes" | "commonBudget" | "wasStrict" | "onAssigned"> {
  readonly destinations: readonly AttemptedDestination[];
  /** Returns the number of bytes that each destination can always use for records in flight. */
  readonly maxBytes: (destinations: number) => number;
  /** Additional bytes of records in flight, shared by all destinations. */
  readonly commonMaxBytes: number;
}

/** Starts one consumer per destination, 128 at a time. The result's `joined` resolves when all have joined. */
export function startDeliver(deps: DeliverDeps, config: DeliverConfig): Promise<RunningStage> {
  const fleet = new Fleet(deps, config);
  const joined = fleet.startAll();
  return Promise.resolve({
    name: "deliver",
    joined,
    healthProblems: () => fleet.healthProblems(),
    partitions: () => fleet.all().flatMap((each) => each.partitions()),
    destinations: () => fleet.all().map((each) => each.status()),
    update: (settings) => fleet.update(settings),
    retire: () => fleet.retire(),
    [Symbol.asyncDispose]: () => fleet.stop(),
  });
}

/** The consumers of all destinations. */
class Fleet {
  readonly #deps: DeliverDeps;
  readonly #config: Omit<DeliverConfig, "destinations">;
  readonly #stopped = new AbortController();
  /** The counts of partitions in progress, by destination; undefined is that of all. */
  readonly #counting = new Map<DestinationId | undefined, AbortController>();
  readonly #commonBudget;
  /** The configured destinations. Replaced by `#want`, at the start and by each update. */
  #wanted = new Map<DestinationId, AttemptedDestination>();
  /** Consumers that run or are starting. */
  readonly #begun = new Set<DestinationId>();
  readonly #running = new Map<DestinationId, RunningDestination>();
  /** Consumers that are draining or leaving their groups. */
  readonly #leaving = new Map<DestinationId, Promise<void>>();
  readonly #partitions = new Map<DestinationId, number>();
  readonly #endOperatorActions: (() => void) | undefined;
  /** The topics of the cluster, which show what was strict; null until they are needed, and after an update. */
  #topics: Promise<ReadonlySet<string>> | null = null;

  constructor(deps: DeliverDeps, { destinations, ...config }: DeliverConfig) {
    const { operatorActions, producer } = deps;
    const tell = { producer, topic: config.topics.operatorActions, process: randomUUID() };
    const isConfigured = (id: DestinationId, endpoint: EndpointKey) =>
      this.#wanted.get(id)?.endpoints.some(({ key }) => key === endpoint) ?? false;
    const news =
      operatorActions &&
      new NewsOfEndpoints(tell, operatorActions, isConfigured, (reported) => this.#heard(reported));
    this.#deps = news === undefined ? deps : { ...deps, news };
    this.#endOperatorActions = deps.operatorActions?.onChange((id) =>
      this.#running.get(id)?.control(),
    );
    this.#config = config;
    this.#commonBudget = commonBytes(config.commonMaxBytes);
    this.#want(destinations);
  }

  async startAll(): Promise<void> {
    // If the brokers do not respond, the count of partitions fails, but so do the joins of the groups.
    await this.#count().catch(() => undefined);
    await this.#startNew();
  }

  update({ destinations: all, delivery }: LiveSettings): void {
    const destinations = all.filter(isAttempted);
    const before = this.#wanted;
    this.#want(destinations);
    this.#topics = null;
    const isOtherWay = this.#deps.transport.update(delivery);
    for (const destination of destinations) {
      const running = this.#running.get(destination.id);
      if (running?.runsAs !== runsAs(destination)) continue;
      if (!isOtherWay && isDeepStrictEqual(before.get(destination.id), destination)) continue;
      running.update(destination);
    }
    void this.#startNew();
    this.#countAgain();
  }

  #heard({ destination, endpoint, ...news }: EndpointNews): void {
    this.#running.get(destination)?.heard(endpoint, news);
  }

  async retire(): Promise<void> {
    for (const [id, running] of this.#running) {
      const wanted = this.#wanted.get(id);
      if (wanted !== undefined && runsAs(wanted) === running.runsAs) continue;
      this.#running.delete(id);
      this.#begun.delete(id);
      this.#partitions.delete(id);
      this.#leaving.set(id, this.#leave(id, running));
    }
    // A destination whose type or order changed is started again.
    void this.#startNew();
    await Promise.all(this.#leaving.values());
  }

  async #leave(id: DestinationId, running: RunningDestination): Promise<void> {
    await running[Symbol.asyncDispose]();
    this.#leaving.delete(id);
  }

  healthProblems(): readonly string[] {
    return this.all().flatMap((each) => each.healthProblems());
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
      this.#startOne(id),
    );
  }

  async #startOne(id: DestinationId): Promise<void> {
    // The destination was removed and was added again before its consumer left the group.
    await this.#leaving.get(id);
    const hasFacts = await this.#hasFacts(id);
    const destination = this.#wanted.get(id);
    if (destination === undefined || this.#stopped.signal.aborted) {
      this.#begun.delete(id);
      return;
    }
    const maxBytes = this.#config.maxBytes(this.#wanted.size);
    const wasStrict = hasFacts || destination.order === "strict";
    const onAssigned = () => this.#countAgain(id);
    const own = { maxBytes, commonBudget: this.#commonBudget, wasStrict, onAssigned };
    const config = { ...this.#config, ...own };
    const partitions = this.#partitions.get(id) ?? 2;
    const running = new RunningDestination(this.#deps, config, destination, partitions);
    this.#running.set(id, running);
    await running.joined;
  }

  /** True if the destination has a topic of facts, because its order is or was strict. */
  async #hasFacts(id: DestinationId): Promise<boolean> {
    const { kafka, clock } = this.#deps;
    const list = () => kafka.admin.topics();
    this.#topics ??= untilAnswered(list, clock, this.#stopped.signal).then((all) => new Set(all));
    return (await this.#topics).has(this.#config.topics.order(id));
  }

  /** Counts partitions, which is needed only for `requestsPerSecond`. @param only the destination; by default all. */
  async #count(only?: DestinationId): Promise<void> {
    const { topics } = this.#config;
    const all = [...this.#wanted.values()].filter(({ id }) => id === (only ?? id));
    const limited = all.filter((each) => each.requestsPerSecond !== null);
    const ids = new Map(limited.map(({ id }) => [topics.deliveries(id), id]));
    if (ids.size === 0) return;
    for (const { name, partitions } of await this.#deps.kafka.admin.describe([...ids.keys()], [])) {
      const id = ids.get(name);
      if (id === undefined) continue;
      // The retry topic has one partition.
      this.#partitions.set(id, partitions + 1);
      this.#running.get(id)?.setPartitions(partitions + 1);
    }
  }

  #countAgain(only?: DestinationId): void {
    this.#counting.get(only)?.abort();
    const own = new AbortController();
    this.#counting.set(only, own);
    const signal = AbortSignal.any([this.#stopped.signal, own.signal]);
    void untilAnswered(() => this.#count(only), this.#deps.clock, signal);
  }
}
