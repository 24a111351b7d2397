/** The records that a body becomes in the ingest stage, without HTTP. */

import type { CallType } from "../../../src/domain/call.ts";
import { readBodyAtOnce } from "../../../src/router/ingest/read-body.ts";
import { batchFrame, singleFrame } from "../../../src/router/ingest/read-call.ts";
import { type CallsRead, readCalls } from "../../../src/router/ingest/read-calls.ts";
import type { KnownSuppressions } from "../../../src/router/suppression/known-suppressions.ts";

export const RECEIVED_AT = "2026-11-20T10:00:00.000Z";

const SOME_CALLS = 3;

/**
 * Reads a whole body, a few calls at a time.
 *
 * @param type null for a batch.
 * @returns the error if the body is invalid.
 */
export function ingested(
  bytes: Buffer,
  type: CallType | null,
  correctsClock = true,
  suppressions?: KnownSuppressions,
): CallsRead | string {
  const outline = readBodyAtOnce(bytes, type === null);
  if (outline.kind === "refused") return `${outline.code}: ${outline.error}`;
  const newMessageId = () => "new";
  const receivedAt = RECEIVED_AT;
  const own = { receivedAt, correctsClock, newMessageId, suppressions };
  const common = { topic: "calls", sharedHeaders: [], ...own };
  const frame = type === null ? batchFrame(common, outline.envelope) : singleFrame(common, type);
  const reader = readCalls(bytes, outline, frame);
  for (;;) {
    const progress = reader.next(SOME_CALLS, () => true);
    if (progress !== "more") return progress === "done" ? reader.read : progress;
  }
}

/** The values of the records. @throws Error if the body is invalid. */
export function valuesOf(result: CallsRead | string) {
  if (typeof result === "string") throw new Error(result);
  return result.records.map(({ value }) => JSON.parse(`${value}`));
}
