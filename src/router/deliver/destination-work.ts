/**
 * Runs the deliveries of one destination: when each is attempted, and what happens next. Pure except for its
 * ports, so that simulations can run it on a manual clock.
 *
 *   a delivery                          what happens
 *   is fetched                          waits for its key, its endpoints, a slot under `concurrency`
 *                                       (`pending-deliveries.ts`) and the rate limit
 *   gets its turn                       `prepare.ts` decides: attempt, wait, schedule a retry, or dead-letter
 *   may share a request with others     waits for them in a unit (`gathering.ts`)
 *   is attempted                        all requests run to completion, then `decide.ts` decides (`request-rounds.ts`)
 *   is accepted                         its offset counts as processed immediately
 *   is replaced by other records        its offset counts as processed when the brokers have acknowledged them;
 *                                       its key and slot are free before that
 *   is canceled while it waits          becomes a dead letter, even while the destination is on hold
 *   is on a partition being drained     is not started; an attempt in progress completes
 *   settings change                     an attempt in progress keeps the old settings; waiting deliveries are
 *                                       evaluated again with the new settings, even those in units
 */

import type { Delivery } from "../../domain/delivery.ts";
import type { AttemptedDestination, Endpoint } from "../../domain/destination.ts";
import type { EndpointKey } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { PartitionHandler } from "../../kafka/port.ts";
import type { EarlyRelease } from "../control/operator-actions.ts";
import type { UnitLimits } from "../destinations/port.ts";
import {
  type Finishing,
  type Item,
  OwnedWork,
  type Settings,
  settingsOf,
  type Unit,
  type UnitCall,
  type WorkPorts,
} from "./active-attempt.ts";
import { Cancels } from "./cancellations.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import type { SlotFor } from "./circuit-breaker.ts";
import { roundsIntegers } from "./content.ts";
import {
  type DestinationHold,
  EndpointGates,
  type GateState,
  type News,
} from "./endpoint-availability.ts";
import { type DeadLetterTopics, deadLetter, replacement } from "./follow-up-record.ts";
import { Gathering, type Group, joinsBehind } from "./gathering.ts";
import { lookingAgain, WaitingDeliveries } from "./pending-deliveries.ts";
import { holdCause, type Prepared, type PreparedAttempt, prepare } from "./prepare.ts";
import { RequestRate, RequestRounds, skipped } from "./request-rounds.ts";
import { SlotScheduler } from "./slot-scheduler.ts";

/** Much shorter than the margin for a last attempt (`choose-retry-delay.ts`). */
const RELEASE_EVERY_MS = 500;

export class DestinationWork {
  #settings: Settings;
  readonly #policy: RetryPolicy;
  readonly #topics: DeadLetterTopics;
  readonly #ports: WorkPorts;
  readonly #gates: EndpointGates<Item>;
  readonly #slots: SlotScheduler;
  readonly #waiting: WaitingDeliveries<Item>;
  readonly #rate: RequestRate;
  /** True if the next delivery waits for the rate limit. */
  #isLimited = false;
  #isReleasing = false;
  readonly #cancels;
  readonly #rounds: RequestRounds;
  /** Null if each delivery is sent alone. */
  #limits: UnitLimits | null;
  readonly #gathering = new Gathering();
  readonly #lookAgain: (atMs: number) => void;

