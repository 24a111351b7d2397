/**
 * Finds a broker that does not respond to Fetch requests, although it may respond to all others. A
 * broker waits at most a second for records (`fetch-schedule.ts`), so a request that waits longer is
 * not an idle one.
 *
 *   since the look before                        the broker is
 *   no request was in progress all the time      fine
 *   bytes of a response came                     fine, however slowly they come
 *   the request has not been sent: the broker    fine: a quota
 *     asked for a pause
 *   this process looked late itself              fine: responses may wait to be read
 *   none of these, for SILENT_MS                 silent. The connection is closed, which ends its
 *                                                request; the next one goes by a new connection
 *
 * It counts as silent until it responds to a Fetch request, or nobody has fetched from it for a while.
 */

export const SILENT_MS = 10_000;
/** Looks are 2.5 s apart. */
const LATE_MS = 5_000;
const UNUSED_MS = 30_000;

/** A connection for fetches, as it is seen from outside. */
export interface FetchObservation {
  /** Requests so far; null: none is in progress. */
  readonly requestNumber: number | null;
  /** Of the connection. */
  readonly bytesRead: number;
  /** The request waits in this process. */
  readonly hasPending: boolean;
  readonly respondedAtMs: number;
}

/** `silent`: it has become so, or still is after another connection. */
type FetchFinding = "nothing" | "silent" | "unused";

export class FetchSilence {
  #isSilent = false;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #sinceMs = 0;
  #requestNumber: number | null = null;
  #bytesRead = 0;

  /** @param nowMs monotonic, as `respondedAtMs` is. */
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

  /** @returns whether the broker was silent. */
  recordResponse(): boolean {
    const wasSilent = this.#isSilent;
    this.#isSilent = false;
    return wasSilent;
  }
}
