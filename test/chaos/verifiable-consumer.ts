/**
 * Our consumer, or that of kafkajs, as a verifiable consumer of Kafka's system tests: it takes the flags of Java's, and
 * prints JSON lines until SIGTERM. A record is consumed when it is passed on. Ours finishes it a little later, as
 * a stage does that waits for an acknowledgment.
 *
 *   line                  ours                                             kafkajs
 *   partitions_assigned   `onAssigned`                                     GROUP_JOIN
 *   partitions_revoked    each `drain`                                     REBALANCING
 *   records_consumed      `take`                                           `eachBatch`
 *   offsets_committed     once, at the end: what the coordinator returns   COMMIT_OFFSETS
 */

import { setTimeout as sleep } from "node:timers/promises";

import type { IncomingRecord } from "../../src/domain/record.ts";

const FINISH_MS = 20;
const flag = (name: string) => process.argv[process.argv.indexOf(`--${name}`) + 1] ?? "";
const [topic, groupId] = [flag("topic"), flag("group-id")];
const brokers = flag("bootstrap-server").split(",");
const sessionTimeoutMs = Number(flag("session-timeout"));

const print = (name: string, more: object) =>
  process.stdout.write(`${JSON.stringify({ name, ...more })}\n`);
const place = (partition: number) => ({ topic, partition });

function consumed(partition: number, records: readonly { readonly offset: unknown }[]): void {
  const [minOffset, maxOffset] = [records[0], records.at(-1)].map((each) => Number(each?.offset));
  const batch = { ...place(partition), count: records.length, minOffset, maxOffset };
  print("records_consumed", { count: records.length, partitions: [batch] });
}

/** Returns a function that leaves the group. */
async function startOurs(): Promise<() => Promise<void>> {
  const { testKafka } = await import("../support/worlds/test-kafka.ts");
  const kafka = testKafka({ brokers, sessionTimeoutMs });
  const consumer = kafka.consume({
    ...{ groupId, topics: [topic], partitionRecordsMax: 256, maxBytes: 1_000_000 },
    ...{ whenFull: "hold", drainLimitMs: 5_000 },
    onAssigned: (assigned) => {
      const { partition } = assigned;
      const inFlight = new Set<Promise<void>>();
      print("partitions_assigned", { partitions: [place(partition)] });
      const work = async (records: readonly IncomingRecord[]) => {
        await sleep(FINISH_MS);
        for (const { offset } of records) assigned.finish(offset);
      };
      return {
        take: (records) => {
          consumed(partition, records);
          inFlight.add(work(records));
        },
        drain: async () => {
          print("partitions_revoked", { partitions: [place(partition)] });
          await Promise.all(inFlight);
        },
      };
    },
    onCrash: (error) => {
      throw error;
    },
  });
  return async () => {
    await consumer.stop();
    print("offsets_committed", { offsets: await kafka.admin.committed(groupId, topic) });
    await kafka.close();
  };
}

async function startKafkajs(): Promise<() => Promise<void>> {
  const { Kafka, logLevel } = await import("kafkajs");
  const kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId, sessionTimeout: sessionTimeoutMs });
  let owned: readonly number[] = [];
  const own = (name: string, partitions: readonly number[]) => {
    print(`partitions_${name}`, { partitions: partitions.map(place) });
    owned = partitions;
  };
  const { GROUP_JOIN, REBALANCING, COMMIT_OFFSETS } = consumer.events;
  consumer.on(REBALANCING, () => own("revoked", owned));
  consumer.on(GROUP_JOIN, ({ payload }) => own("assigned", payload.memberAssignment[topic] ?? []));
  consumer.on(COMMIT_OFFSETS, ({ payload }) => print("offsets_committed", payload));
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachBatch: async ({ batch }) => consumed(batch.partition, batch.messages),
  });
  return () => consumer.disconnect();
}

print("startup_complete", {});
const stop = await (process.argv[2] === "kafkajs" ? startKafkajs() : startOurs());
process.once("SIGTERM", () => void stop().then(() => print("shutdown_complete", {})));
