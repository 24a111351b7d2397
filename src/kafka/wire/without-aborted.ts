/**
 * Filters out the records of aborted transactions, as Java's consumer does.
 *
 *   a record                                             is
 *   is a control record with an abort marker             kept; it ends its producer's transaction
 *   is another control record                            kept
 *   is transactional, from a producer with an aborted
 *     transaction that started at or before its offset   removed
 *   anything else                                        kept
 *
 * The broker also returns the records of aborted transactions, and lists these transactions in its response.
 */

import type { AbortedTransaction } from "./fetch-response.ts";

interface FetchedMessage {
  readonly offset: string | number;
  readonly key: Buffer | null;
  readonly isControlRecord?: boolean;
  /** Absent for messages from message sets, because those have no transactions. */
  readonly batchContext?: { readonly producerId: string; readonly inTransaction: boolean };
}

const ABORT_TYPE = 0;

export function withoutAborted<Fetched extends FetchedMessage>(
  messages: readonly Fetched[],
  aborted: readonly AbortedTransaction[],
): readonly Fetched[] {
  if (aborted.length === 0) return messages;
  const starts = aborted
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: Number(firstOffset) }))
    .sort((one, other) => one.firstOffset - other.firstOffset);
  const aborting = new Set<string>();
  let next = 0;
  return messages.filter((message) => {
    const offset = Number(message.offset);
    for (let start = starts[next]; start !== undefined; start = starts[next]) {
      if (start.firstOffset > offset) break;
      aborting.add(start.producerId);
      next += 1;
    }
    const { batchContext } = message;
    if (batchContext === undefined) return true;
    if (message.isControlRecord) {
      if (isAbortMarker(message.key)) aborting.delete(batchContext.producerId);
      return true;
    }
    return !(batchContext.inTransaction && aborting.has(batchContext.producerId));
  });
}

/** A control record's key is its version and its type, two bytes each. */
function isAbortMarker(key: Buffer | null): boolean {
  return key !== null && key.length >= 4 && key.readInt16BE(2) === ABORT_TYPE;
}
