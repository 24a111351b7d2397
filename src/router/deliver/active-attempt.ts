/**
 * Types for the work of one destination: a partition that this process owns, a delivery in flight, an attempt
 * at a unit, and the ports. An attempt keeps the settings with which it started until it ends, so that each
 * response is judged by the same settings as its request.
 */

import type { Delivery } from "../../domain/delivery.ts";
import type { AttemptedDestination, Endpoint } from "../../domain/destination.ts";
import { type EndpointNames, endpointNames } from "../../domain/endpoint-name.ts";
import type { EndpointKey } from "../../domain/ids.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { AssignedPartition, PartitionHandler } from "../../kafka/port.ts";
import type { Measured, Phases, Sender, SendResult, UnitName } from "../destinations/port.ts";
import type { AttemptTrace, TracedCall } from "./attempt-trace.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import type { SlotFor } from "./circuit-breaker.ts";
import { type Decision, type DecisionName, decide, type EndpointResult } from "./decide.ts";
import type { GatePorts } from "./endpoint-availability.ts";
import type { Replacement } from "./follow-up-record.ts";
import type { Lines } from "./schedule.ts";

/** A snapshot of a destination's settings, with the derived values that each attempt needs. */
export interface Settings {
  readonly destination: AttemptedDestination;
  readonly keys: readonly EndpointKey[];
  readonly names: EndpointNames;
}

export function settingsOf(destination: AttemptedDestination): Settings {
  const names = endpointNames(destination);
  return { destination, keys: [...names.keys()], names };
}

export interface Item {
  readonly owner: OwnedWork;
  readonly key: string | null;
  readonly record: IncomingRecord;
  /** When the delivery's record was fetched. */
  readonly arrivedAtMs: number;
  behind: Item | null;
  after: Item | null;
  unit: Unit | null;
}

/** A delivery, with the results of its attempt so far. */
export interface Call {
  readonly item: Item;
  delivery: Delivery;
  results: readonly EndpointResult[];
  /** True if the call contains an integer that JavaScript would round. */
  readonly isRounded: boolean;
  /** Null if the delivery is sent alone, without a batch. */
  readonly measured: Measured | null;
}

/** A delivery that may share a request. */
export interface UnitCall extends Call {
  readonly measured: Measured;
  /** True if an earlier delivery in the same unit has the same key. */
  readonly follows: boolean;
  /** The end of the delivery's retry window. */
  readonly untilMs: number;
}

/** Deliveries that are sent together (`gathering.ts`). */
export interface Unit {
  readonly turn: SlotFor;
  readonly endpoints: readonly Endpoint[];
  /** Encodes which of the endpoints were unavailable when the unit was opened, and why. */
  readonly availability: number;
  readonly calls: UnitCall[];
  bytes: number;
  dueAtMs: number;
  isClosed: boolean;
}

/** Deliveries that are sent together, in one request to each of the endpoints. */
export interface Part {
  readonly calls: readonly Call[];
  readonly endpoints: readonly Endpoint[];
}

/** One attempt at a unit of deliveries. `request-rounds.ts` updates it. */
export interface Attempt {
  readonly settings: Settings;
  readonly turn: SlotFor;
  readonly startedAtMs: number;
  /** Null if the attempt is not traced. */
  readonly trace: AttemptTrace | null;
  /** The deliveries that the requests in progress contain. */
  calls: readonly Call[];
  prepared: unknown;
  /** Null if the unit can contain only one delivery. */
  name: UnitName | null;
  /** The number of requests in progress. */
  pending: number;
  /** Endpoints whose responses require a split of the unit, with these responses. */
  splits: readonly Split[];
  /** Parts of the unit that are sent after the current part. */
  rest: readonly Part[];
  /** The steps to run after the last part has ended; null if each step runs immediately. */
  later: (() => void)[] | null;
  /** The decision for the first delivery that was not accepted. */
  decision: DecisionName;
}

export interface Split {
  readonly endpoint: Endpoint;
  readonly result: SendResult;
}

export function decideCall(
  { delivery, results }: Call,
  { destination, names }: Settings,
  policy: RetryPolicy,
  endedAtMs: number,
): Decision {
  return decide(delivery, destination.deliver, names, results, policy, endedAtMs);
}

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

export interface WorkPorts extends GatePorts {
  readonly nowMs: () => number;
  /** Calls back after this number of milliseconds, unless the work has ended. */
  readonly after: (ms: number, then: () => void) => void;
  readonly sender: Sender;
  /** Returns an object for the phases of a request; absent if attempts are not recorded. */
  readonly phases?: () => Phases | undefined;
  /** Called when an attempt starts. The attempt is not traced if this is absent or returns null. */
  readonly trace?: (
    calls: readonly TracedCall[],
    destination: AttemptedDestination,
  ) => AttemptTrace | null;
  /**
   * Calls back asynchronously when all records are acknowledged, or when an acknowledgment has become
   * impossible.
   */
  readonly write: (
    replacements: readonly Replacement[],
    ended: (isWritten: boolean) => void,
  ) => void;
  /** Number of partitions of the destination's topics, including those that other processes own. */
  readonly partitions: number;
  readonly onStart: () => void;
  /** Called with the result of each request. */
  readonly onResult: (result: SendResult) => void;
  /** Called if a response that should contain a status for each call could not be read. */
  readonly onUnreadable: () => void;
  readonly onAttempted: (attempted: Attempted) => void;
  readonly onRounded: () => void;
}

/** The part of an assigned partition that marks its records as processed. */
export type Finishing = Pick<AssignedPartition, "finish">;

/** What a partition needs from the work of its destination. */
interface Owner {
  take(owner: OwnedWork, records: readonly IncomingRecord[]): void;
  drain(owner: OwnedWork): void;
}

/** Handles a partition while this process owns it. */
export class OwnedWork implements PartitionHandler {
  readonly turn: SlotFor;
  isDraining = false;
  lines: Lines<Item> | null = null;
  readonly #work: Owner;
  readonly #partition: Finishing;
  #underWay = 0;
  readonly #onIdle: (() => void)[] = [];

  constructor(work: Owner, partition: Finishing, turn: SlotFor) {
    this.#work = work;
    this.#partition = partition;
    this.turn = turn;
  }

  take(records: readonly IncomingRecord[]): void {
    if (!this.isDraining) this.#work.take(this, records);
  }

  drain(): Promise<void> {
    this.#work.drain(this);
    return this.#idle();
  }

  /** Call when work on a delivery starts. */
  begin(): void {
    this.#underWay += 1;
  }

  /** Call when the delivery is processed. */
  finish(offset: number): void {
    this.#partition.finish(offset);
    this.leave();
  }

  /** Must be called when work on the delivery has ended, whether or not the delivery was processed. */
  leave(): void {
    this.#underWay -= 1;
    if (this.#underWay > 0) return;
    for (const then of this.#onIdle.splice(0)) then();
  }

  /** Resolves when no work is in progress. */
  #idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }
}
