/**
 * The order of one destination's deliveries: what its partitions share, and where it differs from loose destinations. For
 * those, none of this exists.
 *
 *   place                              what happens there
 *   between consumer and dispatcher    `ordered-partition.ts` for the queue, `copies.ts` for retries
 *   before a request                   the partition must certainly be ours: a process that was frozen does not know yet
 *                                      what is settled meanwhile
 *   a copy is written                  it gets a header with its place in the queue; so does a dead letter that holds
 *                                      its key
 *
 * A destination that was strict and is loose now still has an order, until the program restarts and its topic of facts is
 * deleted: deliveries that wait are attempted in order, and those that fail let the next one follow.
 */

import type { AttemptedDestination } from "../../../domain/destination.ts";
import type { BlockedUsers } from "../../../domain/destination-status.ts";
import { type IncomingRecord, partitionKey } from "../../../domain/record.ts";
import type { TopicNames } from "../../../domain/topics.ts";
import type { PartitionHandler } from "../../../kafka/port.ts";
import type { BookedPartition } from "../../ledger/stage-ledger.ts";
import { talliedDelivery } from "../../ledger/tallies.ts";
import {
  type Fact,
  factRecord,
  orderKey,
  PLACE_HEADER,
  placeText,
  type QueuePlace,
} from "../../order/facts.ts";
import { FollowedFacts } from "../../order/follow-facts.ts";
import type { StageDeps } from "../../stage/running-stage.ts";
import type { Timer } from "../attempt.ts";
import type { Turn } from "../circuit-breaker.ts";
import type { DestinationHold } from "../endpoint-gate.ts";
import { deadLetter, type FollowUpWriter, type Replacement } from "../follow-up-record.ts";
import type { Call, Ended, FinishingPartition, OwnedPartition } from "../in-flight.ts";
import { type Copies, OrderedRetries } from "./copies.ts";
import type { OrderHost } from "./order-host.ts";
import { OrderedPartition } from "./ordered-partition.ts";
import { ReadBack } from "./read-back.ts";

const HOUR_MS = 3_600_000;
/** Half of the time for which the queue keeps its records (`../../topics/topic-plan.ts`). */
const WAIT_MAX_MS = 84 * HOUR_MS;
const KEEP_SETTLED_MIN_MS = HOUR_MS;
const BLOCKED_MAX = 100_000;

export interface OrderConfig {
  readonly topics: TopicNames;
  readonly retryWindowMs: number;
  /** Writes records that replace deliveries. */
  readonly writer: FollowUpWriter;
  readonly timer: Timer;
  /** Maximum number of blocked users of a partition; 100,000 by default. */
  readonly blockedMax?: number;
  /** Called if a fact cannot be written. */
  readonly fail: (error: unknown) => void;
}

/** Counts on the partitions that this process owns. */
export interface OrderCounts extends BlockedUsers {
  /** True if a partition has as many blocked users as are allowed, so that no delivery of another user starts. */
  readonly isFull: boolean;
}

export class DestinationOrder implements OrderHost, Disposable {
  readonly facts: FollowedFacts;
  readonly timer: Timer;
  readonly isStrict: boolean;
  readonly blockedMax: number;
  readonly keepSettledMs: number;
  /** Writes the records that replace deliveries, with their places in the queue. */
  readonly writer: FollowUpWriter;
  readonly #deps: Pick<StageDeps, "kafka" | "producer" | "log" | "schemas">;
  readonly #config: OrderConfig;
  readonly #queue: string;
  readonly #topic: string;
  /** Replaced by `update`. */
  #destination: AttemptedDestination;
  readonly #partitions = new Set<OrderedPartition>();
  /** By the name of the partition on which they are. */
  readonly #copies = new Map<string, Copies>();
  readonly busy = new Set<string>();
  #fullSinceMs: number | null = null;
  readonly #assigned = new WeakMap<OwnedPartition, BookedPartition>();

