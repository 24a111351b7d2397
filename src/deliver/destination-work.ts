/**
 * Runs the deliveries of one destination: when each is attempted, and what happens next. Pure except for its
 * ports, so that simulations can run it on a manual clock.
 *
 *   a delivery                          what happens
 *   is fetched                          waits for its key, its endpoints, a slot under `concurrency`
 *                                       (`pending-deliveries.ts`) and the rate limit
 *   gets its turn                       `prepare.ts` decides: attempt, wait, schedule a retry, or dead-letter
 *   is attempted                        all requests run to completion, then `decide.ts` decides
 *   is accepted                         its offset counts as processed immediately
 *   is replaced by other records        its offset counts as processed when the brokers have acknowledged them;
 *                                       its key and slot are free before that
 *   is canceled while it waits          becomes a dead letter, even while the destination is on hold
 *   is on a partition being drained     is not started; an attempt in progress completes
 *   settings change                     an attempt in progress keeps the old ones, waiting deliveries are
 *                                       evaluated again with the new ones
 */

import assert from "node:assert/strict";
import type { EarlyRelease } from "../control/operator-actions.ts";
import { RETRY, type SendResult } from "../destinations/port.ts";
import type { AttemptedDestination, Endpoint } from "../domain/destination.ts";
import type { EndpointKey } from "../domain/ids.ts";
import type { PartitionHandler } from "../kafka/port.ts";
import type { WorkPorts } from "./active-attempt.ts";
import {
  type Attempt,
  decideAttempt,
  type Finishing,
  type Item,
  OwnedWork,
  type Settings,
  settingsOf,
} from "./active-attempt.ts";
import { Cancels } from "./cancellations.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import type { SlotFor, Ticket } from "./circuit-breaker.ts";
import { roundsIntegers } from "./content.ts";
import type { EndpointResult, Skipped } from "./decide.ts";
import {
  type DestinationHold,
  EndpointGates,
  type GateState,
  type News,
} from "./endpoint-availability.ts";
import {
  type DeadLetterTopics,
  deadLetter,
  type Replacement,
  replacement,
} from "./follow-up-record.ts";
import { lookingAgain, WaitingDeliveries } from "./pending-deliveries.ts";
import { holdCause, type PreparedAttempt, prepare } from "./prepare.ts";
import { RequestRate } from "./request-rate.ts";
import { SlotScheduler } from "./slot-scheduler.ts";

/** Far below the margin for a last attempt (`choose-retry-delay.ts`). */
const RELEASE_EVERY_MS = 500;
const SKIPPED: Skipped = { kind: "skipped" };

