// Laws of src/kafka/consume/completion.ts and processed-since.ts, compared with a model that stores every record of the partition.

import fc from "fast-check";
import { expect, test } from "vitest";
import { Completion } from "../../../../src/kafka/consume/completion.ts";
import { decodeRanges, METADATA_CHARS_MAX } from "../../../../src/kafka/consume/finished-ranges.ts";
import { ProcessedSince } from "../../../../src/kafka/consume/processed-since.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";
import { createPrng } from "../../../support/clock/prng.ts";

const topicId = "Zm9vYmFyYmF6cXV4MTIzNA";
/** Each input is hundreds of records. */
const numRuns = costlyInputs(20, 1_000);

type Step =
  | { readonly kind: "take"; readonly count: number }
  /** Finishes records in flight; `at` chooses the first one, from 0 (oldest) to 1 (newest). */
  | { readonly kind: "finish"; readonly count: number; readonly at: number }
  /** Finishes one in `every` records in flight, so that there are many ranges. */
  | { readonly kind: "scatter"; readonly every: number }
  | { readonly kind: "restart" };

const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("take" as const), count: fc.nat(60) }) },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("finish" as const), count: fc.nat(40), at: fraction }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
);
/** Offsets are mostly consecutive, and sometimes far apart, because compaction leaves gaps of any size. */
const gap = fc.oneof(
  { weight: 8, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.nat(100) },
  { weight: 1, arbitrary: fc.nat(2 ** 31) },
);

/** Simulates one partition and its consumer with restarts, and checks the laws after every step. */
class Model {
  readonly #log: readonly number[];
  readonly #recordsMax: number;
  readonly #finished = new Set<number>();
  #inFlight: number[] = [];
  /** Finished records that were reported. */
  readonly #reported = new Set<number>();
  #completion: Completion;
  #since: ProcessedSince;
  #nextIndex = 0;

  constructor(log: readonly number[], recordsMax: number) {
    this.#log = log;
    this.#recordsMax = recordsMax;
    this.#completion = new Completion({ offset: 0, metadata: null, topicId, recordsMax });
    this.#since = this.#sinceNow();
  }

  apply(next: Step): void {
    if (next.kind === "take") this.#take(next.count);
    if (next.kind === "finish") this.#finish(next.count, next.at);
    if (next.kind === "scatter") this.#scatter(next.every);
    if (next.kind === "restart") this.#restart();
    this.#check();
    this.#report();
  }

