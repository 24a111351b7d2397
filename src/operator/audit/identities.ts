/** Message IDs of records, and their identities in the ledger, as the stages compute them. */

import { callTimes, usableRecordTime } from "../../domain/call-time.ts";
import { parseCallFields } from "../../domain/parse-call.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import {
  deliveryIdentity,
  type Identity,
  identityOf,
  placeIdentity,
  talliedDelivery,
} from "../../router/ledger/tallies.ts";
import { messageIdOf } from "../../router/route/delivery-records.ts";
import { typedValue } from "../../router/route/route-record.ts";

export interface Identified {
  /** Null if the record is not a delivery. */
  readonly messageId: string | null;
  /** Empty for a call, and if the record is not a delivery. */
  readonly destination: string;
  readonly identity: Identity;
}

/**
 * @param isCall true for a record of `calls`. One that is not a call is identified by its position.
 * @param more see `deliveryIdentity`.
 */
export function identified(record: IncomingRecord, isCall: boolean, more = 0): Identified {
  if (isCall) return identifiedCall(record);
  const delivery = talliedDelivery(record);
  const { messageId, destination } = delivery;
  const identity = deliveryIdentity(delivery, more);
  return { messageId: messageId === "" ? null : messageId, destination, identity };
}

function identifiedCall(record: IncomingRecord): Identified {
  const { topic, partition, offset, timestampMs } = record;
  const value = typedValue(record);
  const parsed =
    value.kind === "refused" ? value : parseCallFields(value.typed, value.bytes.length);
  if (parsed.kind === "refused") {
    const identity = placeIdentity(record, timestampMs);
    return { messageId: `${topic}/${partition}/${offset}`, destination: "", identity };
  }
  const messageId = messageIdOf(parsed.call, record);
  const { receivedAtMs } = callTimes(parsed.call, usableRecordTime(timestampMs, timestampMs));
  return { messageId, destination: "", identity: identityOf(messageId, receivedAtMs) };
}
