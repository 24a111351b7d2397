/**
 * What the work on a destination is about: a partition that this process owns, a delivery in flight, its attempt, and the
 * ports of the work. An attempt keeps the settings with which it began until it ends, so that each response is judged by the
 * settings of its request.
 */

import type { Sender } from "../destinations/port.ts";
import type { Delivery } from "../domain/delivery.ts";
import type { AttemptedDestination } from "../domain/destination.ts";
import type { CircuitState } from "../domain/destination-status.ts";
import type { EndpointKey } from "../domain/ids.ts";
import type { IncomingRecord } from "../domain/record.ts";
import type { AssignedPartition } from "../kafka/port.ts";
import type { AttemptTrace } from "./attempt-trace.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import type { SlotFor } from "./circuit-breaker.ts";
import { type Decision, decide, type EndpointResult } from "./decide.ts";
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
  behind: Item | null;
  after: Item | null;
}

export interface Attempt {
  readonly item: Item;
  readonly settings: Settings;
  readonly delivery: Delivery;
  readonly results: EndpointResult[];
  readonly startedAtMs: number;
  /** Requests in progress. */
  pending: number;
  /** Null: it is not traced. */
  readonly trace: AttemptTrace | null;
}

export function decideAttempt(
  { delivery, settings, results }: Attempt,
  policy: RetryPolicy,
  endedAtMs: number,
): Decision {
  const { destination, keys } = settings;
  const configured = delivery.endpoint === null ? keys : [delivery.endpoint];
  return decide(delivery, destination.deliver, configured, results, policy, endedAtMs);
}

export interface Attempted {
  /** With the number of attempts before this one. */
  readonly delivery: Delivery;
  readonly results: readonly EndpointResult[];
  readonly decision: Decision;
  readonly endedAtMs: number;
}

export interface WorkPorts {
  readonly nowMs: () => number;
  /** Calls back after this number of milliseconds, unless the work has ended. */
  readonly after: (ms: number, then: () => void) => void;
  readonly sender: Sender;
  /** Called when an attempt starts; null or absent: it is not traced. */
  readonly trace?: (
    record: IncomingRecord,
    delivery: Delivery,
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
