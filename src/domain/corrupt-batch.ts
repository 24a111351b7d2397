/** At a damaged batch of a topic its stage halts, or gives the batch up. */
export type OnCorruptBatch = "stop" | "skip";

/** A record batch that cannot be read as its producer wrote it. */
export interface CorruptBatch {
  readonly topic: string;
  readonly partition: number;
  /** Of its first record, as far as it can be read. */
  readonly offset: number;
  /** The first offset behind it: reading goes on here once it is given up. */
  readonly behind: number;
  /** Whether `behind` can be believed: the batch is given up with it, and nothing else. */
  readonly isEndKnown: boolean;
  readonly corruption: string;
}

/**
 * A record batch that is not what its producer wrote. It stops the consumer: skipping it would
 * lose records, and reading on would deliver wrong ones.
 */
export class CorruptBatchError extends Error {
  override readonly name = "CorruptBatchError";
  /** kafkajs must neither repeat the fetch nor restart the consumer by itself. */
  readonly retriable = false;
  readonly corruption: string;
  /** Of the batch's first record, as far as it can be read. */
  readonly offset: number;
  /** Null until the fetch response has been searched for it. */
  readonly at: CorruptBatch | null;
  readonly topic: string | null;
  readonly partition: number | null;

  constructor(corruption: string, offset: number, at: CorruptBatch | null = null) {
    const where = at === null ? "" : `topic ${at.topic}, partition ${at.partition}, `;
    const command = at === null ? "" : `: ${skipCommand(at)}`;
    super(
      `The record batch at ${where}offset ${offset} is damaged: ${corruption}. Restore the partition from an intact replica, or give the batch's records up${command}`,
    );
    this.corruption = corruption;
    this.offset = offset;
    this.at = at;
    this.topic = at?.topic ?? null;
    this.partition = at?.partition ?? null;
  }
}

/** The damaged batch because of which something has failed; null: something else is the reason. */
export function corruptBatchOf(error: unknown): CorruptBatch | null {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    if (each instanceof CorruptBatchError && each.at !== null) return each.at;
    each = each.cause;
  }
  return null;
}

/** The command that gives a batch up. */
export function skipCommand({
  topic,
  partition,
  offset,
}: Pick<CorruptBatch, "topic" | "partition" | "offset">): string {
  return `switchyard skip-corrupt-batch ${topic} ${partition} ${offset}`;
}