  constructor(
    deps: Pick<StageDeps, "kafka" | "clock" | "producer" | "log" | "schemas">,
    destination: AttemptedDestination,
    config: OrderConfig,
  ) {
    const { topics, retryWindowMs, timer } = config;
    this.#topic = topics.order(destination.id);
    this.#queue = topics.deliveries(destination.id);
    this.#deps = deps;
    this.#config = config;
    this.#destination = destination;
    this.timer = timer;
    this.isStrict = destination.order === "strict";
    this.blockedMax = config.blockedMax ?? BLOCKED_MAX;
    this.keepSettledMs = Math.max(KEEP_SETTLED_MIN_MS, 2 * retryWindowMs);
    this.facts = new FollowedFacts(deps, this.#topic);
    this.writer = {
      write: (replacements, ended) =>
        config.writer.write(
          replacements.map((each) => this.#placed(each)),
          ended,
        ),
    };
  }

  get holds(): boolean {
    return this.isStrict && this.#destination.onDeadLetter === "hold";
  }

  /** Applies new settings. A change of `order` restarts the destination instead. */
  update(destination: AttemptedDestination): void {
    this.#destination = destination;
  }

  /** Handles a partition of the queue or of the retry topic. @param open opens the dispatcher's part of it. */
  own(
    assigned: BookedPartition,
    turn: Turn,
    open: (partition: FinishingPartition) => OwnedPartition,
  ): PartitionHandler {
    const opened = (partition: FinishingPartition) => {
      const owned = open(partition);
      this.#assigned.set(owned, assigned);
      return owned;
    };
    const handler =
      turn === "queue"
        ? new OrderedPartition(this, assigned, opened)
        : new OrderedRetries(this, assigned, opened);
    this.#copies.set(partitionKey(assigned), handler.copies);
    if (handler instanceof OrderedPartition) this.#partitions.add(handler);
    return handler;
  }

  pumpCopies(): void {
    for (const copies of this.#copies.values()) copies.pump();
  }

  left(partition: OrderedPartition): void {
    this.#partitions.delete(partition);
  }

  /** Resolves with true if no other process can own the partitions of these deliveries yet. */
  readonly mayAttempt = async (calls: readonly Call[]): Promise<boolean> => {
    const isOurs = (owner: OwnedPartition) => this.#assigned.get(owner)?.isOurs() ?? true;
    const [call] = calls;
    // Without batches, this is called for each delivery.
    if (call !== undefined && calls.length === 1) return isOurs(call.item.owner);
    const owners = new Set(calls.map(({ item }) => item.owner));
    return (await Promise.all([...owners].map(isOurs))).every((each) => each);
  };

  /** Null while deliveries of all users may start. It begins when this is first called. */
  hold(): DestinationHold | null {
    this.#fullSinceMs = this.counts().isFull ? (this.#fullSinceMs ?? this.timer.nowMs()) : null;
    const sinceMs = this.#fullSinceMs;
    return sinceMs === null ? null : { reason: "order", sinceMs, untilMs: null };
  }

  counts(): OrderCounts {
    let [blockedUsers, waitingDeliveries, isFull] = [0, 0, false];
    for (const partition of this.#partitions) {
      blockedUsers += partition.blocked;
      waitingDeliveries += partition.waiting;
      isFull ||= partition.isFull;
    }
    return { blockedUsers, waitingDeliveries, isFull };
  }

  healthProblems(): readonly string[] {
    const bound = `as many as ${this.blockedMax} users of a partition wait, so no delivery of another user starts`;
    return [...this.facts.healthProblems(), ...(this.counts().isFull ? [bound] : [])];
  }

  async write(partition: number, fact: Fact, messageId: string | null): Promise<boolean> {
    const record = factRecord(this.#topic, partition, fact, messageId);
    try {
      const [refused] = await this.#deps.producer.send([record]);
      if (refused !== undefined)
        throw new Error(`cannot write to ${this.#topic}: ${refused.error}`);
    } catch (error) {
      this.#config.fail(error);
      return false;
    }
    if (fact.kind === "settled" && messageId !== null) {
      this.facts.settled(partition, fact, this.timer.nowMs());
    }
    return true;
  }

  readBack(partition: number, signal: AbortSignal): ReadBack {
    return new ReadBack({ ...this.#deps, timer: this.timer }, this.#queue, partition, signal);
  }

  isTooOld({ timestampMs }: IncomingRecord): boolean {
    return this.timer.nowMs() - timestampMs > WAIT_MAX_MS;
  }

  expire(record: IncomingRecord): Promise<readonly Ended[]> {
    const { writer, topics, timer } = this.#config;
    const hours = WAIT_MAX_MS / HOUR_MS;
    const error = `not attempted within ${hours} h, because it waited behind earlier deliveries of its user`;
    const replacement = deadLetter(record, "expired", error, topics, timer.nowMs());
    const of = talliedDelivery(record);
    return new Promise((resolve) => {
      writer.write([replacement], (outcomes) => {
        // Nothing is written after the producer was closed.
        if (outcomes !== null) resolve(outcomes.map((outcome) => ({ outcome, of })));
      });
    });
  }

  [Symbol.dispose](): void {
    this.facts[Symbol.dispose]();
  }

  #placed(replacement: Replacement): Replacement {
    const { kind, outgoing } = replacement;
    const place = this.#placeOf(replacement);
    if (place === null || orderKey(outgoing) === null) return replacement;
    const isNamed = kind === "retry" || (this.holds && replacement.reason !== "cancelled");
    const headers = outgoing.headers.filter(([name]) => name !== PLACE_HEADER);
    if (isNamed) headers.push([PLACE_HEADER, Buffer.from(placeText(place))]);
    return { ...replacement, outgoing: { ...outgoing, headers } };
  }

  #placeOf({ place: { topic, partition, offset } }: Replacement): QueuePlace | null {
    const place = this.#copies.get(partitionKey({ topic, partition }))?.placeOf(offset) ?? null;
    if (place !== null || topic !== this.#queue || !this.isStrict) return place;
    return { partition, offset };
  }
}
