/** A member's fetch, as the shared fetch keeps it. */

import type { FetchCursor } from "./fetch-plan.ts";
import type { FetchResult, Requested, TakeResult } from "./fetch-result.ts";

export interface FetchingMember {
  /** The one that waits for an answer. A member has one at a time: a later one ends it. */
  cursor: MemberFetch | null;
}

export interface MemberFetch extends FetchCursor {
  readonly member: FetchingMember;
  readonly partitions: Requested[];
  readonly take: TakeResult | undefined;
  readonly resolve: (result: FetchResult) => void;
  readonly reject: (error: unknown) => void;
  timer: NodeJS.Timeout | undefined;
  isLate: boolean;
}
