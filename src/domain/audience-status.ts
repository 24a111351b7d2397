/** The status of an audience, as the process that owns the audience reports it. */

export interface AudienceStatus {
  readonly id: string;
  /** The complete sync that awaits approval; null if there is none. */
  readonly awaitingApproval: {
    readonly syncId: string;
    readonly removals: number;
    readonly sinceMs: number;
  } | null;
}
