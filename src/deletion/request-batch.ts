/**
 * The requests of a partition that are carried out together: at least one, then more until there is
 * enough to write for one send. A request becomes one record for each notification, and one for
 * each partition of `audience-syncs`.
 */

import type { Became, DeadLettered } from "../domain/dead-letter-records.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import type { TopicNames } from "../domain/topics.ts";
import { type Decided, forgetRecords } from "./deletion.ts";

/** Records written at once, unless a single request becomes more. */
const PIECE_RECORDS_MAX = 2_000;

export interface Piece {
  readonly requests: readonly InFlightRequest[];
  /** The requests that cannot be carried out. */
  readonly deadLettered: readonly DeadLettered[];
}

export interface InFlightRequest extends Became {
  readonly decided: Decided;
}

/** Settings of pieces. */
export interface PieceOptions {
  readonly decide: (record: IncomingRecord) => Decided;
  readonly topics: Pick<TopicNames, "audienceSyncs">;
  /** Of `audience-syncs`. */
  readonly partitions: number;
}

/** Takes a piece off the beginning of `waiting`, which is not empty. */
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
    // A request of which nothing comes is work as well.
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
