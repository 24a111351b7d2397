/** The writes of one step. */

import type { DeadLettered } from "../domain/dead-letter-records.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import type { StoreChange } from "./ports.ts";

/** The number of calls of each kind. */
export interface ChangeCounts {
  readonly entered: number;
  readonly left: number;
  readonly traits: number;
}

export const NO_CHANGES: ChangeCounts = { entered: 0, left: 0, traits: 0 };

/** The writes, in the order in which they are written. */
export interface Pending {
  /** Calls with the records that caused them. */
  readonly calls: ReadonlyMap<OutgoingRecord, IncomingRecord>;
  readonly deadLettered: readonly DeadLettered[];
  readonly changelog: readonly OutgoingRecord[];
  /** The changes in the store. Empty if nothing has changed, not even the position. */
  readonly store: readonly StoreChange[];
  /** IDs of the audiences to write to the topic `audiences`. */
  readonly toReport: readonly string[];
  readonly changeCounts: ChangeCounts;
}
