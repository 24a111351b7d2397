// For anything that is written, taken, finished and read ahead, in any order: the counts are those of the waiting
// records, and no time is later than the true one.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { DelayedRecord } from "../../../../src/router/delay/due.ts";
import { PartitionCount } from "../../../../src/router/delay/partition-count.ts";
import { Labels, type Tallies, timesOf } from "../../../../src/router/delay/tally.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { waitingOf } from "../../../support/build/waiting-of.ts";

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("write" as const),
      /** For each record, its destination and the time of its first attempt. */
      records: fc.array(fc.tuple(fc.nat(4), fc.option(fc.nat(1_000))), { maxLength: 40 }),
      gap: fc.nat(3),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("take" as const), count: fc.nat(30) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("finish" as const), count: fc.nat(30) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("look" as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("read" as const),
      count: fc.integer({ min: 1, max: 50 }),
      /** The number of records taken between the request and its response. */
      takenMeanwhile: fc.nat(20),
    }),
  },
);

class Model {
  readonly #log: DelayedRecord[] = [];
  readonly #count: PartitionCount;
  #end = 0;
  #taken = 0;
  #finished = 0;
  #covered = 0;
  #nowMs = 1_000_000;

  constructor(entriesMax: number) {
    const configured = ["d0", "d1", "d2", "d3", "d4"];
    this.#count = new PartitionCount(new Labels(configured), () => entriesMax);
  }

  apply(next: typeof step extends fc.Arbitrary<infer Step> ? Step : never): void {
    if (next.kind === "write") this.#write(next.records, next.gap);
    if (next.kind === "take") this.#take(next.count);
    if (next.kind === "finish") this.#finish(next.count);
    if (next.kind === "look") this.#look();
    if (next.kind === "read") this.#read(next.count, next.takenMeanwhile);
    this.#check();
  }

  /** Finishes everything. Nothing may be left. */
  complete(): void {
    this.#take(this.#log.length);
    this.#finish(this.#log.length);
    this.#check();
    expect(this.#tallies()).toEqual(new Map());
    this.#look();
    this.#look();
    expect(this.#count.isKnown).toBe(true);
  }

  #write(records: readonly (readonly [number, number | null])[], gap: number): void {
    for (const [destination, firstAttemptAtMs] of records) {
      this.#nowMs += 10;
      const scheduledAtMs = this.#nowMs;
      const at = { offset: this.#end, scheduledAtMs, firstAttemptAtMs };
      this.#log.push(waitingOf(`d${destination}`, { ...at, dueAtMs: scheduledAtMs + 60_000 }));
      this.#end += 1;
    }
    this.#end += gap;
  }

  #take(count: number): void {
    const records = this.#log.slice(this.#taken, this.#taken + count);
    this.#count.took(records);
    this.#taken += records.length;
    this.#covered = Math.max(this.#covered, offsetBehind(records.at(-1)));
  }

  #finish(count: number): void {
    this.#finished = Math.min(this.#taken, this.#finished + count);
  }

  #look(): void {
    this.#nowMs += 5_000;
    const position = this.#log[this.#finished]?.record.offset ?? this.#end;
    // Records that were finished without being taken do not occur here.
    this.#count.look({ position, end: this.#end }, this.#nowMs);
    this.#covered = Math.max(this.#covered, position);
  }

  #read(count: number, takenMeanwhile: number): void {
    const { ahead } = this.#count;
    if (ahead === null) return;
    expect(ahead.from).toBe(this.#covered);
    const wanted = this.#log.filter(({ record }) => {
      return record.offset >= ahead.from && record.offset < ahead.to;
    });
    const records = wanted.slice(0, count);
    this.#take(takenMeanwhile);
    const behind = records.length === wanted.length ? ahead.to : offsetBehind(records.at(-1));
    this.#count.read(records, behind);
    this.#covered = Math.max(this.#covered, behind);
  }

  #tallies(): Tallies {
    const tallies: Tallies = new Map();
    this.#count.addTo(tallies, this.#log.slice(this.#finished, this.#taken));
    return tallies;
  }

  #check(): void {
    const tallies = this.#tallies();
    const wait = this.#log.slice(this.#finished).filter(({ record }) => {
      return record.offset < this.#covered;
    });
    const counts = Map.groupBy(wait, nameOf);
    expect(new Map([...tallies].map(([label, { count }]) => [label, count]))).toEqual(
      new Map([...counts].map(([label, of]) => [label, of.length])),
    );
    const lastTaken = this.#log[this.#taken - 1]?.scheduledAtMs ?? 0;
    for (const [label, tally] of tallies) {
      const times = (counts.get(label) ?? []).map(timesOf);
      const scheduledAtMs = Math.min(...times.map((each) => each.scheduledAtMs));
      const firstAtMs = Math.min(...times.map((each) => each.firstAttemptAtMs));
      expect(tally.scheduledAtMs).toBeLessThanOrEqual(scheduledAtMs);
      expect(tally.scheduledAtMs).toBeGreaterThanOrEqual(Math.min(scheduledAtMs, lastTaken));
      expect(tally.dueAtMs).toBe(tally.scheduledAtMs + 60_000);
      expect(tally.firstAttemptAtMs).toBeLessThanOrEqual(firstAtMs);
    }
  }
}

function nameOf(waiting: DelayedRecord): string {
  return waiting.kind === "waiting" ? waiting.destination : "";
}

function offsetBehind(waiting: DelayedRecord | undefined): number {
  return waiting === undefined ? 0 : waiting.record.offset + 1;
}

test("counts are those of the records that wait, and no time is later than the true one", () => {
  const steps = fc.array(step, { maxLength: 60 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 40 }), (all, entriesMax) => {
      const model = new Model(entriesMax);
      for (const next of all) model.apply(next);
      model.complete();
    }),
    { numRuns: costlyInputs(10) },
  );
});
