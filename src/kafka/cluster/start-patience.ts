/**
 * Decides how long Switchyard waits at startup for an error to end. The time is measured from the first of consecutive
 * errors.
 *
 *   the error                                                      waits
 *   a missing permission, rejected credentials, and other errors   not at all
 *   that last until an operator fixes the cause
 *   a closed client                                                not at all
 *   fewer brokers than replicas, an unknown topic, two concurrent  15 s: brokers that have just
 *   authentications, an error without a reason                     started lack metadata
 *   anything else: brokers restart, elect a leader, or are slow    without a limit
 */

import { ClosedError } from "../port.ts";
import { errorKind, errorTypes } from "./kafka-error.ts";

const BRIEFLY_MS = 15_000;
const BRIEF: ReadonlySet<string> = new Set([
  "ILLEGAL_SASL_STATE",
  "INVALID_REPLICATION_FACTOR",
  "UNKNOWN",
  "UNKNOWN_TOPIC_OR_PARTITION",
]);
/** Errors for which waiting does not help, in addition to the errors that are fatal while the program runs. */
const STAYS: ReadonlySet<string> = new Set([
  "INVALID_CONFIG",
  "INVALID_PARTITIONS",
  "INVALID_REPLICA_ASSIGNMENT",
  "INVALID_REQUEST",
  "POLICY_VIOLATION",
]);

export function patienceMs(error: unknown): number {
  const types = errorTypes(error);
  if (error instanceof ClosedError || [...types].some((type) => STAYS.has(type))) return 0;
  // Checked before `errorKind`, because some of these errors are fatal while the program runs.
  if (types.size > 0 && [...types].every((type) => BRIEF.has(type))) return BRIEFLY_MS;
  return errorKind(error) === "fatal" ? 0 : Number.POSITIVE_INFINITY;
}
