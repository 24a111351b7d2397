/**
 * Selects the requests that are carried out together: at least one request, and then as many as fit into one send. A
 * request becomes one record per notification, and one record per partition of `audience-syncs`.
 */

import type { Became, DeadLettered } from "../domain/dead-letter-records.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import type { TopicNames } from "../domain/topics.ts";
import { type Decided, forgetRecords } from "./deletion.ts";

/** Maximum number of records in one send, unless a single request becomes more records. */
const PIECE_RECORDS_MAX = 2_000;

export interface Piece {
  readonly requests: readonly InFlightRequest[];
  /** The dead letters of requests that cannot be carried out. */
  readonly deadLettered: readonly DeadLettered[];
}

export interface InFlightRequest extends Became {
  readonly decided: Decided;
}

export interface PieceOptions {
  readonly decide: (record: IncomingRecord) => Decided;
  readonly topics: Pick<TopicNames, "audienceSyncs">;
  /** Number of partitions of `audience-syncs`. */
  readonly partitions: number;
}

/** Removes and returns a piece from the start of `waiting`, which must not be empty. */
export function nextPiece(waiting: IncomingRecord[], options: PieceOptions): Piece {
  const requests: InFlightRequest[] = [];
  const deadLettered: DeadLettered[] = [];
  let count = 0;
  while (count < PIECE_RECORDS_MAX) {
    const record = waiting.shift();
    if (record === undefined) break;
    const decided = options.decide(record);
    const records = becomes(decided, options);
    requests.push({ record, decided, records });
    if (decided.kind === "unusable") deadLettered.push(decided);
    // A request counts even if it has no records, so that the number of requests in a piece is bounded.
    count += 1 + records.length;
  }
  return { requests, deadLettered };
}

function becomes(
  decided: Decided,
  { topics, partitions }: PieceOptions,
): readonly OutgoingRecord[] {
  if (decided.kind === "unusable") return [];
  const notifications = decided.notifications.map(({ outgoing }) => outgoing);
  if (decided.forgets === null) return notifications;
  return [...notifications, ...forgetRecords(decided.forgets, topics.audienceSyncs, partitions)];
}
