/**
 * The order of one destination's deliveries: what its partitions share, and where it differs from loose destinations. For
 * those, none of this exists.
 *
 *   place                              what happens there
 *   between consumer and dispatcher    `ordered-partition.ts` for the queue, `ordered-retries.ts` for retries
 *   before a request                   the partition must certainly be ours (`FinishingPartition.confirm`): a process that
 *                                      was frozen does not know yet what is settled meanwhile
 *   a copy is written                  it gets a header with its place in the queue; so does a dead letter that holds
 *                                      its key
 *
 * A destination that was strict and is loose now still has an order, until the program restarts and its topic of facts is
 * deleted: deliveries that wait are attempted in order, and those that fail let the next one follow.
 */

import { untilAnswered } from "../../../base/runtime/ask-again.ts";
import type { AttemptedDestination } from "../../../domain/destination.ts";
import type { BlockedUsers } from "../../../domain/destination-status.ts";
import type { IncomingRecord } from "../../../domain/record.ts";
import type { TopicNames } from "../../../domain/topics.ts";
import type { PartitionHandler } from "../../../kafka/port.ts";
import type { BookedPartition } from "../../ledger/stage-ledger.ts";
import { talliedDelivery } from "../../ledger/tallies.ts";
import {
  type Fact,
  factRecord,
  lineOf,
  orderKey,
  placeHeader,
  queuePlaceOf,
  withoutPlace,
} from "../../order/facts.ts";
import { FollowedFacts } from "../../order/follow-facts.ts";
import { suppressedDelivery } from "../../stage/content.ts";
import type { StageDeps } from "../../stage/running-stage.ts";
import type { Timer } from "../attempt.ts";
import type { Turn } from "../circuit-breaker.ts";
import type { DestinationHold } from "../endpoint-gate.ts";
import { deadLetter, type FollowUpWriter, type Replacement } from "../follow-up-record.ts";
import type { Ended, FinishingPartition } from "../in-flight.ts";
import { isHeldFor, type OrderHost, WAIT_MAX_MS, WAITING_MAX } from "./order-host.ts";
import { OrderedPartition } from "./ordered-partition.ts";
import { OrderedRetries } from "./ordered-retries.ts";
import { ReadBack } from "./read-back.ts";

const HOUR_MS = 3_600_000;
const KEEP_SETTLED_MIN_MS = HOUR_MS;
const SWEEP_EVERY_MS = 600_000;
const BLOCKED_MAX = 100_000;

export interface OrderConfig {
  readonly topics: TopicNames;
  readonly retryWindowMs: number;
  /** Writes records that replace deliveries. */
  readonly writer: FollowUpWriter;
  readonly timer: Timer;
  /** Maximum number of blocked users of a partition; 100,000 by default. */
  readonly blockedMax?: number;
  /** Called if a fact cannot be written, or if the queue was created again. */
  readonly fail: (error: unknown) => void;
}

type OrderDeps = Pick<
  StageDeps,
  "kafka" | "clock" | "producer" | "log" | "schemas" | "suppressions"
>;

export class DestinationOrder implements OrderHost, Disposable {
  readonly facts: FollowedFacts;
  readonly timer: Timer;
  readonly isStrict: boolean;
  readonly holds: boolean;
  readonly blockedMax: number;
  readonly keepSettledMs: number;
  /** Writes the records that replace deliveries, with their places in the queue. */
  readonly writer: FollowUpWriter;
  readonly #deps: OrderDeps;
  readonly #config: OrderConfig;
  readonly #queue: string;
  readonly #topic: string;
  readonly #stopped = new AbortController();
  /** That of the open partitions. If the queue is created again, the consumer starts again. */
  #queueId = "";
  #fullSinceMs: number | null = null;
  /** Removed when they are drained. */
  readonly #partitions = new Set<OrderedPartition>();

