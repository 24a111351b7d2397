/** A partition for the time that this process owns it, and how much of it is under way. */

import type { AssignedPartition } from "../kafka/port.ts";
import type { SlotFor } from "./circuit-breaker.ts";

/** Of a partition, what the work on its records needs. */
export type Finishing = Pick<AssignedPartition, "finish">;

export class OwnedWork {
  readonly turn: SlotFor;
  isDraining = false;
  readonly #partition: Finishing;
  #underWay = 0;
  readonly #onIdle: (() => void)[] = [];

  constructor(partition: Finishing, turn: SlotFor) {
    this.#partition = partition;
    this.turn = turn;
  }

  /** A delivery is attempted, or written elsewhere. */
  begin(): void {
    this.#underWay += 1;
  }

  /** One that was begun is done. */
  finish(offset: number): void {
    this.#partition.finish(offset);
    this.leave();
  }

  /** One that was begun is not under way any more. */
  leave(): void {
    this.#underWay -= 1;
    if (this.#underWay > 0) return;
    for (const then of this.#onIdle.splice(0)) then();
  }

  /** Resolves when nothing is under way. */
  idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }
}
