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
 *   is accepted, replaced or skipped    its offset counts as processed at once or later (`completions.ts`)
 *   is canceled while it waits          becomes a dead letter, even while the destination is on hold, unless its user is
 *                                       suppressed
 *   is on a partition being drained     is not started; an attempt in progress completes
 *   settings change                     an attempt in progress keeps the old settings; waiting deliveries are
 *                                       evaluated again with the new settings, even those in units and those whose
 *                                       owner is being confirmed (`confirm`)
 */

import assert from "node:assert/strict";
import type { Delivery } from "../../domain/delivery.ts";
import type { AttemptedDestination, Endpoint } from "../../domain/destination.ts";
import type { EndpointKey } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { type Controls, NO_CONTROLS } from "../control/operator-action-state.ts";
import type { Sender } from "../destinations/port.ts";
import { suppressedDelivery } from "../stage/content.ts";
import type { KnownSuppressions } from "../suppression/known-suppressions.ts";
import {
  Attempt,
  type AttemptHost,
  type AttemptObserver,
  type Limits,
  type Settings,
  settingsOf,
  type Timer,
  type UnitContent,
} from "./attempt.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import type { Turn } from "./circuit-breaker.ts";
import { Completions } from "./completions.ts";
import {
  EndpointGates,
  type EndpointObserver,
  type GateState,
  type News,
} from "./endpoint-availability.ts";
import type { DestinationHold } from "./endpoint-gate.ts";
import type { DeadLetterTopics, FollowUpWriter } from "./follow-up-record.ts";
import { holdCause } from "./hold-cause.ts";
import { type Call, type FinishingPartition, type InFlight, OwnedPartition } from "./in-flight.ts";
import { type Prepared, type PreparedAttempt, prepare } from "./prepare.ts";
import { Queue } from "./queue.ts";
import { RequestRate } from "./request-rate.ts";
import { SlotScheduler } from "./slot-scheduler.ts";
import { beginWindow, callOf, Units } from "./units.ts";

/** Much shorter than the margin for a last attempt (`choose-retry-delay.ts`). */
const RELEASE_EVERY_MS = 500;
/** During a longer wait, the time is checked at this interval, in case the clock was changed. */
const LOOK_AGAIN_MAX_MS = 60_000;

export interface PartitionObserver {
  owned(): void;
  /** @param count the number of records that were fetched. */
  took(count: number): void;
  left(): void;
  /** Called for a delivery that is processed without an attempt, because its user is suppressed. */
  suppressed(delivery: Delivery, nowMs: number): void;
}

/** What the deliveries of a destination use outside. */
export interface DispatchPorts {
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
  readonly ports: DispatchPorts;
  readonly limits: Limits;
  readonly completions: Completions;
  readonly #queue: Queue;
  readonly #units: Units;
  /** Replaced by `update`. Attempts in progress keep the settings with which they started. */
  #settings: Settings;
  /** True from the moment when the rate limit stops the next delivery until it may be worth another look. */
  #isLimited = false;
  /** True while a timer is set that releases retries which wait for endpoints. */
  #isReleasing = false;
  readonly #nextLook: NextLook;