export class DestinationWork {
  #settings: Settings;
  readonly #policy: RetryPolicy;
  readonly #topics: DeadLetterTopics;
  readonly #ports: WorkPorts;
  readonly #gates: EndpointGates<Item>;
  readonly #slots: SlotScheduler;
  readonly #waiting: WaitingDeliveries<Item>;
  readonly #rate: RequestRate;
  /** The next delivery waits for the rate limit. */
  #isLimited = false;
  #isReleasing = false;
  readonly #cancels;

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
    const gates = new EndpointGates<Item>(this.#settings.keys, limits, ports.onCircuit, ports.tell);
    this.#gates = gates;
    this.#slots = new SlotScheduler(concurrency);
    const isStill = () => holdCause(this.#settings.destination) !== null || !this.#isReady();
    const lookAgain = lookingAgain(ports, () => this.#pump());
    this.#waiting = new WaitingDeliveries(gates, this.#slots, isStill, lookAgain);
    this.#rate = new RequestRate(requestsPerSecond, ports.partitions);
  }

  /** Applies new settings of the same destination. */
  update(destination: AttemptedDestination): void {
    const { concurrency, requestsPerSecond } = destination;
    this.#settings = settingsOf(destination);
    this.#gates.update(this.#settings.keys, concurrency);
    this.#slots.allow(concurrency);
    this.#rate.limit(requestsPerSecond);
    // Nothing waits for the earlier limit any more.
    this.#isLimited = false;
    this.#pump();
  }

  /** Dead-letters canceled deliveries, those in memory now and others when they are fetched. */
  cancel(earlyReleases: readonly EarlyRelease[]): void {
    this.#cancels.are(earlyReleases);
    const isCancelled = ({ record }: Item) => this.#cancels.has(record);
    // Removing one makes the next one with its key visible.
    let found = earlyReleases.length === 0 ? [] : this.#waiting.extract(isCancelled);
    for (; found.length > 0; found = this.#waiting.extract(isCancelled))
      for (const item of found) this.#giveUpCancelled(item);
    this.#pump();
  }

  /** Sets the number of partitions of the destination's topics, whoever owns them. */
  partitionsAre(partitions: number): void {
    this.#rate.isOf(partitions);
  }

  /** Handles a partition while this process owns it. */
  own(partition: Finishing, turn: SlotFor): PartitionHandler {
    const owner = new OwnedWork(partition, turn);
    this.#rate.owns(1);
    return {
      take: (records) => {
        if (owner.isDraining) return;
        if (turn === "retry") this.#slots.expectRetry(this.#ports.nowMs());
        for (const record of records) {
          const key = record.key?.toString("latin1") ?? null;
          const item = { owner, key, record, behind: null, after: null };
          if (!this.#giveUpCancelled(item)) this.#waiting.add(item);
        }
        this.#pump();
      },
      drain: () => {
        if (!owner.isDraining) this.#rate.owns(-1);
        owner.isDraining = true;
        this.#waiting.drop(owner);
        return owner.idle();
      },
    };
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

  /** The hold because all endpoints are unavailable. The caller handles pause and disable. */
  hold(): DestinationHold | null {
    return this.#gates.hold(this.#ports.nowMs());
  }

  #isReady(): boolean {
    return this.#ports.sender.readiness?.isReady() ?? true;
  }

  #pump(): void {
    while (!this.#isLimited) {
      const nowMs = this.#ports.nowMs();
      const item = this.#waiting.next(nowMs);
      if (item === undefined) return;
      if (!item.owner.isDraining) this.#consider(item, nowMs);
    }
  }

  #giveUpCancelled(item: Item): boolean {
    const cancelled = this.#cancels.deadLetter(item.record, this.#ports.nowMs());
    if (cancelled !== null) this.#replace(item, [cancelled]);
    return cancelled !== null;
  }

  #consider(item: Item, nowMs: number): void {
    if (this.#giveUpCancelled(item)) return;
    const { record, owner } = item;
    const gates = this.#gates.at(nowMs, this.#isReady() ? null : "token");
    const { destination } = this.#settings;
    const prepared = prepare(record, destination, this.#policy, nowMs, gates, owner.turn);
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
      case "wait":
        this.#wait(item, prepared.endpoint, prepared.untilMs);
        return;
      case "attempt":
        this.#considerAttempt(item, prepared, nowMs);
    }
  }

  #considerAttempt(item: Item, prepared: PreparedAttempt, nowMs: number): void {
    const { endpoints, otherwise } = prepared;
    const mustWait = ({ key }: Endpoint) => this.#gates.mustWait(key);
    const [first] = endpoints;
    if (first !== undefined && endpoints.every(mustWait)) {
      if (otherwise === null) this.#wait(item, first.key, prepared.untilMs);
      else this.#replace(item, [replacement(otherwise, item.record, this.#topics, nowMs)]);
    } else if (this.#goes(item, endpoints.length, nowMs)) {
      this.#start(item, prepared, nowMs);
    }
  }

  #wait(item: Item, endpoint: EndpointKey, untilMs: number): void {
    this.#gates.wait(endpoint, item, untilMs);
    this.#releaseInTime();
  }

