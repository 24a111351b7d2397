/**
 * Reads audiences for the console from the topic `audiences`. A record is written to this topic at each start and
 * end of a sync. Compaction keeps only the latest record of each audience, so the history covers about a day.
 */

import { approveCommand } from "../../../domain/audience.ts";
import type { IncomingRecord } from "../../../domain/record.ts";
import { readClaim } from "../../../router/audience/claims.ts";
import { configuredTopics } from "../../connect/connection.ts";
import { audienceReport, readClaims } from "../../look/audiences.ts";
import type { AudienceView, SyncView } from "../query-view.ts";
import type { Series } from "../view.ts";
import type { QuerySource } from "./query-source.ts";

const SYNCS_MAX = 10;
const STEPS = 240;
/** Minimum time between two points of the history. */
const STEP_MIN_MS = 10_000;
/** Older records are not drawn, because the latest record of an audience may be very old. */
const SPAN_MAX_MS = 7 * 86_400_000;

interface Point {
  readonly atMs: number;
  readonly members: number;
}

interface Past {
  readonly partition: number;
  readonly first: number;
  readonly points: Point[];
  readonly syncs: SyncView[];
}

export class AudienceHistory {
  readonly #byId = new Map<string, Past>();

  /** Adds records of the topic. They must be added in order. */
  take(records: readonly Pick<IncomingRecord, "key" | "value" | "timestampMs">[]): void {
    for (const { key, value, timestampMs } of records) {
      const id = key?.toString() ?? "";
      const claim = value === null ? null : readClaim(value);
      if (claim === null) {
        this.#byId.delete(id);
        continue;
      }
      const { partition, first, members, last } = claim;
      const known = this.#byId.get(id);
      // With another owner or another first offset, this is a new audience with the same ID, and the earlier points
      // do not belong to it.
      const isSame = known?.partition === partition && known.first === first;
      const past = isSame ? known : { partition, first, points: [], syncs: [] };
      this.#byId.set(id, past);
      past.points.push({ atMs: timestampMs, members });
      if (last !== null && past.syncs.at(-1)?.syncId !== last.syncId) {
        const endedAt = new Date(last.endedAtMs).toISOString();
        past.syncs.push({ syncId: last.syncId, endedAt, members });
      }
    }
  }

  /** The latest first. */
  readSyncs(id: string): readonly SyncView[] {
    return this.#byId.get(id)?.syncs.slice(-SYNCS_MAX).reverse() ?? [];
  }

  /** Returns null if nothing is known about the audience. */
  readMembers(id: string, nowMs: number): Series<"members"> | null {
    const points = this.#byId.get(id)?.points ?? [];
    const [first] = points;
    if (first === undefined) return null;
    const beganMs = Math.max(Math.min(first.atMs, nowMs), nowMs - SPAN_MAX_MS);
    const stepMs = Math.max(STEP_MIN_MS, Math.ceil((nowMs - beganMs) / STEPS));
    const steps = Math.floor((nowMs - beganMs) / stepMs) + 1;
    const fromMs = nowMs - (steps - 1) * stepMs;
    let next = 0;
    let members: number | null = null;
    const values = Array.from({ length: steps }, (_, step) => {
      const untilMs = fromMs + step * stepMs;
      // The last step always includes the latest record, even if the broker's clock is slightly ahead.
      const isLast = step === steps - 1;
      for (; next < points.length; next += 1) {
        const each = points[next];
        if (each === undefined || (each.atMs > untilMs && !isLast)) break;
        members = each.members;
      }
      return members;
    });
    return { fromMs, stepMs, values: { members: values } };
  }
}

export async function readAudiencesView({
  kafka,
  config,
  signal,
}: QuerySource): Promise<readonly AudienceView[]> {
  const past = new AudienceHistory();
  const claims = await readClaims(kafka, configuredTopics(config), signal, (record) =>
    past.take([record]),
  );
  const nowMs = Date.now();
  return claims.all().map((audience) => {
    const { id } = audience;
    const { awaitingApproval, ...report } = audienceReport(audience);
    return {
      ...report,
      awaitingApproval: awaitingApproval && { ...awaitingApproval, command: approveCommand(id) },
      syncs: past.readSyncs(id),
      history: past.readMembers(id, nowMs),
    };
  });
}
