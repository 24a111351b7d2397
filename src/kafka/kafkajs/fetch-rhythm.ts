/**
 * When a broker is asked again, and how long it may wait for a record.
 *
 *   the next request                     begins
 *   at the earliest                      10 ms after the last one began, and 10 µs more for each
 *                                        partition: the broker looks at each of them
 *   and                                  a millisecond after the last answer, so that those who had
 *                                        it are in
 *
 *   wishes                               the broker waits at most
 *   all members' that read from it       a second: a new member's first wish waits for the answer
 *   not those of a member that had        as long as no record came, at least 10 ms, at most a second:
 *   records, or is held or paused        its wish may come any moment, and waits for the answer, too
 *   one that is asked for at once        not at all
 */

const SPACING_MS = 10;
const SPACING_OF_PARTITION_MS = 0.01;
const AFTER_ANSWER_MS = 1;
const WAIT_MIN_MS = 10;
const WAIT_MAX_MS = 1_000;

/** Times are monotonic, in milliseconds. */
export interface Rhythm {
  readonly beganAtMs: number;
  readonly answeredAtMs: number;
  readonly partitions: number;
}

export function beginsInMs({ beganAtMs, answeredAtMs, partitions }: Rhythm, nowMs: number): number {
  const spacedAtMs = beganAtMs + SPACING_MS + partitions * SPACING_OF_PARTITION_MS;
  return Math.max(0, spacedAtMs - nowMs, answeredAtMs + AFTER_ANSWER_MS - nowMs);
}

export interface Waiting {
  /** Whether no member that reads from this broker is without a wish. */
  readonly isEverybodyIn: boolean;
  /** Since the last records. */
  readonly quietMs: number;
  /** The shortest of the wishes that have not been asked yet. */
  readonly wishedMs: number;
}

export function brokerWaitsMs({ isEverybodyIn, quietMs, wishedMs }: Waiting): number {
  const mayMs = isEverybodyIn ? WAIT_MAX_MS : Math.min(WAIT_MAX_MS, Math.max(WAIT_MIN_MS, quietMs));
  return Math.floor(Math.max(0, Math.min(mayMs, wishedMs)));
}
