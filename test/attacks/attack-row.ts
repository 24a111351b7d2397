/**
 * One row of the table that `npm run attack` prints. Each other file in this folder exports functions that attack a
 * running product in one way and return rows.
 */

export interface AttackOptions {
  /** If true, only some of the similar attacks are made, for `npm test`. */
  readonly isBrief: boolean;
}

export interface AttackRow {
  /** The attack, in a few words. */
  readonly name: string;
  /** What the product must do. */
  readonly expected: string;
  /** What the product did, with figures. */
  readonly seen: string;
  readonly ok: boolean;
}
