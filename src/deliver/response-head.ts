/** The head of an answer that is none of success, for those who look for its cause. Pure. */

import type { Phases } from "./attempt.ts";

/** Keeps of a piece of the answer's body what there is room for. */
export function keepAnswer(phases: Phases, status: number, piece: Buffer): void {
  if (status >= 200 && status < 300) return;
  const kept = phases.kept ?? [];
  const room = (phases.keepBytes ?? 0) - kept.reduce((sum, { length }) => sum + length, 0);
  if (room <= 0) return;
  // A copy: a view would keep the whole read from being freed.
  kept.push(Buffer.from(piece.subarray(0, room)));
  phases.kept = kept;
}
