/**
 * Keeps the rates of the last hours and the current rates, in memory only. They are lost at a restart.
 *
 *   kept                        in steps of   for        of at most
 *   total rates                 1 min         4 h        1 row
 *   rates of a destination      2 min         4 h        2,000 destinations, about 14 KB each
 *   skipped calls of one        1 h           24 h       2,000 destinations, about 1 KB each
 *   current rates               each poll     1 min      60 polls
 */

import { SKIP_REASONS, type SkipReason } from "../../base/words/reasons.ts";
import {
  AT,
  addTo,
  DESTINATION_WIDTH,
  FLOW_AT,
  FLOW_WIDTH,
  type increases,
  percentileMs,
} from "./counters.ts";
import {
  FLOW_NAMES,
  type FlowName,
  type FlowRates,
  type Latency,
  RESPONSE_CLASSES,
  type ResponseClass,
  type Series,
} from "./view.ts";

const MINUTE_MS = 60_000;
const FLOW_SHAPE = { stepMs: MINUTE_MS, slots: 240, width: FLOW_WIDTH };
const DESTINATION_SHAPE = { stepMs: 2 * MINUTE_MS, slots: 120, width: AT.skipped };
const SKIPPED_SHAPE = { stepMs: 60 * MINUTE_MS, slots: 24, width: SKIP_REASONS.length };
const DESTINATIONS_MAX = 2_000;
/** Current rates and latencies cover at most this time. */
const RECENT_MS = 60_000;
const POLLS_MAX = 60;

type Counted = ReturnType<typeof increases>;

interface Recent {
  readonly counted: Counted;
  readonly overMs: number;
  readonly atMs: number;
}

export class History {
  readonly #flow = new Ring(FLOW_SHAPE);
  readonly #destinations = new Map<string, Ring>();
  readonly #skipped = new Map<string, Ring>();
  /** The hours in which a process that counts skipped calls was polled. */
  readonly #routed = new Ring({ ...SKIPPED_SHAPE, width: 0 });
  #recent: readonly Recent[] = [];

