/**
 * The outcome of an `end`, or of a whole `snapshot`.
 *
 *   count            approvalShare   force   the sync                                  verdict
 *   fits no users    any         any     any                                       count-mismatch
 *   fits             none        any     any                                       complete
 *   fits             set         yes     any                                       complete
 *   fits             set         no      is empty                                  awaiting-approval
 *   fits             set         no      removes more than approvalShare of the    awaiting-approval
 *                                        members before it, and more than
 *                                        approvalMinimum of them
 *   fits             set         no      any other                                 complete
 *
 * Exactly the share passes. The share is compared as a quotient, because that is rounded to the
 * same number as the share was when it was read: 29 of 100 is 0.29, while 100 times 0.29 is less
 * than 29.
 */

export interface Judged {
  /** As the `end` says; null in a snapshot, which is whole by itself. */
  readonly count: number | null;
  /** Distinct users that arrived. */
  readonly arrived: number;
  /** Members before the sync. */
  readonly membersBefore: number;
  /** Members that did not arrive. */
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
