/** The violation of a law, and the times that may excuse violations. */

/** What was done in this time may be repeated, because it may not have been committed. */
export interface Exposure {
  readonly kind: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The kind of exposures that the machine caused, and not a fault of the plan (`starvation.ts`). */
export const STARVED = "starved";

/** Records of a destination's topic were deleted before they were read, the last of them at this time. */
export interface Loss {
  readonly destination: string;
  readonly toMs: number;
}

export const LAWS = [
  "lost",
  "early",
  "late",
  "dead-lettered",
  "repeated",
  "order",
  "inversion",
  "unattempted",
] as const;
export type Law = (typeof LAWS)[number];

export interface Violation {
  readonly law: Law;
  readonly says: string;
}
