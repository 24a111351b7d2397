/**
 * Sends a unit of deliveries, judges the responses, and carries out what `decide.ts` decides for each
 * delivery. A unit contains one delivery or, if the destination's type allows batches, the deliveries that
 * `gathering.ts` has put together.
 *
 *   a round of requests                      then
 *   starts                                   one request to each endpoint, in parallel
 *   ends, and no response splits the unit    each delivery is decided by its own results
 *   ends, and some endpoints split it        two halves are sent to these endpoints, one after the other, within the same slot
 *
 *   a delivery of a unit that is split       is
 *   accepted by another endpoint             decided at once, unless all endpoints must accept it
 *   any other delivery                       part of smaller and smaller units, until a response does not split its unit
 *
 * So if only one delivery is rejected, only that delivery becomes a dead letter, and the others lose no
 * attempt: all rounds count as one attempt, which ends with the last round. Each request counts toward
 * `requestsPerSecond` and is reported to the circuit breakers, even if it contains only half of the
 * deliveries. An endpoint that becomes unavailable between two rounds is skipped.
 *
 *   the deliveries of an accepted request    count as processed
 *   with one endpoint, or `any`              in one synchronous step, when the request ends
 *   with several endpoints that all must     in one synchronous step, when the last round ends, because one request can
 *   accept                                   concern deliveries of several rounds
 *
 * One commit therefore covers all of these deliveries, and after a crash before the commit, all of them are repeated.
 */

import assert from "node:assert/strict";
import type { Endpoint } from "../../domain/destination.ts";
import { createRateLimiter, type RateLimiter } from "../../domain/rate-limit.ts";
import {
  type CallVerdict,
  type Measured,
  type Outcome,
  RETRY,
  responded,
  type Sendable,
  type SendResult,
} from "../destinations/port.ts";
import {
  type Attempt,
  type Call,
  decideCall,
  type Item,
  type Part,
  type Settings,
  type Split,
  type WorkPorts,
} from "./active-attempt.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import type { Ticket } from "./circuit-breaker.ts";
import { type Decision, type EndpointResult, isAccepted, type Skipped } from "./decide.ts";
import type { EndpointGates } from "./endpoint-availability.ts";
import { type DeadLetterTopics, type Replacement, replacement } from "./follow-up-record.ts";
import type { WaitingDeliveries } from "./pending-deliveries.ts";
import type { SlotScheduler } from "./slot-scheduler.ts";

const SKIPPED: Skipped = { kind: "skipped" };

const NO_SPLITS: readonly Split[] = [];
const NO_PARTS: readonly Part[] = [];

/** The deliveries to send. They are measured if the unit may contain more than one delivery. */
type Sent = readonly Sendable[] | readonly Measured[];

interface Shared {
  readonly policy: RetryPolicy;
  readonly topics: DeadLetterTopics;
  readonly ports: WorkPorts;
  readonly gates: EndpointGates<Item>;
  readonly slots: SlotScheduler;
  readonly waiting: WaitingDeliveries<Item>;
  readonly rate: RequestRate;
  /** Starts the deliveries that may start now that a request has ended. */
  readonly pump: () => void;
}

export function skipped({ key }: Endpoint): EndpointResult {
  return { endpoint: key, result: SKIPPED, outcome: RETRY };
}

export class RequestRounds {
  readonly #shared: Shared;

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  /** Starts an attempt in a separate slot. At least one of the endpoints must admit a request. */
  start(
    calls: readonly Call[],
    endpoints: readonly Endpoint[],
    sent: Sent,
    settings: Settings,
    nowMs: number,
  ): void {
    const { ports, slots } = this.#shared;
    const turn = calls[0]?.item.owner.turn ?? "queue";
    slots.started(turn);
    for (const { item, isRounded } of calls) {
      item.owner.begin();
      ports.onStart();
      if (isRounded) ports.onRounded();
    }
    const attempt: Attempt = {
      settings,
      turn,
      startedAtMs: nowMs,
      trace: ports.trace?.(calls, settings.destination) ?? null,
      calls,
      prepared: null,
      name: null,
      pending: 0,
      splits: NO_SPLITS,
      rest: NO_PARTS,
      later: null,
      decision: "accepted",
    };
    this.#send(attempt, endpoints, sent, nowMs);
    assert(attempt.pending > 0);
  }