  /** @param counted what was counted in the `overMs` milliseconds before `atMs`. */
  add(counted: Counted, overMs: number, atMs: number): void {
    if (overMs <= 0) return;
    this.#flow.add(counted.flow, overMs, atMs);
    if (counted.counts[FLOW_AT.calls] === true) this.#routed.add([], overMs, atMs);
    for (const [id, row] of counted.destinations) {
      const [attempted, skipped] = [row.subarray(0, AT.skipped), row.subarray(AT.skipped)];
      ringOf(this.#destinations, DESTINATION_SHAPE, id, attempted)?.add(attempted, overMs, atMs);
      ringOf(this.#skipped, SKIPPED_SHAPE, id, skipped)?.add(skipped, overMs, atMs);
    }
    const since = atMs - RECENT_MS;
    const kept = this.#recent.filter((each) => each.atMs > since).slice(-POLLS_MAX + 1);
    this.#recent = [...kept, { counted, overMs, atMs }];
  }

  readFlowRates(): FlowRates {
    const polls = this.#within(RECENT_MS);
    const overMs = sum(polls.map((each) => each.overMs));
    const perMinute = (name: FlowName) => {
      const place = FLOW_AT[name];
      const isCounted = polls.some(({ counted }) => counted.counts[place] === true);
      if (!isCounted || overMs === 0) return null;
      const count = sum(polls.map(({ counted }) => counted.flow[place] ?? 0));
      return rounded((count * MINUTE_MS) / overMs);
    };
    return Object.fromEntries(FLOW_NAMES.map((name) => [name, perMinute(name)])) as FlowRates;
  }

  readFlow(nowMs: number): Series<FlowName> {
    const read = (place: number) =>
      this.#flow.read(nowMs, (counts, coveredMs) => perMinuteOf(counts[place], coveredMs));
    const all = FLOW_NAMES.map((name) => [name, read(FLOW_AT[name])] as const);
    return series(this.#flow.stepMs, all);
  }

  /** Returns a function that finds how long the latest attempts at a destination took. */
  readRecentLatency(): (id: string) => Latency {
    const rows = new Map<string, Float64Array>();
    for (const { counted } of this.#within(RECENT_MS)) {
      for (const [id, row] of counted.destinations) {
        const all = rows.get(id) ?? new Float64Array(DESTINATION_WIDTH);
        addTo(all, row);
        rows.set(id, all);
      }
    }
    return (id) => {
      const row = rows.get(id) ?? [];
      return {
        p50Ms: milliseconds(percentileMs(row, 0.5)),
        p99Ms: milliseconds(percentileMs(row, 0.99)),
      };
    };
  }

  readResponses(id: string, nowMs: number): Series<ResponseClass> {
    const all = RESPONSE_CLASSES.map((name, index) => {
      const place = AT.responses + index;
      return [name, this.#read(id, nowMs, (counts, ms) => perMinuteOf(counts[place], ms))] as const;
    });
    return series(DESTINATION_SHAPE.stepMs, all);
  }

  readLatency(id: string, nowMs: number): Series<"p50" | "p99"> {
    const of = (share: number) =>
      this.#read(id, nowMs, (counts) => milliseconds(percentileMs(counts, share)));
    return series(DESTINATION_SHAPE.stepMs, [
      ["p50", of(0.5)],
      ["p99", of(0.99)],
    ]);
  }

  /** The number of calls that were skipped for a destination in each hour. */
  readSkipped(id: string, nowMs: number): Series<SkipReason> {
    const measured = this.#routed.read(nowMs, () => 0);
    const ring = this.#skipped.get(id) ?? null;
    const all = SKIP_REASONS.map((name, place) => {
      const counts = ring?.read(nowMs, (row) => Math.round(row[place] ?? 0)).values ?? [];
      const values = measured.values.map((zero, index) =>
        zero === null ? null : (counts[index] ?? zero),
      );
      return [name, { ...measured, values }] as const;
    });
    return series(SKIPPED_SHAPE.stepMs, all);
  }

  #read(
    id: string,
    nowMs: number,
    read: (counts: Float32Array, coveredMs: number) => number | null,
  ) {
    const ring = this.#destinations.get(id) ?? new Ring({ ...DESTINATION_SHAPE, width: 0 });
    return ring.read(nowMs, read);
  }

  /** The latest poll, and all polls at most `ms` milliseconds before it. */
  #within(ms: number): readonly Recent[] {
    const latest = this.#recent.at(-1);
    if (latest === undefined) return [];
    return this.#recent.filter(({ atMs }) => atMs === latest.atMs || atMs > latest.atMs - ms);
  }
}

/** Returns null if nothing has been counted for the destination yet, or if there are too many destinations. */
function ringOf(
  rings: Map<string, Ring>,
  shape: ConstructorParameters<typeof Ring>[0],
  id: string,
  row: Float64Array,
): Ring | null {
  const known = rings.get(id);
  if (known !== undefined) return known;
  const isQuiet = row.every((count) => count === 0);
  if (isQuiet || rings.size >= DESTINATIONS_MAX) return null;
  const ring = new Ring(shape);
  rings.set(id, ring);
  return ring;
}

type Column = {
  readonly fromMs: number;
  readonly values: readonly (number | null)[];
};

function series<Name extends string>(
  stepMs: number,
  columns: readonly (readonly [Name, Column])[],
): Series<Name> {
  const values = Object.fromEntries(columns.map(([name, column]) => [name, column.values]));
  return {
    fromMs: columns[0]?.[1].fromMs ?? 0,
    stepMs,
    values: values as Series<Name>["values"],
  };
}

function perMinuteOf(count: number | undefined, coveredMs: number): number {
  return rounded(((count ?? 0) * MINUTE_MS) / coveredMs);
}

function milliseconds(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

/** Rounds to one decimal place. */
function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

/**
 * Keeps the counts of the last hours or minutes, in slots of equal length. The oldest slot is reused.
 *
 *   a slot                      its rate
 *   was measured completely     its count, divided by its length
 *   was measured in part        its count, divided by that part; the slot is the current one, or measuring started in it
 *   was not measured            null
 */
export class Ring {
  readonly stepMs: number;
  readonly #width: number;
  readonly #slots: number;
  readonly #counts: Float32Array;
  readonly #coveredMs: Float64Array;
  /** The number of the latest slot, counted from the epoch; null if nothing has been added. */
  #latest: number | null = null;

  constructor(shape: { readonly stepMs: number; readonly slots: number; readonly width: number }) {
    this.stepMs = shape.stepMs;
    this.#width = shape.width;
    this.#slots = shape.slots;
    this.#counts = new Float32Array(shape.slots * shape.width);
    this.#coveredMs = new Float64Array(shape.slots);
  }

  /**
   * Adds what was counted in the `overMs` milliseconds before `atMs`. All of it is added to the slot that contains
   * `atMs`.
   */
  add(counted: ArrayLike<number>, overMs: number, atMs: number): void {
    const slot = this.#open(Math.floor(atMs / this.stepMs));
    if (slot === null) return;
    this.#coveredMs[slot] = (this.#coveredMs[slot] ?? 0) + overMs;
    const from = slot * this.#width;
    for (let place = 0; place < this.#width; place += 1) {
      this.#counts[from + place] = (this.#counts[from + place] ?? 0) + (counted[place] ?? 0);
    }
  }

  /**
   * Calls `read` for each slot up to the one that contains `atMs`, and returns the results; null for a slot that was
   * not measured.
   */
  read<Value>(
    atMs: number,
    read: (counts: Float32Array, coveredMs: number) => Value,
  ): { readonly fromMs: number; readonly values: readonly (Value | null)[] } {
    const end = Math.floor(atMs / this.stepMs);
    const first = end - this.#slots + 1;
    const values = Array.from({ length: this.#slots }, (_, index) => {
      const slot = this.#placeOf(first + index);
      const coveredMs = slot === null ? 0 : (this.#coveredMs[slot] ?? 0);
      if (slot === null || coveredMs <= 0) return null;
      const from = slot * this.#width;
      return read(this.#counts.subarray(from, from + this.#width), coveredMs);
    });
    return { fromMs: first * this.stepMs, values };
  }

  /** Returns null if the slot with this number is older than all stored slots. */
  #placeOf(number: number): number | null {
    const latest = this.#latest;
    if (latest === null || number > latest || number <= latest - this.#slots) return null;
    return number % this.#slots;
  }

  #open(number: number): number | null {
    const latest = this.#latest ?? number - this.#slots;
    // Clears all slots since the latest one. Each slot is cleared at most once.
    for (let next = Math.max(latest + 1, number - this.#slots + 1); next <= number; next += 1) {
      const slot = next % this.#slots;
      this.#counts.fill(0, slot * this.#width, (slot + 1) * this.#width);
      this.#coveredMs[slot] = 0;
    }
    this.#latest = Math.max(latest, number);
    return this.#placeOf(number);
  }
}