  /** Each finished record is reported exactly once, and no other record. */
  #report(): void {
    const ranges = this.#since.take(false)?.ranges ?? [];
    for (const offset of this.#log) {
      if (!ranges.some(([from, to]) => from <= offset && offset < to)) continue;
      if (this.#reported.has(offset)) throw new Error(`${offset} was reported twice`);
      this.#reported.add(offset);
    }
    expect(this.#reported).toEqual(this.#finished);
    const ends = ranges.flat();
    expect(ends).toEqual([...new Set(ends)].sort((one, other) => one - other));
  }

  #sinceNow(): ProcessedSince {
    return new ProcessedSince({ topic: "t", partition: 0, topicId }, this.#completion, null);
  }

  /** Passes on everything and finishes it. Nothing may be left. */
  complete(): void {
    while (this.#nextIndex < this.#log.length || this.#inFlight.length > 0) {
      this.#take(this.#log.length);
      this.#scatter(1);
    }
    expect(this.#finished.size).toBe(this.#log.length);
    expect(this.#completion.position).toBe((this.#log.at(-1) ?? -1) + 1);
    expect(this.#completion.metadata()).toMatch(/^sw1:\d+:[\w-]+:$/);
  }

  #take(count: number): void {
    for (let taken = 0; taken < count && this.#nextIndex < this.#log.length; taken += 1) {
      const offset = this.#log[this.#nextIndex] ?? 0;
      const result = this.#completion.take(offset, offset, 1);
      if (result === "full") {
        expect(this.#inFlight.length).toBeGreaterThan(0);
        return;
      }
      this.#nextIndex += 1;
      // Exactly the unfinished records are passed on.
      const isRight = result === (this.#finished.has(offset) ? "skipped" : "taken");
      if (!isRight) throw new Error(`${offset} was ${result}`);
      if (result === "taken") this.#inFlight.push(offset);
    }
  }

  #finish(count: number, at: number): void {
    const start = Math.floor(at * this.#inFlight.length);
    for (const offset of this.#inFlight.splice(start, count)) this.#finishOne(offset);
  }

  #scatter(every: number): void {
    const isFinished = (_offset: number, index: number) => index % every === every - 1;
    for (const offset of this.#inFlight.filter(isFinished)) this.#finishOne(offset);
    this.#inFlight = this.#inFlight.filter((offset) => !this.#finished.has(offset));
  }

  #finishOne(offset: number): void {
    if (this.#completion.finish(offset) !== 1) throw new Error(`${offset} was not in flight`);
    this.#finished.add(offset);
  }

  #restart(): void {
    const { position } = this.#completion;
    this.#completion = new Completion({
      offset: position,
      metadata: this.#completion.metadata(),
      topicId,
      recordsMax: this.#recordsMax,
    });
    this.#since = this.#sinceNow();
    this.#inFlight = [];
    const index = this.#log.findIndex((offset) => offset >= position);
    this.#nextIndex = index < 0 ? this.#log.length : index;
  }

  #check(): void {
    const { position, inFlight, inFlightBytes, oldestUnfinishedMs } = this.#completion;
    const unfinished = this.#log.find((offset) => !this.#finished.has(offset));
    expect(position).toBeLessThanOrEqual(unfinished ?? Number.POSITIVE_INFINITY);
    expect(inFlight).toBe(this.#inFlight.length);
    expect(inFlight).toBeLessThanOrEqual(this.#recordsMax);
    expect(inFlightBytes).toBe(inFlight);
    expect(oldestUnfinishedMs).toBe(this.#inFlight[0] ?? null);
    if (inFlight > 0) expect(position).toBe(this.#inFlight[0]);
    expect(this.#completion.metadata().length).toBeLessThanOrEqual(METADATA_CHARS_MAX);
  }
}

function offsets(gaps: readonly number[]): number[] {
  let next = 0;
  return gaps.map((length) => {
    const offset = next + length;
    next = offset + 1;
    return offset;
  });
}

test.each([1, 7, 256, 5_000])(
  "at most %i in flight: nothing is lost and nothing finished comes back",
  (recordsMax) => {
    fc.assert(
      fc.property(
        fc.array(gap, { maxLength: 400, size: "max" }),
        fc.array(step, { maxLength: 40, size: "max" }),
        (gaps, steps) => {
          const model = new Model(offsets(gaps), recordsMax);
          for (const next of steps) model.apply(next);
          model.complete();
        },
      ),
      { numRuns },
    );
  },
);

test("256 records fit, however far apart and in whatever order they are finished", () => {
  const span = fc.nat(2 ** 53 / 512);
  fc.assert(
    fc.property(
      fc.array(span, { minLength: 300, maxLength: 512, size: "max" }),
      fc.array(fraction, { minLength: 300, maxLength: 300 }),
      (gaps, choices) => {
        const completion = new Completion({ offset: 0, metadata: null, topicId, recordsMax: 256 });
        const hand: number[] = [];
        const log = offsets(gaps);
        for (const [index, offset] of log.entries()) {
          if (hand.length === 256) {
            const [done] = hand.splice(Math.floor((choices[index % 300] ?? 0) * 256), 1);
            completion.finish(done ?? -1);
          }
          expect(completion.take(offset, 0, 1)).toBe("taken");
          hand.push(offset);
        }
        expect(completion.metadata().length).toBeLessThanOrEqual(METADATA_CHARS_MAX);
      },
    ),
    { numRuns },
  );
});

test("more than fits is not taken, and what is in flight still fits when every other one is finished", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = createPrng(seed);
      const farMax = 2 ** random.integer(0, 40);
      const completion = new Completion({ offset: 0, metadata: null, topicId, recordsMax: 10_000 });
      const hand: number[] = [];
      for (let offset = 0; completion.take(offset, 0, 1) === "taken"; ) {
        hand.push(offset);
        offset += random.chance(0.7) ? 1 : random.integer(1, farMax);
      }
      expect(hand.length).toBeGreaterThan(256);
      for (let index = 1; index < hand.length; index += 2) completion.finish(hand[index] ?? -1);
      expect(completion.metadata().length).toBeLessThanOrEqual(METADATA_CHARS_MAX);
    }),
    { numRuns },
  );
});

test("the map fits through restarts and whatever else, when it is as full as it may get", () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = createPrng(seed);
      const farMax = 2 ** random.integer(0, 40);
      const isFar = random.fraction();
      const gaps = Array.from({ length: 6_000 }, () =>
        random.chance(isFar) ? random.integer(0, farMax) : 0,
      );
      const model = new Model(offsets(gaps), 10_000);
      for (let count = random.integer(1, 30); count > 0; count -= 1) {
        model.apply({ kind: "take", count: random.integer(1, 3_000) });
        if (random.chance(0.3)) model.apply({ kind: "restart" });
        if (random.chance(0.5)) model.apply({ kind: "scatter", every: random.integer(1, 5) });
        if (random.chance(0.5)) {
          const most = random.pick([1, 30, 1_000]);
          model.apply({
            kind: "finish",
            count: random.integer(1, most),
            at: random.pick([0, 0.5]),
          });
        }
      }
      model.complete();
    }),
    { numRuns: costlyInputs(50, 300) },
  );
});

test("no metadata, whatever it says, is read as anything but alternating ranges", () => {
  const text = fc.oneof(
    fc.string(),
    fc.string().map((ranges) => `sw1:7:${topicId}:${ranges}`),
    fc
      .array(fc.constantFrom(..."AB9g_-"), { size: "medium" })
      .map((ranges) => `sw1:7:${topicId}:${ranges.join("")}`),
  );
  fc.assert(
    fc.property(text, (metadata) => {
      const ranges = decodeRanges(metadata, 7, topicId);
      expect(ranges.length % 2).toBe(0);
      expect(ranges.every((length) => Number.isSafeInteger(length) && length >= 1)).toBe(true);
    }),
  );
});
