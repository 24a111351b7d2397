/**
 * Offsets that only grow, for the work on a partition of `audience-syncs`: base + offset on the
 * topic. A topic that was deleted and recreated, or that is on another cluster, counts from 0.
 * By its offsets alone new records would be taken for applied ones, and their marks for old marks.
 *
 *   the topic known         the topic there  what was applied  then
 *   has the same id         has an id        any               as before
 *   has an id               has another      any               another topic
 *   none, or without an id  any              within the log    as before; its id is noted
 *   none, or without an id  any              beyond the log    another topic
 *   has an id               has no id        within the log    as before
 *   has an id               has no id        beyond the log    another topic
 *
 * Another topic gets a base above all own offsets that are known, so that `position`, `applied`, the
 * first offsets of audiences, begins and marks never mean two things. An older version of the program
 * keeps no ids: a topic that was recreated before the upgrade, and has grown past what was applied,
 * is not noticed. Brokers before Kafka 2.8 know no ids.
 *
 *   step                                        a crash after it
 *   1  the base is decided, and kept            decided again
 *   2  the changelog has it, acknowledged       the store catches up: the same base
 *   3  store and checkpoint have it             the same base
 *   4  records are taken with their own offset  as `stage.ts` says
 *
 * Offsets on the topic are what the consumer finishes and holds, and what dead letters name.
 */

import { jsonObjectIn } from "../domain/json.ts";
import type { ValueSchema } from "../domain/known-schemas.ts";
import {
  eachHeader,
  type IncomingRecord,
  type Omitted,
  type RecordHeaders,
  type VisitHeader,
} from "../domain/record.ts";
import type { Audience } from "./audience.ts";

/** Which topic records are of. */
export interface Origin {
  /** Empty: the brokers know no ids. */
  readonly topicId: string;
  /** The own offset of the topic's first one. */
  readonly base: number;
}

/** Null: there is none, as before the first record, or it cannot be used. */
export function readOrigin(text: string | undefined): Origin | null {
  if (text === undefined) return null;
  const json = jsonObjectIn(text);
  if (json === null) return null;
  const { topicId, base } = json;
  if (typeof topicId !== "string" || typeof base !== "number") return null;
  return Number.isSafeInteger(base) && base >= 0 ? { topicId, base } : null;
}

export interface Found {
  readonly kind: "same" | "noted" | "another";
  readonly origin: Origin;
}

/** The facts that show which topic it is. */
export interface OriginFacts {
  readonly known: Origin | null;
  /** Of the topic that is there; empty: the brokers know none. */
  readonly topicId: string;
  /** All own offsets that are known lie below. */
  readonly used: number;
}

/** Whether the ids do not show which topic it is, so that the log's end has to. */
export function needsEnd({ known, topicId, used }: OriginFacts): boolean {
  return used > 0 && !(isKnown(known) && topicId !== "");
}

/** @param end of the topic's log; of no matter unless `needsEnd`. */
export function originOf(facts: OriginFacts, end: number): Found {
  const { known, topicId, used } = facts;
  const base = known?.base ?? 0;
  const isAnother = needsEnd(facts)
    ? used - base > end
    : isKnown(known) && topicId !== "" && known.topicId !== topicId;
  // One more: a mark may stand at the very position.
  if (isAnother) return { kind: "another", origin: { topicId, base: used + 1 } };
  if (topicId !== "" && !isKnown(known)) return { kind: "noted", origin: { topicId, base } };
  return { kind: "same", origin: known ?? { topicId, base } };
}

function isKnown(origin: Origin | null): origin is Origin {
  return origin !== null && origin.topicId !== "";
}

interface OwnOffsets {
  readonly position: number;
  readonly applied: number;
  readonly audiences: () => Iterable<Audience>;
}

/** All own offsets that the state knows lie below. */
export function usedOffsets(state: OwnOffsets): number {
  let used = Math.max(state.position, state.applied);
  for (const { first, open, awaitingApproval } of state.audiences()) {
    used = Math.max(used, first + 1, (open?.begin ?? -1) + 1, (awaitingApproval?.begin ?? -1) + 1);
  }
  return used;
}

export function withOwnOffset(record: IncomingRecord, base: number): IncomingRecord {
  return base === 0 ? record : new Moved(record, base);
}

/** The record with its offset on the topic. */
export function asItCame(record: IncomingRecord): IncomingRecord {
  return record instanceof Moved ? record.came : record;
}

/** Asks the record only for fields that it is asked for. */
class Moved implements IncomingRecord {
  readonly came: IncomingRecord;
  readonly offset: number;

  constructor(came: IncomingRecord, base: number) {
    this.came = came;
    this.offset = base + came.offset;
  }

  get topic(): string {
    return this.came.topic;
  }

  get partition(): number {
    return this.came.partition;
  }

  get timestampMs(): number {
    return this.came.timestampMs;
  }

  get key(): Buffer | null {
    return this.came.key;
  }

  get value(): Buffer | null {
    return this.came.value;
  }

  get headers(): RecordHeaders {
    return this.came.headers;
  }

  get encoded(): Buffer | undefined {
    return this.came.encoded;
  }

  get omitted(): Omitted | undefined {
    return this.came.omitted;
  }

  get schema(): ValueSchema | undefined {
    return this.came.schema;
  }

  eachHeader(tell: VisitHeader): void {
    eachHeader(this.came, tell);
  }
}
