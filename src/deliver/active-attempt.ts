/**
 * What the work on a destination is about: a partition that this process owns, a delivery in flight, an attempt at a unit, and the
 * ports of the work. An attempt keeps the settings with which it began until it ends, so that each response is judged by the
 * settings of its request.
 */

import type { Measured, Sender, SendResult, UnitName } from "../destinations/port.ts";
import type { Delivery } from "../domain/delivery.ts";
import type { AttemptedDestination, Endpoint } from "../domain/destination.ts";
import type { CircuitState } from "../domain/destination-status.ts";
import type { EndpointKey } from "../domain/ids.ts";
import type { IncomingRecord } from "../domain/record.ts";
import type { AssignedPartition } from "../kafka/port.ts";
import type { AttemptTrace, TracedCall } from "./attempt-trace.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import type { SlotFor } from "./circuit-breaker.ts";
import { type Decision, type DecisionName, decide, type EndpointResult } from "./decide.ts";
import type { News } from "./endpoint-availability.ts";
import type { Replacement } from "./follow-up-record.ts";

/** A destination's settings at one time, with what each attempt needs from them. */
export interface Settings {
  readonly destination: AttemptedDestination;
  readonly keys: readonly EndpointKey[];
}

export function settingsOf(destination: AttemptedDestination): Settings {
  return { destination, keys: destination.endpoints.map(({ key }) => key) };
}

export interface Item {
  readonly owner: OwnedWork;
  readonly key: string | null;
  readonly record: IncomingRecord;
  /** When it was fetched. */
  readonly arrivedAtMs: number;
  behind: Item | null;
  after: Item | null;
  unit: Unit | null;
}

/** A delivery with what its attempt has found out so far. */
export interface Call {
  readonly item: Item;
  readonly delivery: Delivery;
  readonly results: EndpointResult[];
  /** It has an integer that JavaScript rounds. */
  readonly isRounded: boolean;
  /** Null if it is sent alone, without a batch. */
  readonly measured: Measured | null;
}

/** A delivery that may share a request. */
export interface UnitCall extends Call {
  readonly measured: Measured;
  /** It has the key of one before it in its unit. */
  readonly follows: boolean;
  /** The end of its retry window. */
  readonly untilMs: number;
}

/** Deliveries that are put together (`gathering.ts`). */
export interface Unit {
  readonly turn: SlotFor;
  readonly endpoints: readonly Endpoint[];
  /** Which of the endpoints were unavailable when it was opened, and why. */
  readonly availability: number;
  readonly calls: UnitCall[];
  bytes: number;
  dueAtMs: number;
  isClosed: boolean;
}

/** A request, or several of them: one to each of the endpoints. */
export interface Part {
  readonly calls: readonly Call[];
  readonly endpoints: readonly Endpoint[];
}

/** One attempt at a unit of deliveries. `request-rounds.ts` changes it. */
export interface Attempt {
  readonly settings: Settings;
  readonly turn: SlotFor;
  readonly startedAtMs: number;
  /** Null: it is not traced. */
  readonly trace: AttemptTrace | null;
  /** The deliveries of the requests in progress, and what the requests share. */
  calls: readonly Call[];
  prepared: unknown;
  /** Null: the unit can only have one delivery. */
  name: UnitName | null;
  /** Requests in progress. */
  pending: number;
  /** Endpoints whose responses split the unit, with these responses. */
  splits: readonly Split[];
  /** Parts that are sent after this one. */
  rest: readonly Part[];
  /** What is done when the last part has ended; null: it is done at once. */
  later: (() => void)[] | null;
  /** The first decision that did not accept its delivery. */
  decision: DecisionName;
}

export interface Split {
  readonly endpoint: Endpoint;
  readonly result: SendResult;
}

export function decideCall(
  { delivery, results }: Call,
  { destination, keys }: Settings,
  policy: RetryPolicy,
  endedAtMs: number,
): Decision {
  const configured = delivery.endpoint === null ? keys : [delivery.endpoint];
  return decide(delivery, destination.deliver, configured, results, policy, endedAtMs);
}

export interface Attempted {
  /** With the number of attempts before this one. */
  readonly delivery: Delivery;
  readonly results: readonly EndpointResult[];
  readonly decision: Decision;
  readonly endedAtMs: number;
  /** The batch that its last request sent; null: it was sent alone, without a batch. */
  readonly batch: UnitName | null;
}

export interface WorkPorts {
  readonly nowMs: () => number;
  /** Calls back after this number of milliseconds, unless the work has ended. */
  readonly after: (ms: number, then: () => void) => void;
  readonly sender: Sender;
  /** Called when an attempt starts; null or absent: it is not traced. */
  readonly trace?: (
    calls: readonly TracedCall[],
    destination: AttemptedDestination,
  ) => AttemptTrace | null;
  /** Calls back asynchronously when all are acknowledged, or when that cannot happen any more. */
  readonly write: (
    replacements: readonly Replacement[],
    ended: (isWritten: boolean) => void,
  ) => void;
  /** Number of partitions of the destination's topics, whoever owns them. */
  readonly partitions: number;
  readonly onStart: () => void;
  /** Called with the result of each request. */
  readonly onResult: (result: SendResult) => void;
  /** Called for a response that should have judged each call. */
  readonly onUnreadable: () => void;
  readonly onAttempted: (attempted: Attempted) => void;
  readonly onRounded: () => void;
  /** Informs the other processes; absent if that is not possible. */
  readonly tell?: (endpoint: EndpointKey, news: News) => void;
  readonly onCircuit: (endpoint: EndpointKey, state: CircuitState) => void;
}

/** What the work on a partition's records needs. */
export type Finishing = Pick<AssignedPartition, "finish">;

export class OwnedWork {
  readonly turn: SlotFor;
  isDraining = false;
  readonly #partition: Finishing;
  #underWay = 0;
  readonly #onIdle: (() => void)[] = [];

  constructor(partition: Finishing, turn: SlotFor) {
    this.#partition = partition;
    this.turn = turn;
  }

  /** Call when work on a delivery begins. */
  begin(): void {
    this.#underWay += 1;
  }

  /** Call when the delivery is processed. */
  finish(offset: number): void {
    this.#partition.finish(offset);
    this.leave();
  }

  /** Call when work on the delivery has ended, processed or not. */
  leave(): void {
    this.#underWay -= 1;
    if (this.#underWay > 0) return;
    for (const then of this.#onIdle.splice(0)) then();
  }

  /** Resolves when no work is in progress. */
  idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }
}
