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
export interface FetchSight {
  /** Requests so far; null: none is in progress. */
  readonly asked: number | null;
  /** Of the connection. */
  readonly bytesRead: number;
  /** The request waits in this process. */
  readonly isHeldBack: boolean;
  readonly answeredAtMs: number;
}

/** `silent`: it has become so, or still is after another connection. */
export type FetchFinding = "nothing" | "silent" | "unused";

export class FetchSilence {
  #isSilent = false;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #sinceMs = 0;
  #asked: number | null = null;
  #bytesRead = 0;

  /** @param nowMs monotonic, as `answeredAtMs` is. */
  look({ asked, bytesRead, isHeldBack, answeredAtMs }: FetchSight, nowMs: number): FetchFinding {
    const isLate = nowMs - this.#lookedAtMs > LATE_MS;
    const isSame = asked !== null && asked === this.#asked && bytesRead === this.#bytesRead;
    this.#lookedAtMs = nowMs;
    this.#asked = asked;
    this.#bytesRead = bytesRead;
    if (!isSame || isLate || isHeldBack) this.#sinceMs = nowMs;
    if (asked !== null && nowMs - this.#sinceMs >= SILENT_MS) {
      this.#asked = null;
      this.#isSilent = true;
      return "silent";
    }
    const isUnused = asked === null && nowMs - answeredAtMs > UNUSED_MS;
    return isUnused && this.answered() ? "unused" : "nothing";
  }

  /** @returns whether the broker was silent. */
  answered(): boolean {
    const wasSilent = this.#isSilent;
    this.#isSilent = false;
    return wasSilent;
  }
}
