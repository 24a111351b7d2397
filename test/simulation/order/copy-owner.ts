/**
 * Attempts the copies of deliveries that are retried, wherever they are read. It need not know the order: at most one
 * delivery of a key is retried at a time, and every earlier one is settled.
 *
 *   a copy                                     then
 *   is settled, as the facts show              it is processed
 *   of a key of which a copy is in progress    it waits
 *   otherwise                                  it is attempted, if the partition is certainly still ours: a process that
 *                                              was frozen does not know yet what is settled meanwhile
 *
 *   an attempt of a copy                       then
 *   accepted                                   fact `settled`
 *   failed, within the retry window            a copy in the next delay topic
 *   failed later, or rejected                  dead letter, then fact `settled`, unless dead letters hold their key
 */

import type { IncomingRecord, OutgoingRecord } from "../../../src/domain/record.ts";
import type { AssignedPartition, PartitionHandler } from "../../../src/kafka/port.ts";
import type { Response } from "./endpoint.ts";
import type { Host } from "./host.ts";
import {
  type Copy,
  copyOf,
  copyRecord,
  DELAYS_MS,
  deadLetterRecord,
  delayTopic,
  FACTS,
  factRecord,
  WINDOW_MS,
} from "./setup.ts";

interface Waiting {
  readonly copy: Copy;
  readonly offset: number;
  readonly tenure: Tenure;
}

interface Tenure {
  readonly partition: AssignedPartition;
  isDraining: boolean;
  active: number;
  onIdle: (() => void) | null;
}

export class CopyOwner {
  readonly #process: Host;
  #waiting: Waiting[] = [];
  readonly #busy = new Set<string>();
  /** The facts that this process wrote, which it may not have read yet. */
  readonly #settled = new Map<string, number>();
  readonly #tenures = new WeakMap<AssignedPartition, Tenure>();

  constructor(process: Host) {
    this.#process = process;
  }

  /** Owns a partition of the retry topic. */
  open(partition: AssignedPartition): PartitionHandler & { pump(): void } {
    let early: IncomingRecord[] | null = [];
    const take = (records: readonly IncomingRecord[]) => {
      for (const record of records) this.accept(record, partition);
    };
    void this.#process.readFacts().then(() => {
      const records = early ?? [];
      early = null;
      take(records);
    });
    return {
      take: (records) => {
        if (early === null) take(records);
        else early.push(...records);
      },
      drain: () => this.drain(partition),
      pump: () => undefined,
    };
  }

  accept(record: IncomingRecord, partition: AssignedPartition): void {
    const copy = copyOf(record);
    if (copy === null) return;
    this.#waiting.push({ copy, offset: record.offset, tenure: this.#tenure(partition) });
    this.pump();
  }

  pump(): void {
    const { settings } = this.#process.deps;
    const { isPaused } = settings.controls;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) {
      if (each.tenure.isDraining) continue;
      const { key, partition } = each.copy.place;
      const name = `${partition}/${key}`;
      const isDropped =
        this.#isSettled(each.copy) && settings.design.broken !== "drop-settled-copies";
      if (isDropped) each.tenure.partition.finish(each.offset);
      else if (isPaused || this.#busy.has(name)) this.#waiting.push(each);
      else this.#start(each, name);
    }
  }

  #isSettled({ place }: Copy): boolean {
    const facts = this.#process.facts[place.partition];
    const own = this.#settled.get(`${place.partition}/${place.key}`) ?? -1;
    return facts?.isSettled(place.key, place.offset) === true || place.offset <= own;
  }

  #start(waiting: Waiting, name: string): void {
    const { tenure } = waiting;
    this.#busy.add(name);
    tenure.active += 1;
    void this.#attempt(waiting, name).then(() => {
      this.#busy.delete(name);
      tenure.active -= 1;
      if (tenure.active === 0) tenure.onIdle?.();
      this.pump();
    });
  }

  async #attempt({ copy, offset, tenure }: Waiting, name: string): Promise<void> {
    const { endpoint, id, settings, clock } = this.#process.deps;
    const decidedMs = clock.nowMs();
    const isOurs = await this.#process.see(tenure.partition.isOurs());
    if (!isOurs && settings.design.broken !== "ours-before-attempt") return;
    const response = await this.#process.see(endpoint.request(copy.place, `copy-${id}`, decidedMs));
    for (const record of this.#follow(copy, response)) {
      await this.#process.write(record);
      const own = this.#settled.get(name) ?? -1;
      if (record.topic === FACTS) this.#settled.set(name, Math.max(own, copy.place.offset));
    }
    tenure.partition.finish(offset);
  }

  /** What follows an attempt, in the order in which it is written. */
  #follow(copy: Copy, response: Response): readonly OutgoingRecord[] {
    const { settings, clock } = this.#process.deps;
    const { onDeadLetter, design } = settings;
    const { place, attempts, firstMs } = copy;
    const fact = factRecord("settled", place);
    if (response === "accepted") return [fact];
    const delayMs = DELAYS_MS[Math.min(attempts, DELAYS_MS.length - 1)] ?? 0;
    const isLate = clock.nowMs() + delayMs > firstMs + WINDOW_MS;
    if (response === "failed" && !isLate)
      return [copyRecord(delayTopic(delayMs), { ...copy, attempts: attempts + 1 })];
    const dead = deadLetterRecord(place, response === "failed" ? "expired" : "rejected");
    const settles = onDeadLetter === "continue" && design.broken !== "dead-letters-settle";
    return settles ? [dead, fact] : [dead];
  }

  #tenure(partition: AssignedPartition): Tenure {
    let tenure = this.#tenures.get(partition);
    tenure ??= { partition, isDraining: false, active: 0, onIdle: null };
    this.#tenures.set(partition, tenure);
    return tenure;
  }

  drain(partition: AssignedPartition): Promise<void> {
    const tenure = this.#tenure(partition);
    tenure.isDraining = true;
    return new Promise((resolve) => {
      tenure.onIdle = resolve;
      if (tenure.active === 0) resolve();
    });
  }
}
