/**
 * A delivery in hand, and its attempt. The attempt ends by the settings that it began with, whatever
 * they are by then: an endpoint that was asked is judged as it was asked.
 */

import type { Delivery } from "../domain/delivery.ts";
import type { AttemptedDestination } from "../domain/destination.ts";
import type { EndpointKey } from "../domain/ids.ts";
import type { IncomingRecord } from "../domain/record.ts";
import type { AttemptTrace } from "./attempt-trace.ts";
import type { RetryPolicy } from "./choose-retry-delay.ts";
import { type Decision, decide, type EndpointResult } from "./decide.ts";
import type { OwnedWork } from "./owned-work.ts";

/** A destination's settings of a moment, with what is looked up of them for each attempt. */
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
  /** Requests that are not answered. */
  pending: number;
  /** Null: it has no spans. */
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
