/** Owns a partition of a delay topic: returns what is due, and dead-letters what is canceled. */

import type { IncomingRecord, OutgoingRecord } from "../../../src/domain/record.ts";
import type { AssignedPartition, PartitionHandler } from "../../../src/kafka/port.ts";
import type { Host } from "./host.ts";
import {
  copyOf,
  copyRecord,
  deadLetterRecord,
  delayTopic,
  factRecord,
  QUEUE,
  RETRIES,
} from "./setup.ts";

export class DelayOwner implements PartitionHandler {
  readonly #process: Host;
  readonly #partition: AssignedPartition;
  readonly #delayMs: number;
  #waiting: IncomingRecord[] = [];
  #isDraining = false;
  #active = 0;
  #onIdle: (() => void) | null = null;

  constructor(process: Host, partition: AssignedPartition, delayMs: number) {
    this.#process = process;
    this.#partition = partition;
    this.#delayMs = delayMs;
  }

  take(records: readonly IncomingRecord[]): void {
    this.#waiting.push(...records);
    for (const { timestampMs } of records) {
      const dueMs = timestampMs + this.#delayMs - this.#process.deps.clock.nowMs();
      this.#process.after(Math.max(0, dueMs), () => this.pump());
    }
    this.pump();
  }

  drain(): Promise<void> {
    this.#isDraining = true;
    return new Promise((resolve) => {
      this.#onIdle = resolve;
      if (this.#active === 0) resolve();
    });
  }

  pump(): void {
    if (this.#isDraining) return;
    const { controls } = this.#process.deps.settings;
    const dueMs = this.#process.deps.clock.nowMs() - this.#delayMs;
    const isDue = ({ timestampMs }: IncomingRecord) =>
      timestampMs <= dueMs || timestampMs <= controls.releasedMs;
    const due = this.#waiting.filter(isDue);
    if (due.length === 0) return;
    this.#waiting = this.#waiting.filter((record) => !isDue(record));
    this.#active += 1;
    void this.#return(due).then(() => {
      this.#active -= 1;
      if (this.#active === 0) this.#onIdle?.();
    });
  }

  async #return(due: readonly IncomingRecord[]): Promise<void> {
    const steps = due.map((record) => this.#stepsOf(record));
    for (const first of [0, 1]) {
      const records = steps.flatMap((each) => each[first] ?? []);
      if (records.length > 0) await this.#process.write(...records);
    }
    for (const { offset } of due) this.#partition.finish(offset);
  }

  #stepsOf(record: IncomingRecord): readonly OutgoingRecord[] {
    const { controls, design } = this.#process.deps.settings;
    const copy = copyOf(record);
    // A delivery that was rerouted before it was in the queue.
    if (copy === null) return [{ topic: QUEUE, key: record.key, value: record.value, headers: [] }];
    const { place, receivedMs } = copy;
    if (receivedMs < controls.cancelledMs) {
      const dead = deadLetterRecord(place, "cancelled");
      return design.broken === "cancels-settle" ? [dead] : [dead, factRecord("settled", place)];
    }
    if (!controls.isRetryTopicMissing) return [copyRecord(RETRIES, copy)];
    const isBack = design.broken === "copies-avoid-queue";
    const { partition } = place;
    return [
      isBack ? copyRecord(QUEUE, copy, partition) : copyRecord(delayTopic(this.#delayMs), copy),
    ];
  }
}
