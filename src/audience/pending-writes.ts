/** The writes of one step. */

import type { DeadLettered } from "../domain/dead-letter-records.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import type { StoreChange } from "./ports.ts";

/** How many of the calls are of which kind. */
export interface ChangeCounts {
  readonly entered: number;
  readonly left: number;
  readonly traits: number;
}

export const NO_CHANGES: ChangeCounts = { entered: 0, left: 0, traits: 0 };

/** In the order of writing. */
export interface Pending {
  /** With the records that they follow from. */
  readonly calls: ReadonlyMap<OutgoingRecord, IncomingRecord>;
  readonly deadLettered: readonly DeadLettered[];
  readonly changelog: readonly OutgoingRecord[];
  /** Empty: nothing has changed, not even the position. */
  readonly store: readonly StoreChange[];
  /** Audiences to report on the topic `audiences`, by id. */
  readonly toReport: readonly string[];
  readonly changeCounts: ChangeCounts;
}
