/** The identify calls that follow from syncs, as records for `calls`. */

import type { SourceId } from "../domain/ids.ts";
import type { JsonObject } from "../domain/json.ts";
import type { OutgoingRecord, RecordHeaders } from "../domain/record.ts";
import { SOURCE_HEADER } from "../domain/source-of.ts";

export interface CallMaker {
  /** @param value the trait's, any JSON. */
  call(userId: string, value: unknown, messageId: string): OutgoingRecord;
}

export interface CallOptions {
  readonly topic: string;
  readonly source: SourceId;
  readonly integrations: JsonObject | null;
  readonly trait: string;
  /** Record time of the record that causes the calls. */
  readonly atMs: number;
}

/** For many calls that differ in user, value and message id alone. */
export function callMaker(options: CallOptions): CallMaker {
  const { topic, source, integrations, trait, atMs } = options;
  // One array for all: its bytes are encoded once.
  const sharedHeaders: RecordHeaders = [[SOURCE_HEADER, Buffer.from(source)]];
  const key = JSON.stringify(trait);
  const shared = {
    ...(integrations === null ? {} : { integrations }),
    timestamp: new Date(atMs).toISOString(),
  };
  const tail = `,${JSON.stringify(shared).slice(1)}`;
  return {
    call: (userId, value, messageId) => ({
      topic,
      key: Buffer.from(userId),
      value: Buffer.from(
        `{"type":"identify","messageId":"${messageId}","userId":${JSON.stringify(userId)},` +
          `"traits":{${key}:${JSON.stringify(value)}}${tail}`,
      ),
      sharedHeaders,
      headers: [],
    }),
  };
}
