/** What the owners of partitions need of their destination, and how they judge what became of a delivery. */

import type { IncomingRecord } from "../../../domain/record.ts";
import type { Fact } from "../../order/facts.ts";
import type { FollowedFacts } from "../../order/follow-facts.ts";
import type { Result } from "../../order/key-order.ts";
import type { Timer } from "../attempt.ts";
import type { Ended } from "../in-flight.ts";
import type { ReadBack } from "./read-back.ts";

/** Maximum number of deliveries of a partition that wait. Each of them is known to every process of the destination. */
export const WAITING_MAX = 1_000_000;
/**
 * A delivery that waits has to end after this time, because its record will be deleted: half of the time for which the
 * queue keeps its records (`../../topics/topic-plan.ts`).
 */
export const WAIT_MAX_MS = 84 * 3_600_000;

export interface OrderHost {
  readonly facts: Pick<FollowedFacts, "of" | "onFact">;
  readonly timer: Timer;
  /** False if the destination was strict, and is loose now. */
  readonly isStrict: boolean;
  /** True if dead letters hold their key. */
  readonly holds: boolean;
  /** Maximum number of blocked users of a partition. */
  readonly blockedMax: number;
  /** How long facts `settled` are kept: for longer than any copy, and longer than writes can be late. */
  readonly keepSettledMs: number;
  /**
   * Resolves when the fact is acknowledged; with false when that has become impossible, because the process stops.
   *
   * @param messageId null removes the fact.
   */
  write(line: string, fact: Fact, messageId: string | null): Promise<boolean>;
  /** @param signal ends reading. */
  readBack(partition: number, signal: AbortSignal): ReadBack;
  /**
   * Writes a dead letter for a delivery that has waited for too long, and resolves with what became of it; with null as
   * for `write`. Returns null if it has not, or if its user is suppressed: it then gets its turn.
   */
  expire(record: IncomingRecord): Promise<readonly Ended[] | null> | null;
}

/** Dead letters with these reasons do not hold their key: an operator wanted it, or nothing can be sent. */
const HOLDS_NOBODY: readonly string[] = ["dead:cancelled", "dead:too-large"];

/**
 *   became                                  the result
 *   a copy                                  failed; if the destination is loose now, as for a dead letter
 *   a dead letter that holds its key        held
 *   another dead letter                     rejected
 *   anything else                           accepted
 */
export function resultOf(
  endings: readonly Ended[],
  { isStrict, holds }: Pick<OrderHost, "isStrict" | "holds">,
): Result {
  if (endings.some(({ outcome }) => outcome === "retry")) return isStrict ? "failed" : "rejected";
  const dead = endings.find(({ outcome }) => outcome.startsWith("dead:"));
  if (dead === undefined) return "accepted";
  return holds && !HOLDS_NOBODY.includes(dead.outcome) ? "held" : "rejected";
}

/** True if a dead letter with this reason gets its place in the queue, because its user waits for it. */
export function isHeldFor(reason: string): boolean {
  return !HOLDS_NOBODY.includes(`dead:${reason}`);
}
