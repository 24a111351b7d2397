/** Lines about Kafka and about the schema registry. */

import type { LineTable } from "./line-spec.ts";

export const KAFKA_LINES = {
  "kafka.driver": {
    levels: ["info"],
    meaning: "The version of kafkajs in use.",
    action: null,
    fields: ["version", "replacements"],
  },
  "kafka.waiting": {
    levels: ["warn"],
    meaning:
      "No broker can be used at the start, or the brokers cannot do yet what the start needs. It is tried again for `kafka.startTimeout`.",
    action: "[Errors at connecting](connect.md#connection-errors).",
    fields: ["cause"],
  },
  "kafka.broker.unreachable": {
    levels: ["warn"],
    meaning:
      "A broker is away, or does not respond to fetches. Said at once, and then each minute with what fails now.",
    action:
      "[Kafka away](troubleshooting.md#kafka-is-unreachable). Work goes on by itself when it is back.",
    fields: ["broker", "error", "since"],
  },
  "kafka.broker.reachable": {
    levels: ["info"],
    meaning: "A broker that was away answers.",
    action: null,
    fields: ["broker", "unreachableForMs"],
  },
  "kafka.throttled": {
    levels: ["warn"],
    meaning:
      "A broker throttled this process, because the process is above one of its quotas in Kafka. Logged at once, and then once a minute while it lasts, with the last throttle time and the sum since the line before.",
    action:
      "[The brokers throttle the process](troubleshooting.md#the-brokers-throttle-the-process).",
    fields: ["broker", "request", "throttleMs", "sumMs"],
  },
  "kafka.client": {
    levels: ["debug", "warn"],
    meaning:
      "A line of kafkajs. The same text at most once a minute; about connections only at level debug.",
    action: "Look for lines of a broker that is away. Otherwise read the error.",
    fields: ["namespace", "message"],
    optional: ["error"],
  },
  "kafka.consumer.restarting": {
    levels: ["debug", "warn"],
    meaning:
      "A consumer has failed, and joined its group again or still tries. If a broker is away: only at level debug.",
    action: "Nothing, if it stays with one line. Otherwise read the error.",
    fields: ["group", "error", "since"],
  },
  "kafka.commit.failed": {
    levels: ["debug"],
    meaning: "Offsets could not be committed. They are with the next commit.",
    action: "Alert on `switchyard_consumer_commit_failures_total`.",
    fields: ["group", "error"],
  },
  "kafka.commit.abandoned": {
    levels: ["warn"],
    meaning:
      "A consumer stops, or gives partitions up for a rebalance, and could not commit all that is finished. Their next owner repeats what was finished since the last commit.",
    action: "Nothing, if it is rare. Otherwise read the error.",
    fields: ["group", "error"],
  },
  "kafka.group.foreign-members": {
    levels: ["warn"],
    meaning:
      "Another program is a member of a consumer group of Switchyard. It is given no partitions as long as a process of Switchyard leads the group, but each of its joins and leaves stops the group for a moment. If it leads the group, it may take records, which Switchyard then misses. Logged when it is seen first, and at most once a minute.",
    action:
      "Give that program another group. `fix` is the command that lists the members of the group with their hosts.",
    fields: ["group", "clients", "fix"],
  },
  "kafka.commit.metadata-rejected": {
    levels: ["warn"],
    meaning: "The brokers take no long metadata with a commit. A restart repeats more records.",
    action: "Raise `offset.metadata.max.bytes` of the brokers.",
    fields: ["group", "hint"],
  },
  "kafka.offset.out-of-range": {
    levels: ["warn"],
    meaning:
      "The committed offset is not in the log any more. Reading goes on at its beginning, and what lay between is lost.",
    action: "Alert on lag long before retention.",
    fields: ["group", "topic", "partition", "committed"],
  },
  "kafka.topic.recreated": {
    levels: ["warn"],
    meaning:
      "The committed offset is that of an earlier topic of this name. Reading begins at the beginning.",
    action: "Find out who deleted the topic.",
    fields: ["group", "topic", "partition", "committed"],
  },
  "kafka.partition.truncated": {
    levels: ["warn"],
    meaning:
      "The log was cut off below what was read: offsets stand for other records now. The partition is begun anew.",
    action: "Look at unclean leader elections of the brokers. Records are repeated.",
    fields: ["group", "topic", "partition"],
  },
  "kafka.produce.failing": {
    levels: ["debug", "warn"],
    meaning:
      "Writes failed and are repeated until they succeed. If a broker is away: only at level debug.",
    action: "Read the error. The records wait, and partitions that they come from with them.",
    fields: ["error"],
    optional: ["topic", "brokerId"],
  },
  "kafka.produce.permission-missing": {
    levels: ["warn"],
    meaning:
      "The brokers refuse to let this process write a topic. Its records wait. Logged once a minute.",
    action: "Grant the permission that `error` names: the command is there.",
    fields: ["topic", "error", "hint"],
  },
  "kafka.produce.topic-missing": {
    levels: ["warn"],
    meaning: "A topic that is written is missing, or cannot be used.",
    action: "`switchyard topics`.",
    fields: ["topic", "error", "hint"],
  },
  "kafka.produce.partition-missing": {
    levels: ["warn"],
    meaning:
      "A topic was made anew with fewer partitions, and a record belongs to one that is not there. It waits. Said once a minute.",
    action: "Add partitions to the topic until it has as many as before: `kafka-topics --alter`.",
    fields: ["topic", "partition", "partitions", "hint"],
  },
  "kafka.produce.not-idempotent": {
    levels: ["warn"],
    meaning: "The brokers give no producer id. A cut connection may write records twice.",
    action: "Grant the permission that `hint` names.",
    fields: ["hint"],
  },
  "registry.unreachable": {
    levels: ["warn"],
    meaning:
      "The schema registry gives no answer that counts. Said at once, and then each minute. Partitions with unknown schemas wait.",
    action: "[Outages](registry.md#outages).",
    fields: ["unreachableForMs", "waiting", "error"],
  },
  "registry.reachable": {
    levels: ["info"],
    meaning: "The schema registry answers again.",
    action: null,
    fields: ["unreachableForMs"],
  },
  "registry.schema.changed": {
    levels: ["error"],
    meaning: "The registry has another schema under an id than before.",
    action: "Check whether the registry was made anew, and `registry.url`.",
    fields: ["schema", "error"],
  },
} as const satisfies LineTable;
