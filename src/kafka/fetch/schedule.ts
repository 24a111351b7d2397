/**
 * Decides when the next fetch is sent to a broker, for how many bytes, and how long the broker may wait
 * for a record.
 *
 *   the next request                     starts
 *   after a quiet time                   immediately, as do the next three: a call is fetched, and
 *                                        directly after it its deliveries
 *   after these                          one per 10 ms, plus 10 µs for each partition, because the broker
 *                                        checks each of them
 *   while a partition that had records   at least a millisecond after the last response: its next fetch is
 *   is not requested                     about to start
 *
 *   after throttled responses without    at least 2, 4, and then 8 s after the last one: a broker returns
 *   records, from the second one         no records to a client above its quota, and counts each request
 *
 *   a response may have                  bytes
 *   at first                             4 MiB, because records of many members are in memory before any
 *                                        member has counted them
 *   after a throttled response without   a sixteenth, at least 1 KiB: if a response exceeds the rest of
 *   records                              the quota, a broker withholds it for about 10 s, and would do
 *                                        so each time
 *   after a response with records        sixteen times as many, up to 4 MiB
 *
 *   a request with                       the broker waits at most
 *   all partitions that are read here    a second: a new partition's first fetch waits for the response
 *   except one that had records, or is   the time since the last record, at least 10 ms, at most a
 *   on hold or paused                    second: its fetch may be due at any moment, and then waits
 */

const SPACING_MS = 10;
/** How many requests may start in quick succession. */
const AT_ONCE = 4;
const SPACING_OF_PARTITION_MS = 0.01;
const AFTER_RESPONSE_MS = 1;
const WAIT_MIN_MS = 10;
const WAIT_MAX_MS = 1_000;
/** Shorter than the 11 s over which brokers sum up a client's usage. */
const THROTTLED_PAUSE_MAX_MS = 8_000;

const RESPONSE_MAX_BYTES = 4 * 1024 * 1024;
/** A broker returns the first batch even if the batch is larger than this. */
const RESPONSE_MIN_BYTES = 1024;
const RESPONSE_FACTOR = 16;

/** Times are monotonic, in milliseconds. */
interface Pacing {
  /** The end of the requests so far if they had been evenly spaced: the last result of `spacedUntilMs`. */
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

/** Updates the pacing for a request that starts now. */
export function spacedUntilMs(
  { untilMs, partitions }: Pick<Pacing, "untilMs" | "partitions">,
  nowMs: number,
): number {
  return Math.max(untilMs, nowMs) + spacingMs(partitions);
}

function spacingMs(partitions: number): number {
  return SPACING_MS + partitions * SPACING_OF_PARTITION_MS;
}

/** @param throttled number of consecutive responses that were throttled and had no records. */
export function throttledPauseMs(throttled: number): number {
  if (throttled < 2) return 0;
  return Math.min(THROTTLED_PAUSE_MAX_MS, 1_000 * 2 ** (throttled - 1));
}

interface LastResponse {
  readonly hasRecords: boolean;
  readonly isWithheld: boolean;
}

/** @param bytes the limit for the previous response; `undefined` at first. */
export function responseMaxBytes(bytes?: number, last?: LastResponse): number {
  if (bytes === undefined || last === undefined) return RESPONSE_MAX_BYTES;
  if (last.hasRecords) return Math.min(RESPONSE_MAX_BYTES, bytes * RESPONSE_FACTOR);
  return last.isWithheld ? Math.max(RESPONSE_MIN_BYTES, bytes / RESPONSE_FACTOR) : bytes;
}

interface Idleness {
  /** `true` if every partition that is read from this broker is requested. */
  readonly isEverybodyIn: boolean;
  /** Time since the last records arrived. */
  readonly quietMs: number;
}

export function brokerWaitsMs({ isEverybodyIn, quietMs }: Idleness): number {
  if (isEverybodyIn) return WAIT_MAX_MS;
  return Math.floor(Math.min(WAIT_MAX_MS, Math.max(WAIT_MIN_MS, quietMs)));
}