  constructor(
    destination: AttemptedDestination,
    policy: RetryPolicy,
    topics: DeadLetterTopics,
    ports: WorkPorts,
  ) {
    this.#settings = settingsOf(destination);
    this.#policy = policy;
    this.#topics = topics;
    this.#cancels = new Cancels(destination.id, topics);
    this.#ports = ports;
    const { concurrency, requestsPerSecond } = destination;
    const limits = { concurrency, retryWindowMs: policy.retryWindowMs };
    const gates = new EndpointGates<Item>(this.#settings.keys, limits, ports);
    this.#gates = gates;
    this.#slots = new SlotScheduler(concurrency);
    const isStill = () => holdCause(this.#settings.destination) !== null || !this.#isReady();
    this.#lookAgain = lookingAgain(ports, () => this.#pump());
    this.#waiting = new WaitingDeliveries(gates, this.#slots, isStill, this.#lookAgain);
    this.#rate = new RequestRate(requestsPerSecond, ports.partitions);
    this.#limits = ports.sender.limits();
    const [slots, waiting, rate] = [this.#slots, this.#waiting, this.#rate];
    const pump = () => this.#pump();
    this.#rounds = new RequestRounds({ policy, topics, ports, gates, slots, waiting, rate, pump });
  }

  /** Applies new settings of the same destination. The sender must already use these settings. */
  update(destination: AttemptedDestination): void {
    const { concurrency, requestsPerSecond } = destination;
    this.#disbandAll();
    this.#settings = settingsOf(destination);
    this.#limits = this.#ports.sender.limits();
    this.#gates.update(this.#settings.keys, concurrency);
    this.#slots.allow(concurrency);
    this.#rate.limit(requestsPerSecond);
    // The previous rate limit no longer applies.
    this.#isLimited = false;
    this.#pump();
  }

  /** Dead-letters canceled deliveries: those in memory immediately, the others when they are fetched. */
  cancel(earlyReleases: readonly EarlyRelease[]): void {
    this.#cancels.are(earlyReleases);
    if (earlyReleases.length > 0) this.#disbandAll();
    const isCancelled = ({ record }: Item) => this.#cancels.has(record);
    // `extract` finds only deliveries that may start. When one is removed, the next one with its key may start.
    let found = earlyReleases.length === 0 ? [] : this.#waiting.extract(isCancelled);
    for (; found.length > 0; found = this.#waiting.extract(isCancelled))
      for (const item of found) this.#giveUpCancelled(item, this.#ports.nowMs());
    this.#pump();
  }

  /** Sets the number of partitions of the destination's topics, including those that other processes own. */
  partitionsAre(partitions: number): void {
    this.#rate.isOf(partitions);
  }

  /** Handles a partition while this process owns it. */
  own(partition: Finishing, turn: SlotFor): PartitionHandler {
    this.#rate.owns(1);
    return new OwnedWork(this, partition, turn);
  }

  /** Called by a partition that is not being drained. */
  take(owner: OwnedWork, records: readonly IncomingRecord[]): void {
    const arrivedAtMs = this.#ports.nowMs();
    if (owner.turn === "retry") this.#slots.expectRetry(arrivedAtMs);
    for (const record of records) {
      const key = record.key?.toString("latin1") ?? null;
      const item = { owner, key, record, arrivedAtMs, behind: null, after: null, unit: null };
      if (!this.#giveUpCancelled(item, arrivedAtMs)) this.#add(item, arrivedAtMs);
    }
    this.#pump();
  }

  /** Called by a partition that is being drained. */
  drain(owner: OwnedWork): void {
    if (!owner.isDraining) this.#rate.owns(-1);
    owner.isDraining = true;
    this.#waiting.drop(owner);
    this.#gathering.drop(owner);
  }

  /** Call when the sender may have become ready. */
  proceed(): void {
    this.#pump();
  }

  /** Applies a report about an endpoint from another process. */
  heard(endpoint: EndpointKey, news: News): void {
    this.#gates.heard(endpoint, news, this.#ports.nowMs());
    this.#pump();
  }

  endpoints(): readonly GateState[] {
    return this.#gates.states(this.#ports.nowMs());
  }

  /**
   * The hold that exists because all endpoints are unavailable. The caller handles paused and disabled destinations.
   */
  hold(): DestinationHold | null {
    return this.#gates.hold(this.#ports.nowMs());
  }

  #isReady(): boolean {
    return this.#ports.sender.readiness?.isReady() ?? true;
  }

  /** A delivery may join the unit of an earlier one with the same key, if that unit is open. */
  #add(item: Item, nowMs: number): void {
    const before = this.#waiting.add(item);
    if (before !== null && before.unit !== null && !before.unit.isClosed) {
      this.#joinFollowing(before, before.unit, nowMs);
    }
  }

  #pump(): void {
    while (!this.#isLimited) {
      const nowMs = this.#ports.nowMs();
      if (!this.#gathering.isEmpty && this.#startUnit(nowMs, false)) continue;
      const item = this.#waiting.next(nowMs);
      if (item !== undefined) {
        if (!item.owner.isDraining) this.#consider(item, nowMs);
        continue;
      }
      if (this.#gathering.isEmpty) return;
      if (!this.#startUnit(nowMs, true)) break;
    }
    const { dueAtMs } = this.#gathering;
    if (dueAtMs > this.#ports.nowMs() && dueAtMs < Number.POSITIVE_INFINITY) {
      this.#lookAgain(dueAtMs);
    }
  }

  #giveUpCancelled(item: Item, nowMs: number): boolean {
    const cancelled = this.#cancels.deadLetter(item.record, nowMs);
    if (cancelled !== null) this.#rounds.replace(item, [cancelled]);
    return cancelled !== null;
  }

  #consider(item: Item, nowMs: number): void {
    if (this.#giveUpCancelled(item, nowMs)) return;
    const { record } = item;
    const prepared = this.#prepare(item, nowMs);
    switch (prepared.kind) {
      case "unreadable":
        this.#rounds.replace(item, [
          deadLetter(record, "invalid-call", prepared.error, this.#topics, nowMs),
        ]);
        return;
      case "dead-letter":
      case "retry":
        this.#rounds.replace(item, [replacement(prepared, record, this.#topics, nowMs)]);
        return;
      case "wait":
        this.#wait(item, prepared.endpoint, prepared.untilMs);
        return;
      case "attempt":
        this.#considerAttempt(item, prepared, nowMs);
    }
  }

  #prepare({ record, owner }: Item, nowMs: number): Prepared {
    const gates = this.#gates.at(nowMs, this.#isReady() ? null : "token");
    const { destination } = this.#settings;
    return prepare(record, destination, this.#policy, nowMs, gates, owner.turn);
  }

  #considerAttempt(item: Item, prepared: PreparedAttempt, nowMs: number): void {
    const { endpoints, otherwise } = prepared;
    const [first] = endpoints;
    if (first !== undefined && this.#mustWait(endpoints)) {
      if (otherwise === null) this.#wait(item, first.key, prepared.untilMs);
      else this.#rounds.replace(item, [replacement(otherwise, item.record, this.#topics, nowMs)]);
    } else if (this.#limits !== null) {
      this.#gather(item, prepared, this.#limits, nowMs);
    } else if (this.#goes(endpoints.length, nowMs)) {
      const { delivery, held, text } = prepared;
      const results = held.map(skipped);
      const call = {
        item,
        delivery,
        results,
        isRounded: isRounded(delivery, text),
        measured: null,
      };
      this.#rounds.start([call], endpoints, [prepared], this.#settings, nowMs);
    } else {
      this.#waiting.putBack(item);
    }
  }

  #mustWait(endpoints: readonly Endpoint[]): boolean {
    return endpoints.every(({ key }) => this.#gates.mustWait(key));
  }

  #gather(item: Item, prepared: PreparedAttempt, limits: UnitLimits, nowMs: number): void {
    const call = this.#unitCall(item, prepared, false);
    const unit = this.#gathering.add(call, this.#groupOf(item, prepared, nowMs), limits);
    this.#joinFollowing(item, unit, nowMs);
  }

  /** Adds deliveries with the same key to the unit, if there is room for them. */
  #joinFollowing(before: Item, unit: Unit, nowMs: number): void {
    let next = this.#waiting.following(before);
    while (next !== null && next.unit === null && !unit.isClosed && this.#joins(next, unit, nowMs))
      next = this.#waiting.following(next);
  }

  #joins(item: Item, unit: Unit, nowMs: number): boolean {
    const limits = this.#limits;
    if (limits === null || this.#cancels.has(item.record)) return false;
    const prepared = this.#prepare(item, nowMs);
    if (prepared.kind !== "attempt") return false;
    const call = this.#unitCall(item, prepared, true);
    return joinsBehind(unit, call, this.#groupOf(item, prepared, nowMs), limits);
  }

  #unitCall(item: Item, prepared: PreparedAttempt, follows: boolean): UnitCall {
    const { delivery, held, text, untilMs } = prepared;
    const measured = this.#ports.sender.measure(prepared);
    const results = held.map(skipped);
    const hasRounded = isRounded(delivery, text);
    return { item, delivery, results, isRounded: hasRounded, measured, follows, untilMs };
  }

  #groupOf({ owner }: Item, { endpoints }: PreparedAttempt, nowMs: number): Group {
    return {
      turn: owner.turn,
      endpoints,
      availability: this.#gates.availability(endpoints, nowMs),
    };
  }

