/**
 * The requests of a partition that are carried out together: at least one, then more until what is
 * to be written is enough for one send. A request becomes one record for each notification, and one
 * for each partition of `audience-syncs`.
 */

import { type DeadLetter, deadLetterOf, tooLarge } from "../domain/given-up.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import type { TopicNames } from "../domain/topics.ts";
import { type Decided, forgetRecords } from "./deletion.ts";

/** Records written at once, unless a single request becomes more. */
const PIECE_RECORDS_MAX = 2_000;

export interface Piece {
  readonly requests: readonly RequestInHand[];
  /** What the requests become. */
  readonly records: readonly OutgoingRecord[];
  /** Of the requests that cannot be carried out. */
  readonly letters: readonly DeadLetter[];
}

export interface RequestInHand {
  readonly decided: Decided;
  readonly records: readonly OutgoingRecord[];
}

/** What pieces are made with. */
export interface PieceOptions {
  readonly decide: (record: IncomingRecord) => Decided;
  readonly topics: Pick<TopicNames, "audienceSyncs" | "deadLetters">;
  /** Of `audience-syncs`. */
  readonly partitions: number;
  readonly nowMs: number;
}

/** Takes a piece off the beginning of `waiting`, which is not empty. */
export function nextPiece(waiting: IncomingRecord[], options: PieceOptions): Piece {
  const { decide, topics, nowMs } = options;
  const requests: RequestInHand[] = [];
  const letters: DeadLetter[] = [];
  let count = 0;
  while (count < PIECE_RECORDS_MAX) {
    const record = waiting.shift();
    if (record === undefined) break;
    const decided = decide(record);
    const records = becomes(decided, options);
    requests.push({ decided, records });
    if (decided.kind === "unusable") {
      letters.push(deadLetterOf("deletion", decided, topics.deadLetters, nowMs));
    }
    // A request of which nothing comes is work as well.
    count += 1 + records.length;
  }
  return { requests, records: requests.flatMap(({ records }) => records), letters };
}

function becomes(decided: Decided, { topics, partitions }: PieceOptions) {
  if (decided.kind === "unusable") return [];
  const notifications = decided.notifications.map(({ outgoing }) => outgoing);
  if (decided.forgets === null) return notifications;
  return [...notifications, ...forgetRecords(decided.forgets, topics.audienceSyncs, partitions)];
}

/** One dead letter for each request of which the brokers refused something. */
export function tooLargeLetters(
  { requests }: Piece,
  refused: ReadonlyMap<OutgoingRecord, string>,
  topic: string,
  nowMs: number,
): readonly DeadLetter[] {
  return requests.flatMap(({ decided, records }) => {
    const givenUp = tooLarge(decided.record, records, refused);
    return givenUp === null ? [] : [deadLetterOf("deletion", givenUp, topic, nowMs)];
  });
}
