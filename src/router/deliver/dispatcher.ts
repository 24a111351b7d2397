/**
 * Takes the deliveries of one destination in turn, and decides when each is attempted and what happens to it. Pure
 * except for its parts, so that simulations can run it on a manual clock.
 *
 *   a delivery                          what happens
 *   is fetched                          waits for its key, its endpoints, a slot under `concurrency` (`queue.ts`)
 *                                       and the rate limit
 *   gets its turn                       `prepare.ts` decides: attempt, wait, schedule a retry, or dead-letter
 *   may share a request with others     waits for them in a unit (`units.ts`)
 *   is attempted                        all requests run to completion, then `decide.ts` decides (`attempt.ts`)
 *   is accepted, or suppressed          its offset counts as processed immediately
 *   is replaced by other records        its offset counts as processed when the brokers have acknowledged them;
 *                                       its key and slot are free before that
 *   is canceled while it waits          becomes a dead letter, even while the destination is on hold
 *   is on a partition being drained     is not started; an attempt in progress completes
 *   settings change                     an attempt in progress keeps the old settings; waiting deliveries are
 *                                       evaluated again with the new settings, even those in units
 */

import type { Delivery } from "../../domain/delivery.ts";
import type { AttemptedDestination } from "../../domain/destination.ts";
import type { EndpointKey } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { AssignedPartition } from "../../kafka/port.ts";
import { cancelledText } from "../control/early-release.ts";
import { type Controls, NO_CONTROLS } from "../control/operator-action-state.ts";
import type { EarlyRelease } from "../control/operator-actions.ts";
import type { Sender } from "../destinations/port.ts";
import type { KnownSuppressions } from "../suppression/known-suppressions.ts";
import {
  Attempt,
  type AttemptHost,
  type AttemptObserver,
  type Limits,
  type Settings,
  settingsOf,
  type Timer,
} from "./attempt.ts";
import type { AttemptTrace } from "./attempt-trace.ts";
import { Cancellations } from "./cancellations.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import type { Turn } from "./circuit-breaker.ts";
import { isSuppressed, parseContent } from "./content.ts";
import type { Decision } from "./decide.ts";
import {
  EndpointGates,
  type EndpointObserver,
  type GateState,
  type News,
} from "./endpoint-availability.ts";
import type { DestinationHold } from "./endpoint-gate.ts";
import {
  type DeadLetterTopics,
  deadLetter,
  type FollowUpWriter,
  type Replacement,
  replacement,
} from "./follow-up-record.ts";
import { holdCause } from "./hold-cause.ts";
import { type Call, type InFlight, OwnedPartition } from "./in-flight.ts";
import { NextLook } from "./next-look.ts";
import { type Prepared, type PreparedAttempt, prepare } from "./prepare.ts";
import { Queue } from "./queue.ts";
import { RequestRate } from "./request-rate.ts";
import { SlotScheduler } from "./slot-scheduler.ts";
import { beginWindow, callOf, Units } from "./units.ts";

/** Much shorter than the margin for a last attempt (`choose-retry-delay.ts`). */
const RELEASE_EVERY_MS = 500;

export interface PartitionObserver {
  owned(): void;
  /** @param count the number of records that were fetched. */
  took(count: number): void;
  left(): void;
  /** Called for a delivery that is processed without an attempt, because its user is suppressed. */
  suppressed(delivery: Delivery, nowMs: number): void;
}

/** What the deliveries of a destination use outside. */
export interface Parts {
  readonly timer: Timer;
  readonly sender: Sender;
  readonly observer: PartitionObserver & AttemptObserver & EndpointObserver;
  readonly writer: FollowUpWriter;
  /** Absent if nobody is suppressed. */
  readonly suppressions?: KnownSuppressions | undefined;
}

export interface DispatchConfig {
  readonly policy: RetryPolicy;
  readonly topics: DeadLetterTopics;
  /** Number of partitions of the destination's topics, including those that other processes own. */
  readonly partitions: number;
}

