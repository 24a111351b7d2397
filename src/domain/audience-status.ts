/** An audience as the process that owns it sees it. */

export interface AudienceStatus {
  readonly id: string;
  /** A complete sync that awaits approval; null: none does. */
  readonly awaitingApproval: {
    readonly syncId: string;
    readonly removals: number;
    readonly sinceMs: number;
  } | null;
}
