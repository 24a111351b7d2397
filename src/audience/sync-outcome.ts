/**
 * Decides the outcome of a sync at its `end` record, and of a `snapshot`.
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
 * A sync that removes exactly `approvalShare` is complete. The comparison uses a quotient, because a quotient is
 * rounded in the same way as the setting: 29 / 100 equals 0.29, but 100 times 0.29 is less than 29.
 */

export interface Judged {
  /** The count in the `end` record; null for a snapshot, which always contains all users. */
  readonly count: number | null;
  /** The number of distinct users who arrived. */
  readonly arrived: number;
  /** The number of members before the sync. */
  readonly membersBefore: number;
  /** The number of members who did not arrive. */
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
