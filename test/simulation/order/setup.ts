/** The topics, times and records of the model. Values are JSON, because only the order matters here. */

import assert from "node:assert/strict";
import type { IncomingRecord, OutgoingRecord } from "../../../src/domain/record.ts";
import { type Fact, Facts, readFact } from "../../../src/router/order/facts.ts";
import type { Place } from "./endpoint.ts";
import type { Design } from "./steps.ts";

export const SECOND_MS = 1_000;
export const QUEUE = "deliveries.d";
export const RETRIES = "retries.d";
export const FACTS = "order.d";
export const DEAD_LETTERS = "dead-letters";
export const DELAYS_MS = [5 * SECOND_MS, 15 * SECOND_MS] as const;
export const WINDOW_MS = 60 * SECOND_MS;
/** Longer than the retry window and the longest delay, as the retention of the delay topics is in the product. */
export const KEEP_SETTLED_MS = 120 * SECOND_MS;
export const PARTITIONS = 2;

export const delayTopic = (delayMs: number): string => `delays.${delayMs}`;
export const DELAY_TOPICS = DELAYS_MS.map(delayTopic);

export type OnDeadLetter = "continue" | "hold";

/** A delivery that is retried. */
export interface Copy {
  readonly place: Place;
  readonly attempts: number;
  readonly firstMs: number;
  readonly receivedMs: number;
}

export type DeadReason = "rejected" | "expired" | "cancelled";

export function copyRecord(topic: string, copy: Copy, partition?: number): OutgoingRecord {
  const at = partition === undefined ? {} : { partition };
  const { key } = copy.place;
  return { topic, key: Buffer.from(key), value: json({ copy }), headers: [], ...at };
}

/** Null if the record is not a copy. */
export function copyOf(record: Pick<IncomingRecord, "value">): Copy | null {
  return (JSON.parse(`${record.value}`) as { copy?: Copy }).copy ?? null;
}

export function placeOfRecord({ partition, offset, key }: IncomingRecord): Place {
  return { partition, offset, key: `${key}` };
}

export function deadLetterRecord(place: Place, reason: DeadReason): OutgoingRecord {
  const value = json({ place, reason });
  return { topic: DEAD_LETTERS, key: Buffer.from(place.key), value, headers: [] };
}

export function readDeadLetter(record: IncomingRecord): { place: Place; reason: DeadReason } {
  return JSON.parse(`${record.value}`) as { place: Place; reason: DeadReason };
}

export function factRecord(
  kind: Fact["kind"],
  { partition, offset, key }: Place,
  isThere = true,
): OutgoingRecord {
  const name = Buffer.from(`${kind}/${offset}/${key}`);
  return { topic: FACTS, partition, key: name, value: isThere ? NOTHING : null, headers: [] };
}

/** The fact with this name, which the model has written. */
export function factOf(name: string): Fact {
  const read = readFact({ key: Buffer.from(`line/${name}`), value: null });
  assert(read !== null);
  return read.fact;
}

/** A design in which a key has only one fact `retry` and one fact `settled`. */
export class OneFactEach extends Facts {
  override apply(fact: Fact, isThere: boolean, atMs?: number): void {
    const { kind, key } = fact;
    const earlier = kind === "wait" ? [] : [...(this.of(key)?.[kind].keys() ?? [])];
    for (const offset of earlier) super.apply({ kind, key, offset }, false);
    super.apply(fact, isThere, atMs);
  }
}

export function noFacts({ broken }: Design): Facts {
  return broken === "one-fact-each" ? new OneFactEach() : new Facts();
}

const NOTHING = Buffer.alloc(0);

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** What operators and the configuration ask for. All processes see changes immediately. */
export interface Controls {
  isPaused: boolean;
  /** The destination's circuit is open. */
  isOnHold: boolean;
  /** Deliveries that were received before are canceled. */
  cancelledMs: number;
  /** Deliveries that were scheduled before are due. */
  releasedMs: number;
  isRetryTopicMissing: boolean;
}

export interface Settings {
  readonly design: Design;
  readonly onDeadLetter: OnDeadLetter;
  /** Maximum number of blocked keys of a partition. */
  readonly blockedMax: number;
  readonly drainLimitMs: number;
  readonly controls: Controls;
}
