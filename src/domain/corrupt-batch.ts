/** What a stage does when it reaches a corrupt batch in its topic: halt, or skip the batch. */

import type { RecordPlace } from "./record.ts";
import { shellWord } from "./shell-word.ts";

export type OnCorruptBatch = "stop" | "skip";

/**
 * A record batch that cannot be read, because it differs from what its producer wrote. Its place is that of its first
 * record, as far as it can be read.
 */
export interface CorruptBatch extends RecordPlace {
  /** The first offset after the batch, where reading resumes once the batch is skipped. */
  readonly behind: number;
  /** If `true`, the value of `behind` is certain, so skipping the batch omits no other records. */
  readonly isEndKnown: boolean;
  readonly corruption: string;
}

/**
 * Reports a record batch that differs from what its producer wrote. The error stops the consumer, because skipping
 * the batch would lose records, and reading it would deliver wrong records.
 */
export class CorruptBatchError extends Error {
  override readonly name = "CorruptBatchError";
  readonly corruption: string;
  /** The offset of the batch's first record, as far as it can be read. */
  readonly offset: number;
  /** The batch; null until the fetch response has been searched for it. */
  readonly at: CorruptBatch | null;
  readonly topic: string | null;
  readonly partition: number | null;

  constructor(corruption: string, offset: number, at: CorruptBatch | null = null) {
    const where = at === null ? "" : `topic ${at.topic}, partition ${at.partition}, `;
    const command = at === null ? "" : `: ${skipCommand(at)}`;
    super(
      `The record batch at ${where}offset ${offset} is corrupt: ${corruption}. Restore the partition from an intact replica, or skip the batch and lose its records${command}`,
    );
    this.corruption = corruption;
    this.offset = offset;
    this.at = at;
    this.topic = at?.topic ?? null;
    this.partition = at?.partition ?? null;
  }
}

/** The corrupt batch that caused a failure; null if the failure has another cause. */
export function corruptBatchOf(error: unknown): CorruptBatch | null {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth += 1) {
    if (each instanceof CorruptBatchError && each.at !== null) return each.at;
    each = each.cause;
  }
  return null;
}

/** For tools that read past the batch. */
export function skippedText({
  topic,
  partition,
  offset,
  behind,
  corruption,
}: CorruptBatch): string {
  return `partition ${partition} of ${topic}, offsets ${offset} to ${behind - 1}: the batch is corrupt (${corruption}), so its records were skipped`;
}

export function skipCommand({
  topic,
  partition,
  offset,
}: Pick<CorruptBatch, "topic" | "partition" | "offset">): string {
  return `switchyard skip-corrupt-batch ${shellWord(topic)} ${partition} ${offset}`;
}