  /** Checks deliveries that wait for endpoints, as long as there are any. */
  #releaseInTime(): void {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    this.#ports.after(RELEASE_EVERY_MS, () => {
      this.#isReleasing = false;
      if (this.#gates.release(this.#ports.nowMs())) this.#releaseInTime();
      this.#pump();
    });
  }

  /** True if the rate limit allows a delivery now; otherwise all deliveries wait. */
  #goes(item: Item, requests: number, nowMs: number): boolean {
    const waitMs = this.#rate.take(nowMs, requests);
    if (waitMs === 0) return true;
    this.#waiting.putBack(item);
    this.#isLimited = true;
    this.#ports.after(waitMs, () => {
      this.#isLimited = false;
      this.#pump();
    });
    return false;
  }

  #start(item: Item, prepared: PreparedAttempt, nowMs: number): void {
    const { delivery, endpoints, held } = prepared;
    if (delivery.attempt === 0 && roundsIntegers(prepared.text)) this.#ports.onRounded();
    const { turn } = item.owner;
    this.#slots.started(turn);
    item.owner.begin();
    this.#ports.onStart();
    const skipped = ({ key }: Endpoint): EndpointResult => ({
      endpoint: key,
      result: SKIPPED,
      outcome: RETRY,
    });
    const settings = this.#settings;
    const results = held.map(skipped);
    const trace = this.#ports.trace?.(item.record, delivery, settings.destination) ?? null;
    const startedAtMs = nowMs;
    const attempt: Attempt = { item, settings, delivery, results, startedAtMs, pending: 0, trace };
    const sender = trace ?? this.#ports.sender;
    const shared = this.#ports.sender.prepare([prepared], nowMs);
    for (const endpoint of endpoints) {
      const ticket = this.#gates.admit(endpoint.key, nowMs, turn);
      if (ticket === null) {
        attempt.results.push(skipped(endpoint));
        continue;
      }
      attempt.pending += 1;
      sender.send(endpoint, shared, (result) => this.#answered(attempt, endpoint, ticket, result));
    }
    assert(attempt.pending > 0);
  }

  #answered(attempt: Attempt, { key }: Endpoint, ticket: Ticket, result: SendResult): void {
    const endedAtMs = this.#ports.nowMs();
    const outcome = this.#ports.sender.judge(result, endedAtMs);
    this.#gates.settle(key, ticket, outcome, endedAtMs);
    attempt.results.push({ endpoint: key, result, outcome });
    attempt.pending -= 1;
    if (attempt.pending > 0) {
      this.#pump();
      return;
    }
    const { item, delivery, results, trace } = attempt;
    const decision = decideAttempt(attempt, this.#policy, endedAtMs);
    this.#slots.ended(item.owner.turn, endedAtMs - attempt.startedAtMs);
    this.#ports.onAttempted({ delivery, results, decision, endedAtMs });
    trace?.end(decision, endedAtMs);
    const { outputs } = decision;
    if (outputs.length === 0) {
      this.#waiting.end(item);
      item.owner.finish(item.record.offset);
    } else {
      const record = trace?.follow(item.record) ?? item.record;
      this.#replace(
        item,
        outputs.map((output) => replacement(output, record, this.#topics, endedAtMs)),
      );
      item.owner.leave();
    }
    this.#pump();
  }

  /** Replaces the delivery with other records. The next delivery with its key may start. */
  #replace(item: Item, replacements: readonly Replacement[]): void {
    const { owner } = item;
    // Unlike the record, this stays in memory until the write completes.
    const { offset } = item.record;
    owner.begin();
    for (const each of replacements) {
      if (each.kind === "retry") this.#slots.expectRetry(each.dueAtMs);
    }
    this.#waiting.end(item);
    this.#ports.write(replacements, (isWritten) => {
      if (isWritten) owner.finish(offset);
      else owner.leave();
    });
  }
}
