/** A member's fetch, as the shared fetch keeps it. */

import type { Wish } from "./fetch-plan.ts";
import type { Asked, FetchAnswer, TakeAnswer } from "./fetch-result.ts";

export interface FetchingMember {
  /** The one that waits for an answer. A member has one at a time: a later one ends it. */
  wish: MemberWish | null;
}

export interface MemberWish extends Wish {
  readonly member: FetchingMember;
  readonly partitions: Asked[];
  readonly take: TakeAnswer | undefined;
  readonly resolve: (answer: FetchAnswer) => void;
  readonly reject: (error: unknown) => void;
  timer: NodeJS.Timeout | undefined;
  isLate: boolean;
}
