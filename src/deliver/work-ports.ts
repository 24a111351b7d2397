/** The ports of the work on a destination, and its own interface. */

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
  /** As planned: the attempts made before this one. */
  readonly delivery: Delivery;
  readonly results: readonly EndpointResult[];
  readonly decision: Decision;
  readonly endedAtMs: number;
}

export interface WorkPorts {
  readonly nowMs: () => number;
  /** Calls back after so many milliseconds, unless the work is over. */
  readonly after: (ms: number, then: () => void) => void;
  readonly sender: Sender;
  /** Called as an attempt starts; null, or absent: it is made as it is. */
  readonly trace?: (
    record: IncomingRecord,
    delivery: Delivery,
    destination: AttemptedDestination,
  ) => AttemptTrace | null;
  /** Calls back when all are acknowledged, or when that cannot happen any more; not at once. */
  readonly write: (
    replacements: readonly Replacement[],
    ended: (isWritten: boolean) => void,
  ) => void;
  /** Partitions of the destination's topics, of all owners. */
  readonly partitions: number;
  readonly onStart: () => void;
  readonly onAttempted: (attempted: Attempted) => void;
  readonly onRounded: () => void;
  /** Tells the other processes; absent: there is no way to. */
  readonly tell?: (endpoint: EndpointKey, news: News) => void;
  readonly onCircuit: (endpoint: EndpointKey, state: CircuitState) => void;
}
