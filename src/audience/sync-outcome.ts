/**
 * Decides the outcome of a sync at its `end`, or of a `snapshot`.
 *
 *   count     approvalShare   force   the sync                                  verdict
 *   differs   any             any     any                                       count-mismatch
 *   matches   not set         any     any                                       complete
 *   matches   set             yes     any                                       complete
 *   matches   set             no      is empty                                  awaiting-approval
 *   matches   set             no      removes more than approvalShare of the    awaiting-approval
 *                                     previous members, and more than
 *                                     approvalMinimum of them
 *   matches   set             no      any other                                 complete
 *
 * A sync that removes exactly the share is complete. The shares are compared as quotients, because a quotient is
 * rounded in the same way as the setting: 29 / 100 equals 0.29, but 100 times 0.29 is less than 29.
 */

export interface Judged {
  /** The count in the `end`; null for a snapshot, which is always complete. */
  readonly count: number | null;
  /** Distinct users who arrived. */
  readonly arrived: number;
  /** Members before the sync. */
  readonly membersBefore: number;
  /** Members who did not arrive. */
  readonly removals: number;
  readonly force: boolean;
  readonly approvalShare: number | null;
  readonly approvalMinimum: number;
}

export type Verdict = "count-mismatch" | "complete" | "awaiting-approval";

export function verdictOf(judged: Judged): Verdict {
  const { count, arrived, membersBefore, removals, force, approvalShare, approvalMinimum } = judged;
  if (count !== null && count !== arrived) return "count-mismatch";
  if (approvalShare === null || force) return "complete";
  if (arrived === 0) return "awaiting-approval";
  const isMany = removals > approvalMinimum && removals / membersBefore > approvalShare;
  return isMany ? "awaiting-approval" : "complete";
}
