/**
 * One attempt at a unit of deliveries, within one slot: sends the requests, judges the responses, and lets `decide.ts`
 * decide for each delivery. A unit contains one delivery or, if the destination's type allows batches, those that
 * `units.ts` has put together.
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
 * Before a part is sent, deliveries whose users were suppressed since the attempt started are put back. They are then
 * evaluated again, and not sent.
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
 *   the proxy fails before a request is sent, or its       the delivery
 *   token ends (`NotSent`)
 *   and no endpoint got a request                          is put back as it was: no attempt is counted, and its retry
 *                                                          window does not start
 *   but another endpoint got a request                     is decided, and the endpoint counts as skipped
 *
 * A crash before or after that changes nothing, because nothing is written, and the record is not processed.
 *
 * One commit therefore covers all of these deliveries, and after a crash before the commit, all of them are repeated.
 * An attempt keeps the settings with which it started, so that each response is judged by the settings of its request.
 */

import assert from "node:assert/strict";
import type { Delivery } from "../../domain/delivery.ts";
import type { AttemptedDestination, Endpoint } from "../../domain/destination.ts";
import { type EndpointNames, endpointNames } from "../../domain/endpoint-name.ts";
import type { EndpointKey } from "../../domain/ids.ts";
import type {
  Measured,
  NotSent,
  Outcome,
  Phases,
  RequestResult,
  Sendable,
  Sender,
  SendResult,
  UnitName,
} from "../destinations/port.ts";
import type { AttemptTrace } from "./attempt-trace.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import type { Ticket, Turn } from "./circuit-breaker.ts";
import type { Completions } from "./completions.ts";
import {
  type Decision,
  type DecisionName,
  decide,
  deliverOf,
  type EndpointResult,
  isAccepted,
  isSkipped,
  resultOf,
  skipped,
} from "./decide.ts";
import type { EndpointGates } from "./endpoint-availability.ts";
import type { Call } from "./in-flight.ts";
import type { RequestRate } from "./request-rate.ts";
import type { SlotScheduler } from "./slot-scheduler.ts";

/** A snapshot of a destination's settings, with the derived values that each attempt needs. */
export interface Settings {
  readonly destination: AttemptedDestination;
  readonly keys: readonly EndpointKey[];
  readonly names: EndpointNames;
  readonly policy: RetryPolicy;
}

export function settingsOf(destination: AttemptedDestination, policy: RetryPolicy): Settings {
  const names = endpointNames(destination);
  return { destination, keys: [...names.keys()], names, policy };
}

/** What is reported of an attempt at one delivery. */
export interface Attempted {
  /** The delivery, with the number of attempts before this one. */
  readonly delivery: Delivery;
  readonly results: readonly EndpointResult[];
  readonly decision: Decision;
  /** The names with which the attempt started, because its endpoints may have been changed since. */
  readonly names: EndpointNames;
  readonly endedAtMs: number;
  /** The batch of the last request; null if the delivery was sent alone, without a batch. */
  readonly batch: UnitName | null;
}

export interface AttemptObserver {
  /** Called when an attempt starts. Returns null if it is not traced. */
  started(calls: readonly Call[], destination: AttemptedDestination): AttemptTrace | null;
  /** Returns an object for the phases of a request; undefined if attempts are not recorded. */
  phases(): Phases | undefined;
  /** @param isUnreadable true if the response should contain a status for each call, and could not be read. */
  requested(result: RequestResult, isUnreadable: boolean): void;
  /** Called once for each delivery of an attempt, unless the delivery is put back. */
  attempted(attempted: Attempted): void;
  putBack(deliveries: number): void;
}

export interface Timer {
  nowMs(): number;
  /** Calls back after this number of milliseconds, unless the work has ended. */
  after(ms: number, then: () => void): void;
}

/** What may be sent now. */
export interface Limits {
  readonly slots: SlotScheduler;
  readonly rate: RequestRate;
  readonly gates: EndpointGates;
}

/** The attempts of a destination share these. */
export interface AttemptHost {
  readonly ports: {
    readonly timer: Timer;
    readonly sender: Sender;
    readonly observer: AttemptObserver;
  };
  readonly limits: Limits;
  readonly completions: Pick<Completions, "settle">;
  /** Changes when a user is suppressed or lifted. */
  readonly suppressionsVersion: number;
  isSuppressed(call: Call): boolean;
  /** Lets deliveries wait again, as if the attempt had not started. */
  putBack(calls: readonly Call[]): void;
  /** Starts the deliveries that may start now that a request has ended. */
  pump(): void;
}

/** Deliveries that are sent together, in one request to each of the endpoints. */
interface UnitPart {
  readonly calls: readonly Call[];
  readonly endpoints: readonly Endpoint[];
}

/** An endpoint whose response requires a split of the unit, with this response. */
interface Split {
  readonly endpoint: Endpoint;
  readonly result: SendResult;
}

