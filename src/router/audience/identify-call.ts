/** Creates the identify calls that result from syncs, as records for `calls`. */

import type { SourceId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import { type OutgoingRecord, type RecordHeaders, recordFor } from "../../domain/record.ts";
import { SOURCE_HEADER } from "../../domain/source-of.ts";
import { uuidV5 } from "../../domain/uuid.ts";

export interface CallMaker {
  /** @param value the value of the trait, which can be any JSON value. */
  call(userId: string, value: unknown, messageId: string): OutgoingRecord;
}

export interface CallOptions {
  readonly topic: string;
  readonly source: SourceId;
  readonly integrations: JsonObject | null;
  /** Category preferences; null if the calls have no consent object. */
  readonly consent: Readonly<Record<string, boolean>> | null;
  readonly trait: string;
  /** The time of the record that causes the calls. */
  readonly atMs: number;
}

/** Returns a call maker for many calls that differ only in user, value and message ID. */
export function callMaker(options: CallOptions): CallMaker {
  const { topic, source, integrations, consent, trait, atMs } = options;
  // All calls share this array, so that its content is encoded only once.
  const sharedHeaders: RecordHeaders = [[SOURCE_HEADER, Buffer.from(source)]];
  const key = JSON.stringify(trait);
  const shared = {
    ...(consent === null ? {} : { context: { consent: { categoryPreferences: consent } } }),
    ...(integrations === null ? {} : { integrations }),
    timestamp: new Date(atMs).toISOString(),
  };
  const tail = `,${JSON.stringify(shared).slice(1)}`;
  return {
    call: (userId, value, messageId) => {
      const json =
        `{"type":"identify","messageId":"${messageId}","userId":${JSON.stringify(userId)},` +
        `"traits":{${key}:${JSON.stringify(value)}}${tail}`;
      return recordFor(topic, Buffer.from(userId), Buffer.from(json), [], sharedHeaders);
    },
  };
}

/**
 * Creates the message IDs of calls that result from syncs, as UUIDs of version 5. If a record is applied again after
 * a crash, the IDs are the same, so that receivers can detect duplicates.
 *
 *   call        the ID is derived from
 *   membership  audience, offset of its first sync, user, sync (or the delete's offset), value
 *   trait       trait, user, partition and offset of its record
 */

/** UUID namespace of the message IDs of calls that result from syncs. */
const NAMESPACE = "9c1b1e0c-54c1-4f7e-8d6a-0d6b3f0a7e21";

interface MembershipChange {
  readonly audienceId: string;
  readonly first: number;
  readonly userId: string;
  /** The ID of the sync, or the offset of the `delete` record. */
  readonly by: string | number;
  readonly value: boolean;
}

export function membershipMessageId(change: MembershipChange): string {
  const { audienceId, first, userId, by, value } = change;
  return uuidV5(NAMESPACE, JSON.stringify([audienceId, first, userId, by, value]));
}

export function traitMessageId(
  key: string,
  userId: string,
  at: { readonly partition: number; readonly offset: number },
): string {
  return uuidV5(NAMESPACE, JSON.stringify(["trait", key, userId, at.partition, at.offset]));
}
