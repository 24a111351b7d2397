/** What a law of a run says when it is broken, and the times that may excuse it. */

/** What was done in this time may be done again: it may not have been committed. */
export interface Exposure {
  readonly kind: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The kind of what the machine did, and no fault of the plan (`starvation.ts`). */
export const STARVED = "starved";

/** Records of a destination's topic were deleted before they were read, some of them until then. */
export interface Loss {
  readonly destination: string;
  readonly toMs: number;
}

export const LAWS = ["lost", "early", "late", "given up", "repeated", "order", "parked"] as const;
export type Law = (typeof LAWS)[number];

export interface Violation {
  readonly law: Law;
  readonly says: string;
}