  constructor(destination: AttemptedDestination, config: DispatchConfig, ports: DispatchPorts) {
    const { policy, topics, partitions } = config;
    const { concurrency, requestsPerSecond } = destination;
    const { sender, observer } = ports;
    const settings = settingsOf(destination, policy);
    const window = { concurrency, retryWindowMs: policy.retryWindowMs };
    const slots = new SlotScheduler(concurrency);
    const gates = new EndpointGates(settings.keys, window, observer, sender.readiness);
    this.ports = ports;
    this.limits = {
      slots,
      gates,
      rate: new RequestRate(requestsPerSecond, partitions, ports.timer),
    };
    this.#nextLook = new NextLook(ports.timer, () => this.pump());
    this.#settings = settings;
    const stillUntilMs = (nowMs: number) =>
      holdCause(this.#settings.destination)
        ? Number.POSITIVE_INFINITY
        : (gates.stopped(nowMs)?.untilMs ?? null);
    this.#queue = new Queue(gates, slots, stillUntilMs, (untilMs) => this.#nextLook.at(untilMs));
    const completions = new Completions(destination.id, topics, ports, this.#queue, slots);
    this.completions = completions;
    const prepareIt = (item: InFlight, nowMs: number) =>
      completions.isCancelled(item) ? null : this.#prepare(item, nowMs);
    this.#units = new Units(sender, this.#queue, gates, prepareIt, () => this.suppressionsVersion);
  }

  /**
   * Applies new settings of the same destination, and operator actions, before anything starts. The sender must already
   * use these settings. Canceled deliveries end: those in memory immediately, the others when they are fetched.
   */
  update(destination: AttemptedDestination, { earlyReleases, gone }: Controls = NO_CONTROLS): void {
    const { concurrency, requestsPerSecond } = destination;
    const { gates, slots, rate } = this.limits;
    this.#units.update();
    this.#settings = settingsOf(destination, this.#settings.policy);
    gates.update(this.#settings.keys, concurrency, gone);
    gates.probeProxies(this.ports.timer.nowMs());
    this.#queue.releaseAll();
    slots.allow(concurrency);
    if (this.completions.update(earlyReleases)) this.#cancel();
    rate.limit(requestsPerSecond);
    this.pump();
  }

  #cancel(): void {
    this.#units.disbandAll();
    const isCancelled = (item: InFlight) => this.completions.isCancelled(item);
    // `extract` finds only deliveries that may start. When one is removed, the next one with its key may start.
    let found = this.#queue.extract(isCancelled);
    for (; found.length > 0; found = this.#queue.extract(isCancelled)) {
      for (const item of found) this.completions.cancel(item, this.ports.timer.nowMs());
    }
  }

  /** Sets the number of partitions of the destination's topics, including those that other processes own. */
  setPartitions(partitions: number): void {
    this.limits.rate.setPartitions(partitions);
  }

  /** Handles a partition while this process owns it. */
  own(assigned: FinishingPartition, turn: Turn): OwnedPartition {
    this.limits.rate.own(1);
    this.ports.observer.owned();
    return new OwnedPartition(this, assigned, turn);
  }

  take(owner: OwnedPartition, records: readonly IncomingRecord[]): void {
    const arrivedAtMs = this.ports.timer.nowMs();
    this.ports.observer.took(records.length);
    if (owner.turn === "retry") this.limits.slots.expectRetry(arrivedAtMs);
    for (const record of records) {
      const key = record.key?.toString("latin1") ?? null;
      const item = { owner, key, record, arrivedAtMs, behind: null, after: null, unit: null };
      if (this.completions.cancel(item, arrivedAtMs)) continue;
      const before = this.#queue.add(item);
      if (before !== null) this.#units.addFollowing(before, arrivedAtMs);
    }
    this.pump();
  }

  drain(owner: OwnedPartition): void {
    this.ports.observer.left();
    this.#queue.drop(owner);
    this.#units.drop(owner);
    this.limits.rate.own(-1);
  }

  /** Applies a report about an endpoint from another process. */
  heard(endpoint: EndpointKey, news: News): void {
    this.limits.gates.heard(endpoint, news, this.ports.timer.nowMs());
    this.pump();
  }

  endpoints(): readonly GateState[] {
    return this.limits.gates.states(this.ports.timer.nowMs());
  }

  /** The hold while all endpoints are unavailable. The caller handles paused and disabled destinations. */
  hold(): DestinationHold | null {
    return this.limits.gates.hold(this.ports.timer.nowMs());
  }

  /** Starts the deliveries that may start now. Call when the sender may have become ready. */
  pump(): void {
    let nowMs = this.ports.timer.nowMs();
    for (; !this.#isLimited; nowMs = this.ports.timer.nowMs()) {
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

  putBack(calls: readonly Call[]): void {
    this.#queue.takeBack(calls.map(({ item }) => item));
    for (const { item } of calls) item.owner.leave();
  }

  get suppressionsVersion(): number {
    return this.ports.suppressions?.version ?? 0;
  }

  isSuppressed({ item }: Call): boolean {
    return suppressedDelivery(item.record, this.ports.suppressions) !== null;
  }

  #consider(item: InFlight, nowMs: number): void {
    if (this.completions.cancel(item, nowMs)) return;
    const prepared = this.#prepare(item, nowMs);
    switch (prepared.kind) {
      case "unreadable":
        this.completions.refuse(item, prepared.error, nowMs);
        return;
      case "dead-letter":
      case "retry":
        this.completions.replace(item, [prepared], nowMs);
        return;
      case "suppressed":
        this.completions.suppress(item, prepared.delivery, nowMs);
        return;
      case "wait":
        this.#wait(item, prepared.endpoints, prepared.untilMs);
        return;
      case "attempt":
        this.#considerAttempt(item, prepared, nowMs);
    }
  }

  #prepare({ record, owner }: InFlight, nowMs: number): Prepared {
    const { destination, policy } = this.#settings;
    const { gates } = this.limits;
    const { suppressions = null } = this.ports;
    return prepare(record, destination, policy, nowMs, gates, owner.turn, suppressions);
  }

  #considerAttempt(item: InFlight, prepared: PreparedAttempt, nowMs: number): void {
    const { endpoints, otherwise } = prepared;
    if (this.limits.gates.mustAllWait(endpoints)) {
      const keys = endpoints.map(({ key }) => key);
      if (otherwise === null) this.#wait(item, keys, prepared.untilMs);
      else this.completions.replace(item, [otherwise], nowMs);
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
    this.#start([callOf(item, prepared)], endpoints, [prepared], nowMs);
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
    this.#start(calls, endpoints, measured, nowMs);
    return true;
  }

  #start(
    calls: readonly Call[],
    endpoints: readonly Endpoint[],
    sent: UnitContent,
    nowMs: number,
  ): void {
    const settings = this.#settings;
    const version = this.suppressionsVersion;
    const attempt = new Attempt(this, settings, calls, nowMs);
    if (calls[0]?.item.owner.confirm === undefined) {
      const isStarted = attempt.start(endpoints, sent, nowMs);
      assert(isStarted, "no endpoint admitted a request of an attempt");
      return;
    }
    void lostBy(calls).then((owners) => {
      // No delivery of them starts any more.
      for (const owner of owners) void owner.drain();
      const startMs = this.ports.timer.nowMs();
      const isSuppressed = (call: Call) =>
        version !== this.suppressionsVersion && this.isSuppressed(call);
      const isOutdated = settings !== this.#settings || calls.some(isSuppressed);
      // Meanwhile, all of the endpoints may have become unavailable.
      if (owners.length > 0 || isOutdated || !attempt.start(endpoints, sent, startMs))
        attempt.abandon(startMs);
      this.pump();
    });
  }

  #wait(item: InFlight, endpoints: readonly EndpointKey[], untilMs: number): void {
    this.#queue.hold(item, endpoints, untilMs);
    this.#releaseInTime();
  }

