/** The record that is being applied, and its time. */

import type { IncomingRecord } from "../domain/record.ts";

export interface Cause {
  readonly record: IncomingRecord;
  readonly atMs: number;
  /** True if the record was applied before and is read again because of an open sync. */
  readonly isReplay: boolean;
}
