/** Log lines about Kafka and the schema registry. */

import type { LineTable } from "./line-spec.ts";

export const KAFKA_LINES = {
  "kafka.waiting": {
    levels: ["warn"],
    meaning: "No broker was usable at startup. Connecting is retried for `kafka.startTimeout`.",
    action: null,
    fields: ["cause"],
  },
  "kafka.broker.unreachable": {
    levels: ["warn"],
    meaning: "A broker was unreachable, or did not respond to fetches.",
    action: null,
    fields: ["broker", "error", "since"],
  },
  "kafka.broker.reachable": {
    levels: ["info"],
    meaning: "A broker that was unreachable responded again.",
    action: null,
    fields: ["broker", "unreachableForMs"],
  },
  "kafka.throttled": {
    levels: ["warn"],
    meaning: "A broker throttled this process because it exceeded a quota.",
    action:
      "See [The brokers throttle the " +
      "process](troubleshooting.md#the-brokers-throttle-the-process).",
    fields: ["broker", "request", "throttleMs", "sumMs"],
  },
  "kafka.consumer.restarting": {
    levels: ["debug", "warn"],
    meaning: "A consumer failed, and has rejoined its group or is trying to.",
    action: null,
    fields: ["group", "error", "since"],
  },
  "kafka.commit.failed": {
    levels: ["debug"],
    meaning: "Offsets could not be committed. They are included in the next commit.",
    action: "Alert on `switchyard_consumer_commit_failures_total`.",
    fields: ["group", "error"],
  },
  "kafka.commit.abandoned": {
    levels: ["warn"],
    meaning:
      "A consumer stopped, or lost partitions in a rebalance, and could not commit. The next " +
      "owner repeats what was processed since the last commit.",
    action: "Act if it happens often.",
    fields: ["group", "error"],
  },
  "kafka.group.foreign-members": {
    levels: ["warn"],
    meaning:
      "Another program was a member of one of Switchyard's consumer groups. It can take records, " +
      "which Switchyard then misses.",
    action: null,
    fields: ["group", "clients", "fix"],
  },
  "kafka.group.unread-topics": {
    levels: ["error"],
    meaning:
      "Other processes in the group read these topics, but nobody gets their partitions, because " +
      "this process, which leads the group, cannot see the topics.",
    action: null,
    fields: ["group", "topics"],
  },
  "kafka.commit.metadata-rejected": {
    levels: ["warn"],
    meaning:
      "The brokers rejected long metadata in a commit. After a restart, more records " +
      "are processed again.",
    action: "Raise `offset.metadata.max.bytes` of the brokers.",
    fields: ["group", "hint"],
  },
  "kafka.offset.out-of-range": {
    levels: ["warn"],
    meaning:
      "Kafka had deleted the record at the committed offset. Reading continued with the first " +
      "record that was left, and the records in between are lost.",
    action: "See [SwitchyardRecordsLost](troubleshooting.md#switchyardrecordslost).",
    fields: ["group", "topic", "partition", "committed"],
  },
  "kafka.topic.recreated": {
    levels: ["warn"],
    meaning:
      "The committed offset belonged to an earlier topic of this name. Reading started at the beginning.",
    action: "Find out who deleted the topic.",
    fields: ["group", "topic", "partition", "committed"],
  },
  "kafka.partition.truncated": {
    levels: ["warn"],
    meaning:
      "The log was truncated below the offset that was read. The partition is read again from " +
      "the start.",
    action: "Check the brokers for unclean leader elections.",
    fields: ["group", "topic", "partition"],
  },
  "kafka.produce.failing": {
    levels: ["debug", "warn"],
    meaning: "Writes failed and are retried until they succeed.",
    action: null,
    fields: ["error"],
    optional: ["topic", "brokerId"],
  },
  "kafka.produce.permission-missing": {
    levels: ["warn"],
    meaning: "The brokers did not allow this process to write to a topic. Its records wait.",
    action: null,
    fields: ["topic", "error", "hint"],
  },
  "kafka.produce.topic-missing": {
    levels: ["warn"],
    meaning: "A topic to which Switchyard writes was missing or unusable.",
    action: null,
    fields: ["topic", "error", "hint"],
  },
  "kafka.produce.partition-missing": {
    levels: ["warn"],
    meaning:
      "A topic was recreated with fewer partitions. Records for the missing partitions wait.",
    action: "Restore the number of partitions: `kafka-topics --alter`.",
    fields: ["topic", "partition", "partitions", "hint"],
  },
  "kafka.produce.not-idempotent": {
    levels: ["warn"],
    meaning:
      "The brokers did not assign a producer ID. If a connection breaks, records may be " +
      "written twice.",
    action: "Grant the permission that `hint` names.",
    fields: ["hint"],
  },
  "registry.unreachable": {
    levels: ["warn"],
    meaning: "The schema registry gave no usable response. Partitions with unknown schemas wait.",
    action: "See [outages](registry.md#outages).",
    fields: ["unreachableForMs", "waiting", "error"],
  },
  "registry.reachable": {
    levels: ["info"],
    meaning: "The schema registry responded again.",
    action: null,
    fields: ["unreachableForMs"],
  },
  "registry.schema.changed": {
    levels: ["error"],
    meaning: "The registry returned a different schema for an ID than before.",
    action: "Check `registry.url`, and whether the registry was recreated.",
    fields: ["schema", "error"],
  },
} as const satisfies LineTable;
