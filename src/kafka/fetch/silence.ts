/**
 * Detects a broker that does not respond to Fetch requests, although it may respond to other requests. A broker waits
 * at most a second for records (`schedule.ts`), so a missing response after that time does not mean that there are no
 * records.
 *
 *   since the last check                         the broker is
 *   the request has changed, or there is none    working
 *   bytes of a response arrived                  working, even if they arrive slowly
 *   the request has not been sent: the broker    working: a quota was exceeded
 *     requested a pause
 *   the check itself was late                    working: responses may wait to be read
 *   none of these, for SILENT_MS                 silent. The connection is closed, which ends its
 *                                                request; the next one uses a new connection
 *
 * The broker counts as silent until it responds to a Fetch request, or until no fetch has been sent to it for 30 s.
 */

export const SILENT_MS = 10_000;
/** Checks are 2.5 s apart. If the time between two of them is longer than this, the process was late. */
const LATE_MS = 5_000;
const UNUSED_MS = 30_000;

/** The state of a connection for fetches. */
export interface FetchObservation {
  /** The number of requests so far; null if no request is in flight. */
  readonly requestNumber: number | null;
  readonly bytesRead: number;
  /** `true` if the request waits in this process. */
  readonly hasPending: boolean;
  readonly respondedAtMs: number;
}

/** `silent`: the broker has become silent, or is still silent on a new connection. */
type FetchFinding = "nothing" | "silent" | "unused";

export class FetchSilence {
  #isSilent = false;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #sinceMs = 0;
  #requestNumber: number | null = null;
  #bytesRead = 0;

  /** @param nowMs monotonic, like `respondedAtMs`. */
  look(
    { requestNumber, bytesRead, hasPending, respondedAtMs }: FetchObservation,
    nowMs: number,
  ): FetchFinding {
    const isLate = nowMs - this.#lookedAtMs > LATE_MS;
    const isSame =
      requestNumber !== null &&
      requestNumber === this.#requestNumber &&
      bytesRead === this.#bytesRead;
    this.#lookedAtMs = nowMs;
    this.#requestNumber = requestNumber;
    this.#bytesRead = bytesRead;
    if (!isSame || isLate || hasPending) this.#sinceMs = nowMs;
    if (requestNumber !== null && nowMs - this.#sinceMs >= SILENT_MS) {
      this.#requestNumber = null;
      this.#isSilent = true;
      return "silent";
    }
    const isUnused = requestNumber === null && nowMs - respondedAtMs > UNUSED_MS;
    return isUnused && this.recordResponse() ? "unused" : "nothing";
  }

  /** @returns `true` if the broker was silent. */
  recordResponse(): boolean {
    const wasSilent = this.#isSilent;
    this.#isSilent = false;
    return wasSilent;
  }
}
