/**
 * A record batch that is not what its producer wrote. It stops the consumer: skipping it would
 * lose records, and reading on would deliver wrong ones.
 */
export class DamagedBatchError extends Error {
  override readonly name = "DamagedBatchError";
  /** kafkajs must neither repeat the fetch nor restart the consumer by itself. */
  readonly retriable = false;
  readonly damage: string;
  /** Of the batch's first record, as far as it can be read. */
  readonly offset: number;
  /** Null until the fetch response has been searched for it. */
  readonly topic: string | null;
  readonly partition: number | null;

  constructor(
    damage: string,
    offset: number,
    at: { readonly topic: string; readonly partition: number } | null = null,
  ) {
    const where = at === null ? "" : `topic ${at.topic}, partition ${at.partition}, `;
    super(
      `The record batch at ${where}offset ${offset} is damaged: ${damage}. Restore the partition from an intact replica, or set the group's offset behind the batch to give its records up.`,
    );
    this.damage = damage;
    this.offset = offset;
    this.topic = at?.topic ?? null;
    this.partition = at?.partition ?? null;
  }
}
