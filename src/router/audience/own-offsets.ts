/**
 * Computes own offsets, which are offsets of a partition of `audience-syncs` that never decrease. An own offset is a
 * base plus the Kafka offset. If the topic is deleted and recreated, or moves to another cluster, its Kafka offsets
 * start at 0 again. Without a base, new records would look as if they had already been applied.
 *
 *   the stored topic ID   the current topic ID   applied records   then
 *   is the same           is known               any               same topic
 *   differs               is known               any               another topic
 *   is unknown            any                    within the log    same topic; its ID is stored
 *   is unknown            any                    beyond the log    another topic
 *   is known              is unknown             within the log    same topic
 *   is known              is unknown             beyond the log    another topic
 *
 * Another topic gets a base above all known own offsets, so that all stored offsets stay unambiguous: `position`,
 * `applied`, first offsets of audiences, and the offsets of `begin` records, to which marks refer. Brokers that
 * implement Kafka's protocol may not support topic IDs.
 *
 *   step                                            if the process crashes after it
 *   1  decide the base                              it is decided again
 *   2  write it to the changelog, acknowledged      the store catches up, and the base is the same
 *   3  write it to the store and the checkpoint     the base is the same
 *   4  apply records with own offsets               see `stage.ts`
 *
 * Kafka offsets, and not own offsets, are passed to the consumer's `finish` and `hold`, and are written into dead
 * letters.
 */

import { jsonObjectIn } from "../../domain/json.ts";
import { ChangedRecord, type IncomingRecord } from "../../domain/record.ts";
import type { Audience } from "./audience.ts";

/** The topic that records come from, and the base of its own offsets. */
export interface OffsetOrigin {
  /** Empty if the brokers do not support topic IDs. */
  readonly topicId: string;
  /** The own offset of Kafka offset 0. */
  readonly base: number;
}

/** Returns null if no origin is stored, for example before the first record, or if the stored origin is invalid. */
export function readOrigin(text: string | undefined): OffsetOrigin | null {
  if (text === undefined) return null;
  const json = jsonObjectIn(text);
  if (json === null) return null;
  const { topicId, base } = json;
  if (typeof topicId !== "string" || typeof base !== "number") return null;
  return Number.isSafeInteger(base) && base >= 0 ? { topicId, base } : null;
}

export interface FoundOrigin {
  readonly kind: "same" | "noted" | "another";
  readonly origin: OffsetOrigin;
}

/** The facts from which `originOf` decides whether the topic is another one. */
export interface OriginFacts {
  readonly known: OffsetOrigin | null;
  /** ID of the current topic; empty if the brokers do not support topic IDs. */
  readonly topicId: string;
  /** All known own offsets are lower than this. */
  readonly used: number;
}

/** Returns true if the IDs alone are not sufficient to decide, so that the log end offset is needed. */
export function needsEnd({ known, topicId, used }: OriginFacts): boolean {
  return used > 0 && !(isKnown(known) && topicId !== "");
}

/** @param end the log end offset; ignored unless `needsEnd` returns true. */
export function originOf(facts: OriginFacts, end: number): FoundOrigin {
  const { known, topicId, used } = facts;
  const base = known?.base ?? 0;
  const isAnother = needsEnd(facts)
    ? used - base > end
    : isKnown(known) && topicId !== "" && known.topicId !== topicId;
  // One is added because the offset in a mark may be equal to the position.
  if (isAnother) return { kind: "another", origin: { topicId, base: used + 1 } };
  if (topicId !== "" && !isKnown(known)) return { kind: "noted", origin: { topicId, base } };
  return { kind: "same", origin: known ?? { topicId, base } };
}

function isKnown(origin: OffsetOrigin | null): origin is OffsetOrigin {
  return origin !== null && origin.topicId !== "";
}

interface OwnOffsets {
  readonly position: number;
  readonly applied: number;
  readonly audiences: () => Iterable<Audience>;
}

/** An upper bound of all own offsets in the state. */
export function usedOffsets(state: OwnOffsets): number {
  let used = Math.max(state.position, state.applied);
  for (const { first, open, awaitingApproval } of state.audiences()) {
    used = Math.max(used, first + 1, (open?.begin ?? -1) + 1, (awaitingApproval?.begin ?? -1) + 1);
  }
  return used;
}

export function withOwnOffset(record: IncomingRecord, base: number): IncomingRecord {
  return base === 0 ? record : new Moved(record, base + record.offset, record.schema);
}

/** Returns the original record, with its Kafka offset. */
export function asItCame(record: IncomingRecord): IncomingRecord {
  return record instanceof Moved ? record.original : record;
}

/** A record with an own offset. */
class Moved extends ChangedRecord {}
