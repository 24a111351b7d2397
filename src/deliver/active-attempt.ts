/**
 * A delivery in flight, and its attempt. An attempt keeps the settings with which it began until it ends, so that each
 * response is judged by the settings of its request.
 */

import type { Delivery } from "../domain/delivery.ts";
import type { AttemptedDestination } from "../domain/destination.ts";
import type { EndpointKey } from "../domain/ids.ts";
import type { IncomingRecord } from "../domain/record.ts";
import type { AttemptTrace } from "./attempt-trace.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import { type Decision, decide, type EndpointResult } from "./decide.ts";
import type { OwnedWork } from "./owned-work.ts";

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
