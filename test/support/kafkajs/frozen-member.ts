/**
 * A member of a consumer group in a separate process, so that it can be frozen. It runs until it is killed, finishes
 * each record immediately, and prints each record's value on a line.
 *
 *   node test/support/kafkajs/frozen-member.ts <brokers> <topic, which is the group's name as well>
 */

import { createLog } from "../../../src/telemetry/log.ts";
import { testKafka } from "../worlds/test-kafka.ts";

const [brokers = "", topic = ""] = process.argv.slice(2);
testKafka(
  { brokers: brokers.split(","), sessionTimeoutMs: 6_000, recordMaxBytes: () => 200_000 },
  createLog("error", process.stderr),
).consume({
  groupId: topic,
  topics: [topic],
  partitionRecordsMax: 100,
  maxBytes: 1_000_000,
  whenFull: "hold",
  drainLimitMs: 1_000,
  onAssigned: (partition) => ({
    take: (records) => {
      for (const { offset, value } of records) {
        process.stdout.write(`${value}\n`);
        partition.finish(offset);
      }
    },
    drain: () => Promise.resolve(),
  }),
  onCrash: (error) => {
    throw error;
  },
});