  /** Periodically checks the deliveries that wait for endpoints, until there are none left. */
  #releaseInTime(): void {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    const { timer } = this.ports;
    timer.after(RELEASE_EVERY_MS, () => {
      this.#isReleasing = false;
      if (this.#queue.release(timer.nowMs())) this.#releaseInTime();
      this.pump();
    });
  }

  /** Returns true if the rate limit allows these requests now. Otherwise, all deliveries have to wait. */
  #takeRate(requests: number, nowMs: number): boolean {
    this.#isLimited = !this.limits.rate.take(requests, nowMs, () => {
      this.#isLimited = false;
      this.pump();
    });
    return !this.#isLimited;
  }
}

/** Returns the partitions of these deliveries that another process may own by now. */
async function lostBy(calls: readonly Call[]): Promise<readonly OwnedPartition[]> {
  const owners = [...new Set(calls.map(({ item }) => item.owner))];
  const areOurs = await Promise.all(owners.map(async ({ confirm }) => await confirm?.()));
  return owners.filter((_, at) => areOurs[at] === false);
}

/** A timer that lets deliveries be looked at again. Several requests for it share one timer. */
class NextLook {
  readonly #timer: Timer;
  readonly #look: () => void;
  /** In the past if no timer is set. */
  #atMs = Number.NEGATIVE_INFINITY;

  constructor(timer: Timer, look: () => void) {
    this.#timer = timer;
    this.#look = look;
  }

  /** Looks at this time, or earlier. */
  at(untilMs: number): void {
    const nowMs = this.#timer.nowMs();
    const atMs = Math.min(untilMs, nowMs + LOOK_AGAIN_MAX_MS);
    if (this.#atMs > nowMs && this.#atMs <= atMs) return;
    this.#atMs = atMs;
    this.#timer.after(atMs - nowMs, () => {
      // The timer may fire before this time on this clock; the time is then set again.
      this.#atMs = Number.NEGATIVE_INFINITY;
      this.#look();
    });
  }
}