  constructor(deps: OrderDeps, destination: AttemptedDestination, config: OrderConfig) {
    const { topics, retryWindowMs, timer, writer } = config;
    this.#topic = topics.order(destination.id);
    this.#queue = topics.deliveries(destination.id);
    this.#deps = deps;
    this.#config = config;
    this.timer = timer;
    this.isStrict = destination.order === "strict";
    this.holds = this.isStrict && destination.onDeadLetter === "hold";
    this.blockedMax = config.blockedMax ?? BLOCKED_MAX;
    this.keepSettledMs = Math.max(KEEP_SETTLED_MIN_MS, 2 * retryWindowMs);
    this.facts = new FollowedFacts(deps, this.#topic);
    const placed = (replacement: Replacement) => this.#placed(replacement);
    this.writer = { write: (all, then) => writer.write(all.map(placed), then) };
    this.#sweepLater();
  }

  /** Handles a partition of the queue or of the retry topic. @param open opens the dispatcher's part of it. */
  own(
    assigned: BookedPartition,
    turn: Turn,
    open: (partition: FinishingPartition) => PartitionHandler,
  ): PartitionHandler {
    const known = this.facts.caughtUp();
    if (turn === "retry") return after(known, new OrderedRetries(this, assigned, open));
    const partition = new OrderedPartition(this, assigned, open);
    this.#partitions.add(partition);
    const isOpen = known.then(async () => {
      const id = await this.#currentQueueId();
      const isOneOpen = [...this.#partitions].some(({ line }) => line !== "");
      if (isOneOpen && id !== this.#queueId) return this.#isOtherQueue();
      this.#queueId = id;
      partition.open(lineOf(id, assigned.partition));
    });
    const drain = async () => {
      await partition.drain();
      this.#partitions.delete(partition);
    };
    const take = (records: readonly IncomingRecord[]) => {
      if (partition.line === lineOf(assigned.topicId(), assigned.partition))
        partition.take(records);
      else if (partition.line !== "") this.#isOtherQueue();
    };
    return after(isOpen, {
      take,
      drain,
      get followers() {
        return partition.followers;
      },
    });
  }

  async #currentQueueId(): Promise<string> {
    const { kafka, clock } = this.#deps;
    const ask = () => kafka.admin.topicIds([this.#queue]);
    const ids = await untilAnswered(ask, clock, this.#stopped.signal);
    return ids?.get(this.#queue) ?? "";
  }

  #isOtherQueue(): void {
    this.#config.fail(new Error(`the topic ${this.#queue} was created again`));
  }

  /** Null while deliveries of all users may start. It begins when this is first called. */
  hold(): DestinationHold | null {
    this.#fullSinceMs = this.#isFull ? (this.#fullSinceMs ?? this.timer.nowMs()) : null;
    const sinceMs = this.#fullSinceMs;
    return sinceMs === null ? null : { reason: "order", sinceMs, untilMs: null };
  }

  /** On the partitions that this process owns. */
  counts(): BlockedUsers {
    let [blockedUsers, waitingDeliveries] = [0, 0];
    for (const partition of this.#partitions) {
      blockedUsers += partition.blocked;
      waitingDeliveries += partition.waiting;
    }
    return { blockedUsers, waitingDeliveries };
  }

  healthProblems(): readonly string[] {
    const counts = [this.blockedMax, WAITING_MAX].map((each) => each.toLocaleString("en"));
    const bound = `as many users or deliveries of a partition wait as are allowed (${counts.join(" and ")}), so no more are read`;
    return [...this.facts.healthProblems(), ...(this.#isFull ? [bound] : [])];
  }

  /** True if no more deliveries are read from one of the partitions. */
  get #isFull(): boolean {
    return [...this.#partitions].some(({ isFull }) => isFull);
  }

  async write(line: string, fact: Fact, messageId: string | null): Promise<boolean> {
    const record = factRecord(this.#topic, line, fact, messageId);
    try {
      const [refused] = await this.#deps.producer.send([record]);
      if (refused !== undefined)
        throw new Error(`cannot write to ${this.#topic}: ${refused.error}`);
    } catch (error) {
      this.#config.fail(error);
      return false;
    }
    if (fact.kind === "settled" && messageId !== null)
      this.facts.settled(line, fact, this.timer.nowMs());
    return true;
  }

  readBack(partition: number, signal: AbortSignal): ReadBack {
    return new ReadBack({ ...this.#deps, timer: this.timer }, this.#queue, partition, signal);
  }

  expire(record: IncomingRecord): Promise<readonly Ended[] | null> | null {
    const { writer, topics, timer } = this.#config;
    const { timestampMs } = record;
    const isTooOld = timestampMs > 0 && timer.nowMs() - timestampMs > WAIT_MAX_MS;
    if (!isTooOld || suppressedDelivery(record, this.#deps.suppressions) !== null) return null;
    const hours = WAIT_MAX_MS / HOUR_MS;
    const error = `not attempted within ${hours} h, because it waited behind earlier deliveries of its user`;
    const replacement = deadLetter(record, "expired", error, topics, timer.nowMs());
    const of = talliedDelivery(record);
    return new Promise((resolve) => {
      writer.write([replacement], (outcomes) =>
        resolve(outcomes?.map((outcome) => ({ outcome, of })) ?? null),
      );
    });
  }

  [Symbol.dispose](): void {
    this.#stopped.abort();
    this.facts[Symbol.dispose]();
  }

  /** A copy names its place in the queue, and so does a dead letter for which its user waits. */
  #placed(replacement: Replacement): Replacement {
    const { kind, outgoing } = replacement;
    const { topic, partition, offset } = replacement.place;
    const isNamed =
      this.isStrict && (kind === "retry" || (this.holds && isHeldFor(replacement.reason)));
    const place =
      topic === this.#queue
        ? { line: lineOf(this.#queueId, partition), offset }
        : queuePlaceOf(outgoing);
    const headers = withoutPlace(outgoing.headers);
    const hasPlace = isNamed && place !== null && orderKey(outgoing) !== null;
    const named = hasPlace ? [...headers, placeHeader(place)] : headers;
    return { ...replacement, outgoing: { ...outgoing, headers: named } };
  }

  #sweepLater(): void {
    this.timer.after(SWEEP_EVERY_MS, () => {
      for (const partition of this.#partitions) void partition.sweep();
      this.#sweepLater();
    });
  }
}

/** Keeps records until their handler may take them. */
function after(ready: Promise<void>, handler: PartitionHandler): PartitionHandler {
  let early: IncomingRecord[] | null = [];
  void ready.then(() => {
    const records = early ?? [];
    early = null;
    if (records.length > 0) handler.take(records);
  });
  return {
    get followers() {
      return handler.followers ?? 0;
    },
    take: (records) => (early === null ? handler.take(records) : void early.push(...records)),
    drain: () => handler.drain(),
  };
}
