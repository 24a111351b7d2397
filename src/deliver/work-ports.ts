/** The ports of the work on a destination. */

import type { Sender } from "../destinations/port.ts";
import type { Delivery } from "../domain/delivery.ts";
import type { AttemptedDestination } from "../domain/destination.ts";
import type { CircuitState } from "../domain/destination-status.ts";
import type { EndpointKey } from "../domain/ids.ts";
import type { IncomingRecord } from "../domain/record.ts";
import type { AttemptTrace } from "./attempt-trace.ts";
import type { Decision, EndpointResult } from "./decide.ts";
import type { News } from "./endpoint-availability.ts";
import type { Replacement } from "./follow-up-record.ts";

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
