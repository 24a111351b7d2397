/** A record with what stays the same while it is worked on. */

import type { IncomingRecord } from "../domain/record.ts";

export interface Cause {
  readonly record: IncomingRecord;
  readonly atMs: number;
  /** It was applied before, and is read again because of an open sync. */
  readonly isReplay: boolean;
}
