/** What the owners of partitions need of their destination. */

import type { IncomingRecord } from "../../../domain/record.ts";
import type { Fact } from "../../order/facts.ts";
import type { FollowedFacts } from "../../order/follow-facts.ts";
import type { Timer } from "../attempt.ts";
import type { Ended } from "../in-flight.ts";
import type { ReadBack } from "./read-back.ts";

export interface OrderHost {
  readonly facts: Pick<FollowedFacts, "of" | "caughtUp" | "onFact">;
  readonly timer: Timer;
  /** False if the destination was strict, and is loose now. */
  readonly isStrict: boolean;
  /** True if dead letters hold their key. */
  readonly holds: boolean;
  /** Maximum number of blocked keys of a partition. */
  readonly blockedMax: number;
  /** How long facts `settled` are kept: for longer than any copy, and longer than writes can be late. */
  readonly keepSettledMs: number;
  /** The keys of copies in progress in this process, with the partitions of the queue. */
  readonly busy: Set<string>;
  /** Starts the copies that may start. */
  pumpCopies(): void;
  /**
   * Resolves when the fact is acknowledged; with false when that has become impossible, because the process stops.
   *
   * @param messageId null removes the fact.
   */
  write(partition: number, fact: Fact, messageId: string | null): Promise<boolean>;
  /** @param signal ends reading. */
  readBack(partition: number, signal: AbortSignal): ReadBack;
  /** True if a delivery that waits has to end before its record is deleted. */
  isTooOld(record: IncomingRecord): boolean;
  /** Writes a dead letter for a delivery that is too old, and returns what became of it. */
  expire(record: IncomingRecord): Promise<readonly Ended[]>;
  /** Called when a partition has been drained. */
  left(partition: object): void;
}
