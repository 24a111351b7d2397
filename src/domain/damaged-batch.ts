/** A record batch that cannot be read as its producer wrote it. */
export interface DamagedBatch {
  readonly topic: string;
  readonly partition: number;
  /** Of its first record, as far as it can be read. */
  readonly offset: number;
  /** The first offset behind it: reading goes on here once it is given up. */
  readonly behind: number;
  readonly damage: string;
}