/** The deliveries to send. They are measured if the unit may contain more than one delivery. */
export type UnitContent = readonly Sendable[] | readonly Measured[];

const NO_SPLITS: readonly Split[] = [];
const NO_PARTS: readonly UnitPart[] = [];

export class Attempt {
  readonly #host: AttemptHost;
  readonly #settings: Settings;
  readonly #turn: Turn;
  readonly #startedAtMs: number;
  readonly #suppressionsVersion: number;
  /** Null if the attempt is not traced. */
  readonly #trace: AttemptTrace | null;
  /** The deliveries that the requests in progress contain. Changed when a part is sent. */
  #calls: readonly Call[];
  #prepared: unknown = null;
  /** Null if the unit can contain only one delivery. Set with `#prepared`, when a part is sent. */
  #name: UnitName | null = null;
  /** The number of requests in progress. */
  #pending = 0;
  /** True if a request was not sent. */
  #isUnsent = false;
  /** Added when a request ends; taken when the round has ended. */
  #splits = NO_SPLITS;
  /** Parts of the unit that are sent after the current one. */
  #rest = NO_PARTS;
  /** Deliveries that were decided, with the time, and are settled after the last part; null if each is settled immediately. */
  #later: (readonly [Call, Decision, number])[] | null = null;
  /** The decision for the first delivery that was not accepted. */
  #decision: DecisionName | "not-sent" = "accepted";