export class Dispatcher implements AttemptHost {
  readonly parts: Parts;
  readonly limits: Limits;
  readonly #topics: DeadLetterTopics;
  readonly #queue: Queue;
  readonly #units: Units;
  /** Replaced by `update`. Attempts in progress keep the settings with which they started. */
  #settings: Settings;
  readonly #cancellations: Cancellations;
  /** True from the moment when the rate limit stops the next delivery until its wait is over, or settings change. */
  #isLimited = false;
  /** True while a timer is set that releases retries which wait for endpoints. */
  #isReleasing = false;
  readonly #nextLook: NextLook;

  constructor(destination: AttemptedDestination, config: DispatchConfig, parts: Parts) {
    const { policy, topics, partitions } = config;
    const { concurrency, requestsPerSecond } = destination;
    const { sender, observer } = parts;
    const settings = settingsOf(destination, policy);
    const window = { concurrency, retryWindowMs: policy.retryWindowMs };
    const slots = new SlotScheduler(concurrency);
    const gates = new EndpointGates(settings.keys, window, observer, sender.readiness);
    this.parts = parts;
    this.limits = { slots, gates, rate: new RequestRate(requestsPerSecond, partitions) };
    this.#topics = topics;
    this.#nextLook = new NextLook(parts.timer, () => this.pump());
    this.#cancellations = new Cancellations(destination.id);
    this.#settings = settings;
    const stillUntilMs = (nowMs: number) =>
      holdCause(this.#settings.destination)
        ? Number.POSITIVE_INFINITY
        : gates.stoppedUntilMs(nowMs);
    this.#queue = new Queue(gates, slots, stillUntilMs, (untilMs) => this.#nextLook.at(untilMs));
    const prepareIt = (item: InFlight, nowMs: number) =>
      this.#cancellations.of(item.record) === null ? this.#prepare(item, nowMs) : null;
    this.#units = new Units(sender, this.#queue, gates, prepareIt, () => this.suppressionsVersion);
  }

  /**
   * Applies new settings of the same destination, and operator actions, before anything starts. The sender must already
   * use these settings. Canceled deliveries become dead letters: those in memory immediately, the others when they are
   * fetched.
   */
  update(destination: AttemptedDestination, { earlyReleases, gone }: Controls = NO_CONTROLS): void {
    const { concurrency, requestsPerSecond } = destination;
    const { gates, slots, rate } = this.limits;
    this.#units.update();
    this.#settings = settingsOf(destination, this.#settings.policy);
    gates.update(this.#settings.keys, concurrency, gone);
    gates.probeProxies(this.parts.timer.nowMs());
    this.#queue.releaseAll();
    slots.allow(concurrency);
    rate.limit(requestsPerSecond);
    // The previous rate limit no longer applies.
    this.#isLimited = false;
    this.#cancel(earlyReleases);
    this.pump();
  }

  #cancel(earlyReleases: readonly EarlyRelease[]): void {
    this.#cancellations.update(earlyReleases);
    if (!this.#cancellations.areThere) return;
    this.#units.disbandAll();
    const isCancelled = ({ record }: InFlight) => this.#cancellations.of(record) !== null;
    // `extract` finds only deliveries that may start. When one is removed, the next one with its key may start.
    let found = this.#queue.extract(isCancelled);
    for (; found.length > 0; found = this.#queue.extract(isCancelled)) {
      for (const item of found) this.#giveUpCancelled(item, this.parts.timer.nowMs());
    }
  }

  /** Sets the number of partitions of the destination's topics, including those that other processes own. */
  setPartitions(partitions: number): void {
    this.limits.rate.setPartitions(partitions);
  }

  /** Handles a partition while this process owns it. */
  own(assigned: Pick<AssignedPartition, "finish">, turn: Turn): OwnedPartition {
    this.limits.rate.own(1);
    this.parts.observer.owned();
    return new OwnedPartition(this, assigned, turn);
  }

  take(owner: OwnedPartition, records: readonly IncomingRecord[]): void {
    const arrivedAtMs = this.parts.timer.nowMs();
    this.parts.observer.took(records.length);
    if (owner.turn === "retry") this.limits.slots.expectRetry(arrivedAtMs);
    for (const record of records) {
      const key = record.key?.toString("latin1") ?? null;
      const item = { owner, key, record, arrivedAtMs, behind: null, after: null, unit: null };
      if (this.#giveUpCancelled(item, arrivedAtMs)) continue;
      const before = this.#queue.add(item);
      if (before !== null) this.#units.addFollowing(before, arrivedAtMs);
    }
    this.pump();
  }

  drain(owner: OwnedPartition): void {
    this.limits.rate.own(-1);
    this.parts.observer.left();
    this.#queue.drop(owner);
    this.#units.drop(owner);
  }

  /** Applies a report about an endpoint from another process. */
  heard(endpoint: EndpointKey, news: News): void {
    this.limits.gates.heard(endpoint, news, this.parts.timer.nowMs());
    this.pump();
  }

  endpoints(): readonly GateState[] {
    return this.limits.gates.states(this.parts.timer.nowMs());
  }

  /** The hold while all endpoints are unavailable. The caller handles paused and disabled destinations. */
  hold(): DestinationHold | null {
    return this.limits.gates.hold(this.parts.timer.nowMs());
  }

  /** Starts the deliveries that may start now. Call when the sender may have become ready. */
  pump(): void {
    let nowMs = this.parts.timer.nowMs();
    for (; !this.#isLimited; nowMs = this.parts.timer.nowMs()) {
      if (!this.#units.isEmpty && this.#startUnit(nowMs, false)) continue;
      const item = this.#queue.next(nowMs);
      if (item !== undefined) {
        this.#consider(item, nowMs);
        continue;
      }
      if (this.#units.isEmpty) return;
      if (!this.#startUnit(nowMs, true)) break;
    }
    const { dueAtMs } = this.#units;
    // Nothing would notice a time that has come since the units were asked, so no later reading of the clock is used.
    if (dueAtMs > nowMs && dueAtMs < Number.POSITIVE_INFINITY) this.#nextLook.at(dueAtMs);
  }

  settle({ item }: Call, { outputs }: Decision, trace: AttemptTrace | null, nowMs: number): void {
    if (outputs.length === 0) {
      this.#queue.end(item);
      item.owner.finish(item.record.offset);
      return;
    }
    const record = trace?.follow(item.record) ?? item.record;
    this.#replace(
      item,
      outputs.map((output) => replacement(output, record, this.#topics, nowMs)),
    );
    item.owner.leave();
  }

  putBack(calls: readonly Call[]): void {
    this.#queue.takeBack(calls.map(({ item }) => item));
    for (const { item } of calls) item.owner.leave();
  }

  /** Replaces the delivery with other records. The next delivery with its key may start. */
  #replace(item: InFlight, replacements: readonly Replacement[]): void {
    const { owner } = item;
    // Unlike the record, this object stays in memory until the write completes.
    const { offset } = item.record;
    owner.begin();
    for (const each of replacements) {
      if (each.kind === "retry") this.limits.slots.expectRetry(each.dueAtMs);
    }
    this.#queue.end(item);
    this.parts.writer.write(replacements, (isWritten) => {
      if (isWritten) owner.finish(offset);
      else owner.leave();
    });
  }

  get suppressionsVersion(): number {
    return this.parts.suppressions?.version ?? 0;
  }

  isSuppressed({ item: { record }, delivery }: Call): boolean {
    const { suppressions } = this.parts;
    return suppressions !== undefined && isSuppressed(delivery, parseContent(record), suppressions);
  }

  /** Ends a delivery without an attempt. A crash before the next commit only means that this is decided again. */
  #suppress(item: InFlight, delivery: Delivery, nowMs: number): void {
    item.owner.begin();
    this.#queue.end(item);
    this.parts.observer.suppressed(delivery, nowMs);
    item.owner.finish(item.record.offset);
  }

  #giveUpCancelled(item: InFlight, nowMs: number): boolean {
    const cancel = this.#cancellations.of(item.record);
    if (cancel === null) return false;
    const error = cancelledText(cancel);
    this.#replace(item, [deadLetter(item.record, "cancelled", error, this.#topics, nowMs)]);
    return true;
  }

  #consider(item: InFlight, nowMs: number): void {
    if (this.#giveUpCancelled(item, nowMs)) return;
    const { record } = item;
    const prepared = this.#prepare(item, nowMs);
    switch (prepared.kind) {
      case "unreadable":
        this.#replace(item, [
          deadLetter(record, "invalid-call", prepared.error, this.#topics, nowMs),
        ]);
        return;
      case "dead-letter":
      case "retry":
        this.#replace(item, [replacement(prepared, record, this.#topics, nowMs)]);
        return;
      case "suppressed":
        this.#suppress(item, prepared.delivery, nowMs);
        return;
      case "wait":
        this.#wait(item, prepared.endpoint, prepared.untilMs);
        return;
      case "attempt":
        this.#considerAttempt(item, prepared, nowMs);
    }
  }

  #prepare({ record, owner }: InFlight, nowMs: number): Prepared {
    const { destination, policy } = this.#settings;
    const { gates } = this.limits;
    const { suppressions = null } = this.parts;
    return prepare(record, destination, policy, nowMs, gates, owner.turn, suppressions);
  }

  #considerAttempt(item: InFlight, prepared: PreparedAttempt, nowMs: number): void {
    const { endpoints, otherwise } = prepared;
    const [first] = endpoints;
    if (first !== undefined && this.limits.gates.mustAllWait(endpoints)) {
      if (otherwise === null) this.#wait(item, first.key, prepared.untilMs);
      else this.#replace(item, [replacement(otherwise, item.record, this.#topics, nowMs)]);
      return;
    }
    if (this.#units.areUsed) {
      this.#units.add(item, prepared, nowMs);
      return;
    }
    if (!this.#takeRate(endpoints.length, nowMs)) {
      this.#queue.putBack(item);
      return;
    }
    const call = callOf(item, prepared);
    new Attempt(this, this.#settings, [call], nowMs).start(endpoints, [prepared]);
  }

  /**
   * Starts the next unit, or lets its deliveries be evaluated again.
   *
   * @param isRest true if nothing else can join an open unit now.
   * @returns false if no unit may start.
   */
  #startUnit(nowMs: number, isRest: boolean): boolean {
    const { slots } = this.limits;
    const unit = this.#units.next(nowMs, isRest, (turn) => slots.hasPlace(turn, nowMs));
    if (unit === undefined) return false;
    if (this.#units.isOutdated(unit, nowMs)) {
      this.#units.disband(unit);
      return true;
    }
    const { endpoints, calls } = unit;
    if (!this.#takeRate(endpoints.length, nowMs)) {
      this.#units.putBack(unit);
      return false;
    }
    for (const call of calls) beginWindow(call, nowMs);
    const measured = calls.map((call) => call.measured);
    new Attempt(this, this.#settings, calls, nowMs).start(endpoints, measured);
    return true;
  }

  #wait(item: InFlight, endpoint: EndpointKey, untilMs: number): void {
    this.#queue.hold(item, endpoint, untilMs);
    this.#releaseInTime();
  }

  /** Periodically checks the deliveries that wait for endpoints, until there are none left. */
  #releaseInTime(): void {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    const { timer } = this.parts;
    timer.after(RELEASE_EVERY_MS, () => {
      this.#isReleasing = false;
      if (this.#queue.release(timer.nowMs())) this.#releaseInTime();
      this.pump();
    });
  }

  /** Returns true if the rate limit allows these requests now. Otherwise, all deliveries have to wait. */
  #takeRate(requests: number, nowMs: number): boolean {
    const waitMs = this.limits.rate.take(nowMs, requests);
    if (waitMs === 0) return true;
    this.#isLimited = true;
    this.parts.timer.after(waitMs, () => {
      this.#isLimited = false;
      this.pump();
    });
    return false;
  }
}
