/**
 * Collects the comparisons of each check, and decides for each signal whether it was correct.
 *
 *   the signal                                   its row
 *   became correct in time, and stayed so        ok, with the time that this took
 *   was correct, and is wrong later              not ok: the wrong value
 *   was never correct                            not ok: the last value
 *   had to be correct always, and was not        not ok: the wrong value
 */

import type { Comparison } from "./comparison.ts";

export interface Row extends Comparison {
  readonly problem: string;
  /** Before, during or after the problem; `throughout` for signals that no problem may change. */
  readonly phase: string;
  /** The destination or other subject of the signal. */
  readonly about: string;
  /** How long the signal took to become correct; null if it never was. */
  readonly afterMs: number | null;
}

interface Track {
  last: Comparison;
  trueAtMs: number | null;
  /** The comparison in which the signal was wrong for the first time. */
  wrong: Comparison | null;
  /** The comparison in which the signal was wrong again. */
  relapse: Comparison | null;
}

export class Judge {
  readonly #startedAtMs: number;
  readonly #tracks = new Map<string, Track>();

  constructor(startedAtMs: number) {
    this.#startedAtMs = startedAtMs;
  }

  take(comparisons: readonly Comparison[], atMs: number): void {
    for (const last of comparisons) {
      const before = this.#tracks.get(last.signal);
      const trueAtMs = before?.trueAtMs ?? (last.ok ? atMs : null);
      const isRelapse = !last.ok && trueAtMs !== null;
      const relapse = before?.relapse ?? (isRelapse ? last : null);
      const wrong = before?.wrong ?? (last.ok ? null : last);
      this.#tracks.set(last.signal, { last, trueAtMs, wrong, relapse });
    }
  }

  /** Signals that are wrong now. */
  get wrong(): readonly Comparison[] {
    return [...this.#tracks.values()].map(({ last }) => last).filter(({ ok }) => !ok);
  }

  /** @param isAlways whether the signals had to be correct from the start. */
  rows(about: Pick<Row, "problem" | "phase" | "about">, isAlways: boolean): readonly Row[] {
    return [...this.#tracks.values()].map(({ last, trueAtMs, wrong, relapse }) => {
      const shown = (isAlways ? wrong : relapse) ?? last;
      const afterMs = trueAtMs === null ? null : trueAtMs - this.#startedAtMs;
      return { ...about, ...shown, afterMs };
    });
  }
}