  /** Takes a slot, until all requests have ended. */
  constructor(host: AttemptHost, settings: Settings, calls: readonly Call[], nowMs: number) {
    this.#host = host;
    this.#settings = settings;
    this.#calls = calls;
    this.#turn = calls[0]?.item.owner.turn ?? "queue";
    this.#startedAtMs = nowMs;
    this.#suppressionsVersion = host.suppressionsVersion;
    host.limits.slots.started(this.#turn);
    for (const { item } of calls) item.owner.begin();
    this.#trace = host.ports.observer.started(calls, settings.destination);
  }

  /** Call once. Returns false if no endpoint admits a request; the attempt then never ends, unless it is abandoned. */
  start(endpoints: readonly Endpoint[], sent: UnitContent, nowMs: number): boolean {
    this.#send(endpoints, sent, nowMs);
    return this.#pending > 0;
  }

  /** Call if no request may be sent, or none was: the deliveries are put back. */
  abandon(nowMs: number): void {
    this.#isUnsent = true;
    this.#decide(this.#calls, nowMs);
    this.#end(nowMs);
  }

  #send(endpoints: readonly Endpoint[], sent: UnitContent, nowMs: number): void {
    const { ports, limits } = this.#host;
    const { sender, observer } = ports;
    const prepared = sender.prepare(sent, nowMs);
    this.#prepared = prepared;
    this.#name = sender.nameOf(prepared);
    for (const endpoint of endpoints) {
      const ticket = limits.gates.admit(endpoint.key, nowMs, this.#turn);
      if (ticket === null) {
        for (const call of this.#calls) add(call, [skipped(endpoint)]);
        continue;
      }
      this.#pending += 1;
      const done = (result: RequestResult) => this.#ended(endpoint, ticket, result);
      if (this.#trace === null) sender.send(endpoint, prepared, done, observer.phases());
      else this.#trace.send(endpoint, prepared, done);
    }
  }

  #ended(endpoint: Endpoint, ticket: Ticket, result: RequestResult): void {
    assert(this.#pending > 0, "a request ended twice");
    const endedAtMs = this.#host.ports.timer.nowMs();
    if (result.kind === "not-sent") this.#notSent(endpoint, ticket, result, endedAtMs);
    else this.#settle(endpoint, ticket, result, endedAtMs);
    this.#pending -= 1;
    if (this.#pending === 0) {
      this.#decide(this.#split(), endedAtMs);
      this.#proceed(endedAtMs);
    }
    this.#host.pump();
  }

  #notSent(endpoint: Endpoint, ticket: Ticket, result: NotSent, nowMs: number): void {
    const { ports, limits } = this.#host;
    this.#isUnsent = true;
    ports.observer.requested(result, false);
    for (const call of this.#calls) add(call, [skipped(endpoint)]);
    limits.gates.notSent(endpoint.key, ticket, result, nowMs);
  }

  #settle(endpoint: Endpoint, ticket: Ticket, result: SendResult, nowMs: number): void {
    const outcome =
      this.#name === null
        ? this.#judge(endpoint, result, nowMs)
        : this.#judgeUnit(endpoint, result, nowMs);
    this.#host.limits.gates.settle(endpoint.key, ticket, outcome, nowMs);
  }

  #judge({ key }: Endpoint, result: SendResult, nowMs: number): Outcome {
    const { sender, observer } = this.#host.ports;
    const outcome = sender.judge(result, nowMs);
    observer.requested(result, false);
    const [call] = this.#calls;
    if (call !== undefined) add(call, [{ endpoint: key, result, outcome }]);
    return outcome;
  }

  #judgeUnit(endpoint: Endpoint, result: SendResult, nowMs: number): Outcome {
    const { sender, observer } = this.#host.ports;
    const verdict = sender.judgeUnit(result, this.#prepared, nowMs);
    const { outcome, calls, isSplit, isUnreadable } = verdict;
    observer.requested(result, isUnreadable);
    if (isSplit) {
      this.#splits = [...this.#splits, { endpoint, result }];
      return outcome;
    }
    const whole = { endpoint: endpoint.key, result, outcome };
    const shared = [whole];
    this.#calls.forEach((call, at) => {
      const ofCall = calls?.[at];
      add(call, ofCall === undefined ? shared : [resultOf(ofCall, whole)]);
    });
    return outcome;
  }

  /** Called after a round has ended. Keeps the deliveries to send again for later, and returns the others. */
  #split(): readonly Call[] {
    const splits = this.#splits;
    const calls = this.#calls;
    if (splits.length === 0) return calls;
    this.#splits = NO_SPLITS;
    const { keys, destination } = this.#settings;
    const isAny = destination.deliver === "any";
    const isEnded = ({ results }: Call) => isAny && results.some(isAccepted);
    const ended = calls.filter(isEnded);
    for (const call of ended) add(call, splits.map(rejectedBy));
    const endpoints = splits.map(({ endpoint }) => endpoint);
    const parts = halves(calls.filter((call) => !isEnded(call)));
    this.#rest = [...parts.map((half) => ({ calls: half, endpoints })), ...this.#rest];
    if (!isAny && keys.length > 1) this.#later ??= [];
    return ended;
  }

  /** Sends the next part, if there is one and the rate limit allows it. After the last part, ends the attempt. */
  #proceed(endedAtMs: number): void {
    const { ports, limits } = this.#host;
    const { timer } = ports;
    for (let [part] = this.#rest; part !== undefined; [part] = this.#rest) {
      const nowMs = timer.nowMs();
      const tryAgain = () => {
        this.#proceed(timer.nowMs());
        this.#host.pump();
      };
      if (!this.#isUnsent && !limits.rate.take(part.endpoints.length, nowMs, tryAgain)) return;
      this.#rest = this.#rest.slice(1);
      if (this.#isUnsent) {
        this.#calls = part.calls;
        // Deliveries of the part may follow others that were put back.
        for (const call of part.calls) add(call, part.endpoints.map(skipped));
        this.#decide(part.calls, nowMs);
        continue;
      }
      this.#calls = this.#withoutSuppressed(part.calls);
      if (this.#calls.length === 0) continue;
      this.#send(part.endpoints, this.#calls.map(measuredOf), nowMs);
      if (this.#pending > 0) return;
      this.#decide(this.#calls, nowMs);
    }
    this.#end(endedAtMs);
  }

  #withoutSuppressed(calls: readonly Call[]): readonly Call[] {
    const host = this.#host;
    if (host.suppressionsVersion === this.#suppressionsVersion) return calls;
    const suppressed = calls.filter((call) => host.isSuppressed(call));
    if (suppressed.length === 0) return calls;
    host.ports.observer.putBack(suppressed.length);
    host.putBack(suppressed);
    return calls.filter((call) => !suppressed.includes(call));
  }

  #decide(calls: readonly Call[], endedAtMs: number): void {
    const { names, destination, policy } = this.#settings;
    const [deliver, batch] = [deliverOf(destination), this.#name];
    const unsent = this.#isUnsent ? calls.filter(({ results }) => results.every(isSkipped)) : [];
    if (unsent.length > 0) {
      if (this.#decision === "accepted") this.#decision = "not-sent";
      this.#host.ports.observer.putBack(unsent.length);
      this.#host.putBack(unsent);
    }
    for (const call of calls) {
      if (unsent.includes(call)) continue;
      const { delivery, results } = call;
      const decision = decide(delivery, deliver, names, results, policy, endedAtMs);
      if (this.#decision === "accepted") this.#decision = decision.name;
      const attempted = { delivery, results, decision, names, endedAtMs, batch };
      this.#host.ports.observer.attempted(attempted);
      if (this.#later === null)
        this.#host.completions.settle(call, decision, this.#trace, endedAtMs);
      else this.#later.push([call, decision, endedAtMs]);
    }
  }

  #end(endedAtMs: number): void {
    this.#host.limits.slots.ended(this.#turn, endedAtMs - this.#startedAtMs);
    this.#trace?.end(this.#decision, endedAtMs);
    if (this.#later === null) return;
    for (const [call, decision, decidedAtMs] of this.#later) {
      this.#host.completions.settle(call, decision, this.#trace, decidedAtMs);
    }
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
