/**
 * Our consumer, or that of kafkajs, as a verifiable consumer of Kafka's system tests: it takes the flags of Java's, and
 * prints JSON lines until SIGTERM. A record is consumed when it is passed on. Ours finishes it a little later, as
 * a stage does that waits for an acknowledgment.
 *
 *   line                  ours                                             kafkajs
 *   partitions_assigned   `onAssigned`                                     GROUP_JOIN
 *   partitions_revoked    the first `drain`                                REBALANCING
 *   records_consumed      `take`                                           `eachBatch`
 *   offsets_committed     once, at the end: what the coordinator returns   COMMIT_OFFSETS
 */

import { setTimeout as sleep } from "node:timers/promises";

const FINISH_MS = 20;
const flag = (name: string) => process.argv[process.argv.indexOf(`--${name}`) + 1] ?? "";
const [brokers, topic, groupId] = [
  flag("bootstrap-server").split(","),
  flag("topic"),
  flag("group-id"),
];
const sessionTimeoutMs = Number(flag("session-timeout"));

const print = (name: string, more: object) =>
  process.stdout.write(`${JSON.stringify({ name, ...more })}\n`);
const place = (partition: number) => ({ topic, partition });

function consumed(partition: number, offsets: readonly number[]): void {
  const [minOffset, maxOffset, count] = [offsets[0], offsets.at(-1), offsets.length];
  const batch = { ...place(partition), count, minOffset, maxOffset };
  if (count > 0) print("records_consumed", { count, partitions: [batch] });
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
      let drained: Promise<unknown> | null = null;
      const inFlight = new Set<Promise<void>>();
      print("partitions_assigned", { partitions: [place(partition)] });
      const finish = async (offsets: readonly number[]) => {
        await sleep(FINISH_MS);
        for (const offset of offsets) assigned.finish(offset);
      };
      return {
        take: (records) => {
          const offsets = records.map(({ offset }) => offset);
          consumed(partition, offsets);
          inFlight.add(finish(offsets));
        },
        drain: async () => {
          if (drained === null) print("partitions_revoked", { partitions: [place(partition)] });
          drained ??= Promise.all(inFlight);
          await drained;
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
  const consumer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).consumer({
    groupId,
    sessionTimeout: sessionTimeoutMs,
  });
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
    eachBatch: async ({ batch: { partition, messages } }) =>
      consumed(
        partition,
        messages.map(({ offset }) => Number(offset)),
      ),
  });
  return () => consumer.disconnect();
}

print("startup_complete", {});
const stop = await (process.argv[2] === "kafkajs" ? startKafkajs() : startOurs());
process.once("SIGTERM", () => void stop().then(() => print("shutdown_complete", {})));
