/**
 * Interprets a broker's response for one partition of a produce request.
 *
 *   error                                             outcome
 *   none, DUPLICATE_SEQUENCE_NUMBER                   acknowledged; a duplicate, by an earlier attempt
 *   MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE          too large: split, or reject a single record
 *   the broker does not lead the partition, or has    retry, with new metadata; may be written: a
 *   no metadata of it                                 broker that waits for replicas also returns this
 *   our producer ID or sequence is not accepted       retry, with a new producer ID
 *   written, but not replicated in time               retry the same batch unchanged: it may be written
 *   anything else                                     retry
 */

import type { Grant } from "../../domain/permissions.ts";
import { type Identity, isAboutPermission, permissionText } from "../cluster/permission.ts";
import type { BlockedBy } from "../port.ts";

type ProduceOutcome =
  | "acknowledged"
  | "too-large"
  | "retry"
  | "retry-as-it-was"
  | "retry-with-metadata"
  | "retry-with-new-id";

const OUTCOMES: Readonly<Record<string, ProduceOutcome>> = {
  DUPLICATE_SEQUENCE_NUMBER: "acknowledged",
  MESSAGE_TOO_LARGE: "too-large",
  RECORD_LIST_TOO_LARGE: "too-large",
  UNKNOWN_TOPIC_OR_PARTITION: "retry-with-metadata",
  LEADER_NOT_AVAILABLE: "retry-with-metadata",
  NOT_LEADER_OR_FOLLOWER: "retry-with-metadata",
  REPLICA_NOT_AVAILABLE: "retry-with-metadata",
  FENCED_LEADER_EPOCH: "retry-with-metadata",
  UNKNOWN_LEADER_EPOCH: "retry-with-metadata",
  KAFKA_STORAGE_ERROR: "retry-with-metadata",
  REQUEST_TIMED_OUT: "retry-as-it-was",
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: "retry-as-it-was",
  OUT_OF_ORDER_SEQUENCE_NUMBER: "retry-with-new-id",
  UNKNOWN_PRODUCER_ID: "retry-with-new-id",
  INVALID_PRODUCER_EPOCH: "retry-with-new-id",
  INVALID_PRODUCER_ID_MAPPING: "retry-with-new-id",
};

/** Returns why a topic or a partition with this error is not writable. @param type Kafka's name for the error. */
export function blockedBy(type: string): Exclude<BlockedBy, "missing"> {
  return isAboutPermission(type) ? "forbidden" : "unavailable";
}

/** The message explains this error, because its name does not mention clocks. */
const INVALID_TIMESTAMP = "INVALID_TIMESTAMP";
const WRONG_CLOCK = `the broker rejects the records because their time is too far from its own clock (by default more than an hour ahead): the clock of this process or of the broker is wrong (${INVALID_TIMESTAMP})`;

/**
 * Returns the error message for operators: Kafka's name for the error, or the missing permission. If timestamps were
 * rejected, the message also names the clock that is wrong.
 */
export function rejectionText(topic: string, type: string, identity: Identity): string {
  if (type === INVALID_TIMESTAMP) return WRONG_CLOCK;
  if (!isAboutPermission(type)) return type;
  const isOnCluster = type === "CLUSTER_AUTHORIZATION_FAILED";
  const grant: Grant = isOnCluster
    ? { on: "cluster", names: [], pattern: "literal", operations: ["IdempotentWrite"] }
    : { on: "topic", names: [topic], pattern: "literal", operations: ["Write"] };
  return permissionText(grant, type, identity);
}

/** @param type Kafka's name for the error, or null if there was no error. */
export function produceOutcome(type: string | null): ProduceOutcome {
  return type === null ? "acknowledged" : (OUTCOMES[type] ?? "retry");
}
