/**
 * When the next fetch is sent to a broker, for how much, and how long the broker may wait for a record.
 *
 *   the next request                     starts
 *   after a quiet time                   at once, and so do the three behind it: a call is fetched, and
 *                                        what became of it right after that
 *   behind these                         one in 10 ms, and 10 µs more for each partition: the broker
 *                                        looks at each of them
 *   when a member that had records is    not before a millisecond after the last response: its fetch
 *   without a fetch                      is about to come
 *
 *   after throttled responses without    not before 2, 4, and then 8 s after the last one: a broker that
 *   records, from the second one         counts a client above its quota gives it no records, and
 *                                        each request is counted
 *
 *   a response may have                  bytes
 *   at first                             4 MiB: records of many members that are in memory before any
 *                                        of them has counted them
 *   after a throttled response without   a sixteenth, at least 1 KiB: a broker withholds a response that
 *   records                              is larger than what the quota leaves for some 10 s, and would
 *                                        do so each time
 *   after one with records               sixteen times as many, up to 4 MiB
 *
 *   fetches                              the broker waits at most
 *   all members' that read from it       a second: a new member's first fetch waits for the response
 *   not those of a member that had        as long as no record came, at least 10 ms, at most a second:
 *   records, or is held or paused        its fetch may come any moment, and waits for the response, too
 *   one that must not wait               not at all
 */

const SPACING_MS = 10;
/** Requests in quick succession. */
const AT_ONCE = 4;
const SPACING_OF_PARTITION_MS = 0.01;
const AFTER_RESPONSE_MS = 1;
const WAIT_MIN_MS = 10;
const WAIT_MAX_MS = 1_000;
/** Below the 11 s for which brokers sum up what a client has used. */
const THROTTLED_PAUSE_MAX_MS = 8_000;

const RESPONSE_MAX_BYTES = 4 * 1024 * 1024;
/** A broker gives the first batch in any case. */
const RESPONSE_MIN_BYTES = 1024;
const RESPONSE_FACTOR = 16;

/** Times are monotonic, in milliseconds. */
interface Pacing {
  /** Until then requests so far are enough, evenly spaced: `spacedUntilMs` of the last one. */
  readonly untilMs: number;
  readonly respondedAtMs: number;
  readonly partitions: number;
  readonly isEverybodyIn: boolean;
}

export function startsInMs(pacing: Pacing, nowMs: number): number {
  const { untilMs, respondedAtMs, partitions, isEverybodyIn } = pacing;
  const spacedAtMs = untilMs - (AT_ONCE - 1) * spacingMs(partitions);
  const everybodyAtMs = isEverybodyIn ? nowMs : respondedAtMs + AFTER_RESPONSE_MS;
  return Math.max(0, spacedAtMs - nowMs, everybodyAtMs - nowMs);
}

/** Of a request that starts now. */
export function spacedUntilMs(
  { untilMs, partitions }: Pick<Pacing, "untilMs" | "partitions">,
  nowMs: number,
): number {
  return Math.max(untilMs, nowMs) + spacingMs(partitions);
}

function spacingMs(partitions: number): number {
  return SPACING_MS + partitions * SPACING_OF_PARTITION_MS;
}

/** @param throttled responses in a row that were throttled and had no records. */
export function throttledPauseMs(throttled: number): number {
  if (throttled < 2) return 0;
  return Math.min(THROTTLED_PAUSE_MAX_MS, 1_000 * 2 ** (throttled - 1));
}

interface LastResponse {
  readonly hasRecords: boolean;
  readonly isWithheld: boolean;
}

/** @param bytes what the response before might have; `undefined` at first. */
export function responseMaxBytes(bytes?: number, last?: LastResponse): number {
  if (bytes === undefined || last === undefined) return RESPONSE_MAX_BYTES;
  if (last.hasRecords) return Math.min(RESPONSE_MAX_BYTES, bytes * RESPONSE_FACTOR);
  return last.isWithheld ? Math.max(RESPONSE_MIN_BYTES, bytes / RESPONSE_FACTOR) : bytes;
}

interface Waiting {
  /** Whether no member that reads from this broker is without a fetch. */
  readonly isEverybodyIn: boolean;
  /** Since the last records. */
  readonly quietMs: number;
  /** The shortest of the fetches that have not been sent yet. */
  readonly requestedWaitMs: number;
}

export function brokerWaitsMs({ isEverybodyIn, quietMs, requestedWaitMs }: Waiting): number {
  const mayMs = isEverybodyIn ? WAIT_MAX_MS : Math.min(WAIT_MAX_MS, Math.max(WAIT_MIN_MS, quietMs));
  return Math.floor(Math.max(0, Math.min(mayMs, requestedWaitMs)));
}
