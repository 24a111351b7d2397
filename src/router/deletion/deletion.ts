/**
 * Decides which records are written for a record of `deletion-requests` (docs/deletions.md).
 *
 *   for each          a record in                     key      value
 *   listener of an    deliveries.<destination>        userId   {"type":"delete","userId",
 *   affected source                                             "timestamp","messageId"}; the listener's rules
 *                                                               apply to the userId; without one, no record is
 *                                                               written
 *   partition         audience-syncs, unless the      userId   {"type":"forget","userId"}
 *                     request names its sources or
 *                     the ID is longer than a
 *                     member's can be
 *   request with      suppressions                    userId   the suppression, with the time of the request
 *   `suppress`
 *
 *   header of a notification    value
 *   switchyard-message-id       UUIDv5 of userId, source and the request's time (or the record's time): a
 *                               request that is read or sent again produces the same IDs
 *   switchyard-source           the affected source
 *   switchyard-destination      the listener
 *   switchyard-timestamp        the time in the value: the request's time, or the time of receipt
 *   switchyard-received-at      the record's time
 *   any other                   from the producer, except `switchyard-*`, if the listener gets it (`passedHeaders`)
 *
 * As with calls, a destination with `historical: false` gets the time at which the request was received.
 */

import { usableRecordTime } from "../../domain/call-time.ts";
import type { DeadLettered } from "../../domain/dead-letter-records.ts";
import { deliveryHeaders, foreignHeaders, onlyPassed } from "../../domain/delivery.ts";
import type { DestinationId, MessageId, SourceId } from "../../domain/ids.ts";
import { type IncomingRecord, type OutgoingRecord, recordFor } from "../../domain/record.ts";
import { isoTimestamp } from "../../domain/timestamp.ts";
import { uuidV5 } from "../../domain/uuid.ts";
import type { Suppression } from "../suppression/suppression-record.ts";
import { affected, type ListenersBySource, listenersFor } from "./affected-sources.ts";
import { type DeletionRequest, parseRequest } from "./request.ts";

/** UUID namespace of the message IDs of delete notifications. */
const NAMESPACE = "cf3efde6-8cd5-44e5-83a2-284d7c8b77e1";

/** The audience stage rejects longer IDs, so a user with a longer ID is in no audience and has no computed trait. */
const MEMBER_ID_MAX_BYTES = 1_024;

/** A record of `deletion-requests`, and the records that have to be written for it. */
export type Decided = Deletion | UnusableRequest;

export interface Deletion {
  readonly kind: "deletion";
  readonly record: IncomingRecord;
  readonly notifications: readonly Notification[];
  /**
   * Destinations that get no notification because their rules remove the user ID. A destination is listed once for
   * each affected source.
   */
  readonly withoutUserId: readonly DestinationId[];
  /** The user whose memberships are removed; null if the request names sources. */
  readonly forgets: string | null;
  /** Null unless the request also suppresses the user. */
  readonly suppression: Suppression | null;
  /** IDs in the request that no configured source has. */
  readonly unknownSources: readonly string[];
}

export interface Notification {
  readonly destination: DestinationId;
  readonly outgoing: OutgoingRecord;
}

export interface UnusableRequest extends DeadLettered {
  readonly kind: "unusable";
}

/** @param nowMs used if the record has no valid time. */
export function decideDeletion(
  record: IncomingRecord,
  listeners: ListenersBySource,
  nowMs: number,
): Decided {
  const parsed = parseRequest(record);
  if (parsed.kind === "refused") {
    return { kind: "unusable", record, reason: parsed.reason, error: parsed.error };
  }
  const { request } = parsed;
  const found = affected(request.sourceIds, listeners);
  if (found.kind === "refused") {
    return { kind: "unusable", record, reason: found.reason, error: found.error };
  }
  return {
    kind: "deletion",
    record,
    ...notifications(record, request, found.sources, nowMs),
    suppression: request.suppress ? suppressionOf(record, request, nowMs) : null,
    forgets: request.sourceIds === null && canBeMember(request.userId) ? request.userId : null,
    unknownSources: found.unknown,
  };
}

/** A request that is read again suppresses the user again, at the same time. */
function suppressionOf(
  { timestampMs: recordMs }: IncomingRecord,
  { userId, timestampMs }: DeletionRequest,
  nowMs: number,
): Suppression {
  const suppressedAtMs = timestampMs ?? usableRecordTime(recordMs, nowMs);
  return { userId, suppressedAtMs, reason: null };
}

function canBeMember(userId: string): boolean {
  return Buffer.byteLength(userId) <= MEMBER_ID_MAX_BYTES;
}

function notifications(
  record: IncomingRecord,
  { userId, timestampMs }: DeletionRequest,
  sources: Extract<ReturnType<typeof affected>, { kind: "affected" }>["sources"],
  nowMs: number,
): Pick<Deletion, "notifications" | "withoutUserId"> {
  const foreign = foreignHeaders(record);
  const receivedAtMs = usableRecordTime(record.timestampMs, nowMs);
  const withoutUserId: DestinationId[] = [];
  const all = sources.flatMap((affectedSource) => {
    const { source } = affectedSource;
    const found = listenersFor(affectedSource, userId);
    withoutUserId.push(...found.without.map(({ destination }) => destination));
    return found.notified.map(({ listener, userId: notifiedId }) => {
      const { destination, topic, historical, passed } = listener;
      // The message ID is derived from the record's own time, even if that time is not plausible, so that the
      // message ID is the same when the record is read again. It is derived from the user ID that the destination
      // gets, and not from the original one, which a receiver could otherwise find by computing the message IDs of
      // many user IDs.
      const messageId = messageIdOf(notifiedId, source, timestampMs ?? record.timestampMs);
      const notifiedMs = historical ? (timestampMs ?? receivedAtMs) : receivedAtMs;
      const timestamp = isoTimestamp(notifiedMs);
      const value = Buffer.from(
        JSON.stringify({ type: "delete", userId: notifiedId, timestamp, messageId }),
      );
      const headers = deliveryHeaders({
        messageId,
        source,
        destination,
        timestampMs: notifiedMs,
        receivedAtMs,
        ...NOT_TRIED,
      });
      const key = Buffer.from(notifiedId);
      const kept = passed === null ? foreign : onlyPassed(foreign, passed);
      return { destination, outgoing: recordFor(topic, key, value, [...kept, ...headers]) };
    });
  });
  return { notifications: all, withoutUserId };
}

const NOT_TRIED = {
  userHash: null,
  endpoint: null,
  attempt: 0,
  firstAttemptAtMs: null,
  retryCount: 0,
  dueAtMs: null,
  notBeforeMs: null,
  retryTopic: null,
  accepted: [],
  rejected: [],
  lastOutcome: null,
} as const;

function messageIdOf(userId: string, source: SourceId, atMs: number): MessageId {
  return uuidV5(NAMESPACE, JSON.stringify([userId, source, atMs])) as MessageId;
}

/** Creates one record per partition of `audience-syncs`, so that each owner forgets the user. */
export function forgetRecords(
  userId: string,
  topic: string,
  partitions: number,
): readonly OutgoingRecord[] {
  const key = Buffer.from(userId);
  const value = Buffer.from(JSON.stringify({ type: "forget", userId }));
  return Array.from({ length: partitions }, (_, partition) => {
    return { topic, key, value, headers: [], partition };
  });
}
