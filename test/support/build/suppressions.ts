/** Suppressions as the stages know them, for tests. */

import type { IncomingRecord, OutgoingRecord } from "../../../src/domain/record.ts";
import { KnownSuppressions } from "../../../src/router/suppression/known-suppressions.ts";
import {
  KEY_BYTES,
  keyRecord,
  liftRecord,
  suppressionRecord,
} from "../../../src/router/suppression/suppression-record.ts";

const TOPIC = "sw.suppressions";
const SUPPRESSED_AT_MS = 1_800_000_000_000;

export function suppressionOf(userId: string): OutgoingRecord {
  return suppressionRecord(TOPIC, { userId, suppressedAtMs: SUPPRESSED_AT_MS, reason: null });
}

export function stored(
  { key, value }: Pick<OutgoingRecord, "key" | "value">,
  offset = 0,
): IncomingRecord {
  const place = { topic: TOPIC, partition: 0, offset, timestampMs: SUPPRESSED_AT_MS };
  return { ...place, key, value, headers: [] };
}

/** Knows a key for user hashes. */
export function suppressing(...userIds: readonly string[]): KnownSuppressions {
  const known = new KnownSuppressions(12_345);
  known.apply(stored(keyRecord(TOPIC, Buffer.alloc(KEY_BYTES, 7))));
  for (const userId of userIds) suppress(known, userId);
  return known;
}

export function suppress(known: KnownSuppressions, userId: string): void {
  known.apply(stored(suppressionOf(userId)));
}

export function lift(known: KnownSuppressions, userId: string): void {
  known.apply(stored(liftRecord(TOPIC, userId)));
}
