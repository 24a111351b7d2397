/** Counts dead letters: by destination and reason, and where a replay would put them. */

import type { DeadLetter } from "./dead-letter-record.ts";
import { type ReplayTargets, replayOf } from "./replayed-record.ts";

export interface TallyRow {
  /** Null for records that were no deliveries. */
  readonly destination: string | null;
  readonly reason: string;
  /** The topic, or null when a replay refuses them. */
  readonly to: string | null;
  /** Why it refuses them; null when it does not. */
  readonly refused: string | null;
  readonly count: number;
}

export class Tally {
  readonly #targets: ReplayTargets;
  readonly #rows = new Map<string, TallyRow>();
  total = 0;
  refused = 0;
  /** Were replayed before. In a replay they are none of `total`, unless it sends them again. */
  replayed = 0;
  /** Were sent by the replay that is resumed, which had not committed them. */
  own = 0;

  constructor(targets: ReplayTargets) {
    this.#targets = targets;
  }

  add(deadLetter: DeadLetter): void {
    const { destination, reason } = deadLetter;
    const replay = replayOf(deadLetter, this.#targets);
    const to = replay.kind === "replay" ? replay.outgoing.topic : null;
    const refused = replay.kind === "refused" ? replay.why : null;
    const key = JSON.stringify([destination, reason, to, refused]);
    const count = (this.#rows.get(key)?.count ?? 0) + 1;
    this.#rows.set(key, { destination, reason, to, refused, count });
    this.total += 1;
    if (refused !== null) this.refused += 1;
  }

  /** The largest first. */
  rows(): readonly TallyRow[] {
    return [...this.#rows.values()].sort((one, other) => other.count - one.count);
  }
}
