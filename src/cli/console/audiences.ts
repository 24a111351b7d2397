/** Audiences for the console, as their topic has them, now and before. */

import type { AudienceView } from "../../console/query-view.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import { readClaims } from "../audience/audiences.ts";
import { AudienceHistory } from "./audience-history.ts";

export async function readAudiencesView(
  kafka: Kafka,
  topics: TopicNames,
  signal: AbortSignal,
): Promise<readonly AudienceView[]> {
  const past = new AudienceHistory();
  const claims = await readClaims(kafka, topics, signal, (records) => past.take(records));
  const nowMs = Date.now();
  return claims.all().map(({ id, name, key, members, openSyncId, last, awaitingApproval }) => ({
    id,
    name,
    key,
    members,
    openSyncId,
    last: last && { syncId: last.syncId, endedAt: instant(last.endedAtMs) },
    awaitingApproval: awaitingApproval && {
      syncId: awaitingApproval.syncId,
      since: instant(awaitingApproval.sinceMs),
      removals: awaitingApproval.removals,
    },
    syncs: past.syncs(id),
    history: past.members(id, nowMs),
  }));
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString();
}
