/**
 * When a fetch loop (a consumer's of one broker) may ask again.
 *
 *   the last fetch                   the next one may begin
 *   never was, or began long ago     at once
 *   left records behind              10 ms after it began
 *   left none                        after the spacing: the longest of 10 ms, of what the consumer was
 *                                    given, and of 3 ms times the square root of how many loops of the
 *                                    process records stream into
 *
 *   loops that records stream into    1 to 11    100    1,000
 *   spacing, ms                            10     30       95
 *
 * A broker answers as soon as there is a single record. While records come all the time, each would
 * be fetched alone, at the cost of a request; so they are gathered, and one that comes after a
 * silence still finds a fetch waiting for it. The more loops, the more a millisecond of spacing saves
 * and no more than before does it cost a record: the least sum of both is at a square root
 * (decision 0004). Records stream into a loop when its last fetch brought some within 100 ms.
 */

const SPACING_MIN_MS = 10;
const SPACING_OF_ONE_MS = 3;
const STREAM_MS = 100;

interface Loop {
  beganAtMs: number;
  isBehind: boolean;
}

/** The loops that records stream into. One for all consumers of a process. */
export class FetchStreams {
  readonly #loops = new Set<Loop>();

  get spacingMs(): number {
    return SPACING_OF_ONE_MS * Math.sqrt(this.#loops.size);
  }

  set(loop: Loop, isStreaming: boolean): void {
    if (isStreaming) this.#loops.add(loop);
    else this.#loops.delete(loop);
  }
}

/** Of one consumer; whoever makes it closes it. */
export class FetchPace {
  readonly #streams: FetchStreams;
  readonly #spacingMs: number;
  /** By broker. */
  readonly #loops = new Map<string, Loop>();

  /** @param spacingMs milliseconds; less than 10 is as good as 10. */
  constructor(streams: FetchStreams, spacingMs: number = SPACING_MIN_MS) {
    this.#streams = streams;
    this.#spacingMs = Math.max(SPACING_MIN_MS, spacingMs);
  }

  /** @param nowMs monotonic, milliseconds; also below. */
  waitMs(nodeId: string, nowMs: number): number {
    const loop = this.#loops.get(nodeId);
    if (loop === undefined) return 0;
    const spacingMs = loop.isBehind
      ? SPACING_MIN_MS
      : Math.max(this.#spacingMs, this.#streams.spacingMs);
    return Math.max(0, loop.beganAtMs + spacingMs - nowMs);
  }

  begins(nodeId: string, nowMs: number): void {
    const loop = this.#loops.get(nodeId);
    if (loop === undefined) this.#loops.set(nodeId, { beganAtMs: nowMs, isBehind: false });
    else loop.beganAtMs = nowMs;
  }

  /** What the fetch that began last has brought, and whether it left records behind. */
  ended(nodeId: string, records: number, isBehind: boolean, nowMs: number): void {
    const loop = this.#loops.get(nodeId);
    if (loop === undefined) return;
    loop.isBehind = isBehind;
    this.#streams.set(loop, records > 0 && nowMs - loop.beganAtMs < STREAM_MS);
  }

  close(): void {
    for (const loop of this.#loops.values()) this.#streams.set(loop, false);
    this.#loops.clear();
  }
}