  /**
   * Starts the next unit. If the availability of the unit's endpoints has changed since it was opened,
   * evaluates the unit's deliveries again instead.
   *
   * @param isRest true if nothing else can join an open unit now.
   * @returns false if no unit may start.
   */
  #startUnit(nowMs: number, isRest: boolean): boolean {
    const hasPlace = (turn: SlotFor) => this.#slots.hasPlace(turn, nowMs);
    const unit = this.#gathering.next(nowMs, isRest, hasPlace);
    if (unit === undefined) return false;
    const { endpoints } = unit;
    const isChanged =
      this.#gates.availability(endpoints, nowMs) !== unit.availability || !this.#isReady();
    const isLate = unit.calls.some(({ untilMs }) => untilMs < nowMs);
    if (isChanged || isLate || this.#mustWait(endpoints)) {
      this.#disband(unit);
      return true;
    }
    if (!this.#goes(endpoints.length, nowMs)) {
      this.#gathering.putBack(unit);
      return false;
    }
    const { calls } = unit;
    for (const call of calls) begin(call, nowMs);
    const measured = calls.map((call) => call.measured);
    this.#rounds.start(calls, endpoints, measured, this.#settings, nowMs);
    return true;
  }

  /** Dissolves the unit: its deliveries wait again, in the same order. */
  #disband({ calls }: Unit): void {
    for (const { item, follows } of calls.toReversed()) {
      item.unit = null;
      if (!follows) this.#waiting.putBack(item);
    }
  }

  #disbandAll(): void {
    for (const unit of this.#gathering.takeAll().toReversed()) this.#disband(unit);
  }

  #wait(item: Item, endpoint: EndpointKey, untilMs: number): void {
    this.#gates.wait(endpoint, item, untilMs);
    this.#releaseInTime();
  }

  /** Periodically checks the deliveries that wait for endpoints, until there are none left. */
  #releaseInTime(): void {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    this.#ports.after(RELEASE_EVERY_MS, () => {
      this.#isReleasing = false;
      if (this.#gates.release(this.#ports.nowMs())) this.#releaseInTime();
      this.#pump();
    });
  }

  /** Returns true if the rate limit allows these requests now. Otherwise, all deliveries have to wait. */
  #goes(requests: number, nowMs: number): boolean {
    const waitMs = this.#rate.take(nowMs, requests);
    if (waitMs === 0) return true;
    this.#isLimited = true;
    this.#ports.after(waitMs, () => {
      this.#isLimited = false;
      this.#pump();
    });
    return false;
  }
}

function isRounded({ attempt }: Delivery, text: string): boolean {
  return attempt === 0 && roundsIntegers(text);
}

/** The retry window starts with the first attempt, not with the time at which the delivery joined its unit. */
function begin(call: UnitCall, nowMs: number): void {
  const { delivery } = call;
  const isFirst = delivery.attempt === 0 && delivery.endpoint === null;
  if (!isFirst || delivery.firstAttemptAtMs === nowMs) return;
  call.delivery = { ...delivery, firstAttemptAtMs: nowMs };
}