  #send(attempt: Attempt, endpoints: readonly Endpoint[], sent: Sent, nowMs: number): void {
    const { ports, gates } = this.#shared;
    const { trace } = attempt;
    const prepared = ports.sender.prepare(sent, nowMs);
    attempt.prepared = prepared;
    attempt.name = ports.sender.nameOf(prepared);
    for (const endpoint of endpoints) {
      const ticket = gates.admit(endpoint.key, nowMs, attempt.turn);
      if (ticket === null) {
        for (const call of attempt.calls) add(call, [skipped(endpoint)]);
        continue;
      }
      attempt.pending += 1;
      const done = (result: SendResult) => this.#ended(attempt, endpoint, ticket, result);
      if (trace === null) ports.sender.send(endpoint, prepared, done, ports.phases?.());
      else trace.send(endpoint, prepared, done);
    }
  }

  #ended(attempt: Attempt, endpoint: Endpoint, ticket: Ticket, result: SendResult): void {
    const { ports, gates, pump } = this.#shared;
    const endedAtMs = ports.nowMs();
    const outcome =
      attempt.name === null
        ? this.#judge(attempt, endpoint, result, endedAtMs)
        : this.#judgeUnit(attempt, endpoint, result, endedAtMs);
    gates.settle(endpoint.key, ticket, outcome, endedAtMs);
    ports.onResult(result);
    attempt.pending -= 1;
    if (attempt.pending === 0) {
      this.#decide(attempt, this.#split(attempt), endedAtMs);
      this.#proceed(attempt, endedAtMs);
    }
    pump();
  }

  #judge(attempt: Attempt, { key }: Endpoint, result: SendResult, nowMs: number): Outcome {
    const outcome = this.#shared.ports.sender.judge(result, nowMs);
    const [call] = attempt.calls;
    if (call !== undefined) add(call, [{ endpoint: key, result, outcome }]);
    return outcome;
  }

  #judgeUnit(attempt: Attempt, endpoint: Endpoint, result: SendResult, nowMs: number): Outcome {
    const { ports } = this.#shared;
    const { outcome, calls, isSplit, isUnreadable } = ports.sender.judgeUnit(
      result,
      attempt.prepared,
      nowMs,
    );
    if (isUnreadable) ports.onUnreadable();
    if (isSplit) {
      attempt.splits = [...attempt.splits, { endpoint, result }];
      return outcome;
    }
    const whole = { endpoint: endpoint.key, result, outcome };
    const shared = [whole];
    attempt.calls.forEach((call, at) => {
      const verdict = calls?.[at];
      add(call, verdict === undefined ? shared : [resultOf(verdict, whole)]);
    });
    return outcome;
  }

  /** Called after a round has ended. Returns the deliveries to send again, and decides what happens to the others. */
  #split(attempt: Attempt): readonly Call[] {
    const { splits, calls, settings } = attempt;
    if (splits.length === 0) return calls;
    attempt.splits = NO_SPLITS;
    const isAny = settings.destination.deliver === "any";
    const isEnded = ({ results }: Call) => isAny && results.some(isAccepted);
    const ended = calls.filter(isEnded);
    for (const call of ended) add(call, splits.map(rejectedBy));
    const endpoints = splits.map(({ endpoint }) => endpoint);
    const parts = halves(calls.filter((call) => !isEnded(call)));
    attempt.rest = [...parts.map((half) => ({ calls: half, endpoints })), ...attempt.rest];
    if (!isAny && settings.keys.length > 1) attempt.later ??= [];
    return ended;
  }

  /** Sends the next part of an attempt, if there is one and the rate limit allows it. */
  #proceed(attempt: Attempt, endedAtMs: number): void {
    const { ports, rate, pump } = this.#shared;
    for (;;) {
      const [part, ...rest] = attempt.rest;
      if (part === undefined) break;
      const nowMs = ports.nowMs();
      const waitMs = rate.take(nowMs, part.endpoints.length);
      if (waitMs > 0) {
        ports.after(waitMs, () => {
          this.#proceed(attempt, ports.nowMs());
          pump();
        });
        return;
      }
      attempt.rest = rest;
      attempt.calls = part.calls;
      this.#send(attempt, part.endpoints, part.calls.map(measuredOf), nowMs);
      if (attempt.pending > 0) return;
      this.#decide(attempt, attempt.calls, nowMs);
    }
    this.#complete(attempt, endedAtMs);
  }

  #decide(attempt: Attempt, calls: readonly Call[], endedAtMs: number): void {
    const { ports, policy } = this.#shared;
    const { settings, name, later } = attempt;
    for (const call of calls) {
      const { delivery, results } = call;
      const decision = decideCall(call, settings, policy, endedAtMs);
      if (attempt.decision === "accepted") attempt.decision = decision.name;
      const { names } = settings;
      ports.onAttempted({ delivery, results, decision, names, endedAtMs, batch: name });
      if (later === null) this.#finish(attempt, call.item, decision, endedAtMs);
      else later.push(() => this.#finish(attempt, call.item, decision, endedAtMs));
    }
  }

  #complete({ turn, startedAtMs, trace, decision, later }: Attempt, endedAtMs: number): void {
    this.#shared.slots.ended(turn, endedAtMs - startedAtMs);
    trace?.end(decision, endedAtMs);
    for (const finish of later ?? []) finish();
  }

  #finish({ trace }: Attempt, item: Item, { outputs }: Decision, endedAtMs: number): void {
    const { waiting, topics } = this.#shared;
    if (outputs.length === 0) {
      waiting.end(item);
      item.owner.finish(item.record.offset);
      return;
    }
    const record = trace?.follow(item.record) ?? item.record;
    this.replace(
      item,
      outputs.map((output) => replacement(output, record, topics, endedAtMs)),
    );
    item.owner.leave();
  }

  /** Replaces the delivery with other records. The next delivery with its key may start. */
  replace(item: Item, replacements: readonly Replacement[]): void {
    const { waiting, slots, ports } = this.#shared;
    const { owner } = item;
    // Unlike the record, this object stays in memory until the write completes.
    const { offset } = item.record;
    owner.begin();
    for (const each of replacements) {
      if (each.kind === "retry") slots.expectRetry(each.dueAtMs);
    }
    waiting.end(item);
    ports.write(replacements, (isWritten) => {
      if (isWritten) owner.finish(offset);
      else owner.leave();
    });
  }
}

