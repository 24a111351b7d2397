/**
 * Decides what follows from an error in the response to a fetch of a partition.
 *
 *   the error                            then
 *   the offset is out of range           reading starts at the log's first offset, and that is counted
 *   the leader has moved, or there is    leaders are looked up, and the partition is fetched from its leader
 *   none
 *   the topic is unknown, as after a     the same, if the topic's ID is still the same; otherwise the member
 *   broker's restart                     joins again, which compares the ID with that of the commits
 *   any other temporary one              the partition is fetched again
 *   anything else                        the member fails
 */

import { errorKind, errorTypes } from "../cluster/kafka-error.ts";

export type PartitionStep = "reset" | "find-leader" | "compare-topic" | "again" | "fail";

const MOVED = [
  "LEADER_NOT_AVAILABLE",
  "NOT_LEADER_FOR_PARTITION",
  "FENCED_LEADER_EPOCH",
  "UNKNOWN_LEADER_EPOCH",
  "REPLICA_NOT_AVAILABLE",
];

export function stepAfter(error: unknown): PartitionStep {
  const types = errorTypes(error);
  if (types.has("OFFSET_OUT_OF_RANGE")) return "reset";
  if (MOVED.some((type) => types.has(type))) return "find-leader";
  if (types.has("UNKNOWN_TOPIC_OR_PARTITION")) return "compare-topic";
  return errorKind(error) === "outage" ? "again" : "fail";
}
