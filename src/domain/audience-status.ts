/** The status of an audience in the process that owns it. */

export interface AudienceStatus {
  readonly id: string;
  /** A complete sync that awaits approval; null if there is none. */
  readonly awaitingApproval: {
    readonly syncId: string;
    readonly removals: number;
    readonly sinceMs: number;
  } | null;
}
