/**
 * The pulls of one partition of a delay topic, for the time that this process owns it. A pulled
 * record leaves before its turn, so it has left although its offset is not finished.
 *
 *   a record of a pull                                  is
 *   below the offset that is known to be pulled         gone: it is finished when it is taken
 *   read ahead, and being written                       claimed: it is finished when it is written
 *   in hand                                             taken off the queue, and written
 *   read ahead, not taken                               claimed and written
 *   not reached yet                                     left for the next step
 *
 *   a pull in this partition is
 *   over     when all that was parked before it is due by now, or the reading has come to the end
 *            of the log as it was when the pull was first seen here
 */

import { isPulledBy, type Pullable } from "../domain/early-release.ts";
import type { Steering } from "../domain/operator-action-state.ts";
import type { Pull } from "../domain/operator-actions.ts";
import type { Waiting } from "./due.ts";

/** A record that was parked before the pull may be due so much later: clocks differ. */
const CLOCKS_DIFFER_MS = 60_000;

export interface PulledPlace {
  readonly tier: string;
  readonly partition: number;
  readonly delayMs: number;
  /** Empty while it is not known. */
  readonly topicId: () => string;
}

interface Progress {
  /** The end of the log when it was first seen; null: not asked for yet. */
  to: number | null;
  through: number;
}

export class PulledAhead {
  readonly #steering: Pick<Steering, "pulls" | "pullsOf" | "pulledThrough">;
  readonly #place: PulledPlace;
  readonly #progress = new Map<string, Progress>();
  readonly #claims = new Map<number, Promise<void>>();

  constructor(steering: Pick<Steering, "pulls" | "pullsOf" | "pulledThrough">, place: PulledPlace) {
    this.#steering = steering;
    this.#place = place;
  }

  /** Whether it has left, or is leaving; then resolves when it is written. Null: it is still here. */
  leaving(waiting: Waiting): Promise<void> | null {
    const claim = this.#claims.get(waiting.record.offset);
    if (claim !== undefined) return claim;
    return this.isGone(waiting) ? Promise.resolve() : null;
  }

  isGone(waiting: Waiting): boolean {
    if (waiting.kind === "invalid") return false;
    const { offset } = waiting.record;
    return this.#steering
      .pullsOf(waiting.destination)
      .some((pull) => offset < this.through(pull) && isPulledBy(pull, pullable(waiting)));
  }

  /** Those that have something to do here. */
  pending(nowMs: number): readonly Pull[] {
    return this.#steering.pulls().filter((pull) => {
      if (nowMs >= pull.atMs + this.#place.delayMs + CLOCKS_DIFFER_MS) return false;
      const { to } = this.#of(pull);
      return to === null || this.through(pull) < to;
    });
  }

  through(pull: Pull): number {
    const { tier, partition, topicId } = this.#place;
    return Math.max(
      this.#progress.get(pull.id)?.through ?? 0,
      this.#steering.pulledThrough(pull.id, tier, partition, topicId()),
    );
  }

  /** Null: the end of the log has to be asked for. */
  endOf(pull: Pull): number | null {
    return this.#of(pull).to;
  }

  endsAt(pull: Pull, end: number): void {
    this.#of(pull).to ??= end;
  }

  /** These are being written, although they are not in hand. */
  claim(offsets: readonly number[], written: Promise<void>): void {
    for (const offset of offsets) this.#claims.set(offset, written);
  }

  /** All of the pull below the offset is written. */
  isThrough(pull: Pull, offset: number, claimed: readonly number[]): void {
    const progress = this.#of(pull);
    progress.through = Math.max(progress.through, offset);
    for (const each of claimed) this.#claims.delete(each);
  }

  /** Of forgotten pulls nothing is kept. */
  #of(pull: Pull): Progress {
    const known = this.#progress.get(pull.id);
    if (known !== undefined) return known;
    const ids = new Set(this.#steering.pulls().map(({ id }) => id));
    for (const id of this.#progress.keys()) if (!ids.has(id)) this.#progress.delete(id);
    const begun = { to: null, through: 0 };
    this.#progress.set(pull.id, begun);
    return begun;
  }
}

export function pullable(waiting: Extract<Waiting, { kind: "waiting" }>): Pullable {
  const { destination, receivedAtMs, firstAttemptAtMs } = waiting;
  const { timestampMs } = waiting.record;
  return { destination, timestampMs, receivedAtMs, firstAttemptAtMs };
}
