/**
 * Collects comparisons look after look, and says of each signal whether it was true.
 *
 *   the signal                                   its row
 *   became true within its time, and stayed so   ok, with how long that took
 *   was true, and is false later                 not ok: what it said then
 *   was never true                               not ok: what it says in the end
 *   has to be true all the time, and was not     not ok: what it said then
 */

import type { Comparison } from "./comparison.ts";

export interface Row extends Comparison {
  readonly trouble: string;
  /** Before, while, after; `throughout` for what no trouble is to change. */
  readonly phase: string;
  /** The destination, or what else it is said of. */
  readonly about: string;
  /** How long it took to become true; null: it never was. */
  readonly afterMs: number | null;
}

interface Track {
  last: Comparison;
  trueAtMs: number | null;
  /** What it said when it was false for the first time. */
  wrong: Comparison | null;
  /** What it said when it was false again. */
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

  /** Signals that are false now. */
  get wrong(): readonly Comparison[] {
    return [...this.#tracks.values()].map(({ last }) => last).filter(({ ok }) => !ok);
  }

  /** @param isAlways whether it had to be true from the beginning. */
  rows(about: Pick<Row, "trouble" | "phase" | "about">, isAlways: boolean): readonly Row[] {
    return [...this.#tracks.values()].map(({ last, trueAtMs, wrong, relapse }) => {
      const shown = (isAlways ? wrong : relapse) ?? last;
      const afterMs = trueAtMs === null ? null : trueAtMs - this.#startedAtMs;
      return { ...about, ...shown, afterMs };
    });
  }
}
