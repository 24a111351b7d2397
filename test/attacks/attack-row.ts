/**
 * One row of the table that `npm run attack` prints. Each file beside this one exports functions
 * that attack a running product in one way and give their rows.
 */

export interface AttackOptions {
  /** Fewer of those that are alike: for `npm test`. */
  readonly isBrief: boolean;
}

export interface AttackRow {
  /** What was done, in a few words. */
  readonly name: string;
  /** What the product must do. */
  readonly expected: string;
  /** What it did, with its numbers. */
  readonly seen: string;
  readonly ok: boolean;
}
