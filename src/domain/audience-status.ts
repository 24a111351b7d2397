/** An audience as the process that owns it sees it. */

export interface AudienceStatus {
  readonly id: string;
  /** A complete sync whose removals wait for somebody; null: none does. */
  readonly held: {
    readonly syncId: string;
    readonly removals: number;
    readonly sinceMs: number;
  } | null;
}