/** The deliveries of a request share its result, without a list for each of them. */
function add(call: Call, results: readonly EndpointResult[]): void {
  call.results = call.results.length === 0 ? results : [...call.results, ...results];
}

function rejectedBy({ endpoint, result }: Split): EndpointResult {
  return { endpoint: endpoint.key, result, outcome: { kind: "rejected" } };
}

/** Divides deliveries into two halves; a single delivery stays together. */
function halves(calls: readonly Call[]): readonly (readonly Call[])[] {
  const middle = Math.ceil(calls.length / 2);
  return [calls.slice(0, middle), calls.slice(middle)].filter(({ length }) => length > 0);
}

/** Returns the measured delivery. It exists, because only units of several deliveries are split. */
function measuredOf({ measured }: Call): Measured {
  assert(measured !== null);
  return measured;
}

/** The result of one delivery, if the response contains a status for each delivery of the request. */
function resultOf({ outcome, status, error }: CallVerdict, whole: EndpointResult): EndpointResult {
  const { endpoint, result } = whole;
  if (result.kind !== "response") return whole;
  const { retryAfter, durationMs, phases } = result;
  const kept = outcome.kind === "accepted" || error === null ? null : phases?.keepBytes;
  const own =
    kept === null || kept === undefined || error === null
      ? phases
      : { ...phases, kept: [Buffer.from(error).subarray(0, kept)] };
  return { endpoint, result: responded(status, retryAfter, durationMs, own), outcome };
}

/**
 * Limits the requests of this process to its share of a destination's `requestsPerSecond`. A process that
 * owns a third of the destination's partitions gets a third of the limit.
 */
export class RequestRate {
  #perSecond: number | null;
  #partitions: number;
  #limiter: RateLimiter | null = null;
  #owned = 0;

  /** @param perSecond null if there is no limit. */
  constructor(perSecond: number | null, partitions: number) {
    this.#perSecond = perSecond;
    this.#partitions = partitions;
    this.#set();
  }

  /** Changes the limit; requests in the last second still count. */
  limit(perSecond: number | null): void {
    this.#perSecond = perSecond;
    this.#set();
  }

  /** Sets the number of partitions of the topics. */
  isOf(partitions: number): void {
    this.#partitions = partitions;
    this.#set();
  }

  /** Adds one to the number of owned partitions, or subtracts one. */
  owns(change: 1 | -1): void {
    this.#owned += change;
    this.#set();
  }

  /**
   * Returns 0 if the requests may be sent now, and otherwise the number of milliseconds to wait before the next call.
   */
  take(nowMs: number, requests: number): number {
    return this.#limiter?.take(nowMs, requests) ?? 0;
  }

  #set(): void {
    if (this.#perSecond === null) {
      this.#limiter = null;
      return;
    }
    this.#limiter ??= createRateLimiter(this.#perSecond);
    if (this.#owned === 0) return;
    this.#limiter.setRate(this.#perSecond * Math.min(1, this.#owned / this.#partitions));
  }
}
