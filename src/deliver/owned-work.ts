/** A partition while this process owns it, with the number of its deliveries in progress. */

import type { AssignedPartition } from "../kafka/port.ts";
import type { SlotFor } from "./circuit-breaker.ts";

/** What the work on a partition's records needs. */
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

  /** Call when work on a delivery begins. */
  begin(): void {
    this.#underWay += 1;
  }

  /** Call when the delivery is processed. */
  finish(offset: number): void {
    this.#partition.finish(offset);
    this.leave();
  }

  /** Call when work on the delivery has ended, processed or not. */
  leave(): void {
    this.#underWay -= 1;
    if (this.#underWay > 0) return;
    for (const then of this.#onIdle.splice(0)) then();
  }

  /** Resolves when no work is in progress. */
  idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }
}
