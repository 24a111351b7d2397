/**
 * Passes records directly to a stage, for runs that are the same each time: without a broker, without sockets, and
 * without batches whose sizes depend on how busy the machine is. Records that the stage writes are accepted and
 * dropped.
 */

import type { IncomingRecord, OutgoingRecord } from "../src/domain/record.ts";
import type {
  ConsumeOptions,
  Consumer,
  Kafka,
  PartitionHandler,
  WatchedProducer,
} from "../src/kafka/port.ts";

/** The calls fill requests of 100 calls, because a request that is not full waits. */
const BATCH = 300;
const IDLE: Consumer = {
  joined: Promise.resolve(),
  stop: () => Promise.resolve(),
  progress: () => [],
  vitals: () => ({
    isAssigned: true,
    fetchedAtMs: null,
    heardAtMs: null,
    commitFailures: 0,
    foreignMembers: [],
    unreadTopics: [],
    halts: [],
  }),
  rebalances: () => 0,
  offsetResets: () => 0,
};

export interface Straight {
  readonly kafka: Kafka;
  readonly producer: WatchedProducer;
  /** Creates the next records, so that creating them is not measured. */
  readonly prepare: (count: number) => void;
  /** Passes on the prepared records, and resolves when the stage has processed them. */
  readonly pass: () => Promise<void>;
}

/**
 * @param existing other topics that exist
 * @param recordOf returns the record at an offset of the topic's only partition
 */
export function straightKafka(
  topic: string,
  existing: readonly string[],
  recordOf: (offset: number) => OutgoingRecord,
): Straight {
  const producer: WatchedProducer = {
    send: () => Promise.resolve([]),
    close: () => Promise.resolve(),
    blocked: () => [],
  };
  const assigned = Promise.withResolvers<PartitionHandler>();
  let [next, finished] = [0, 0];
  let onFinished: () => void = () => undefined;
  const consume = (options: ConsumeOptions): Consumer => {
    if (!options.topics.includes(topic)) return IDLE;
    const handler = options.onAssigned({
      topic,
      partition: 0,
      topicId: () => "straight",
      finish: () => {
        finished += 1;
        onFinished();
      },
      hold: () => undefined,
      isOurs: () => Promise.resolve(true),
    });
    assigned.resolve(handler);
    return IDLE;
  };
  const nothing = async function* () {};
  const kafka = {
    consume,
    producer: () => producer,
    read: nothing,
    follow: nothing,
    admin: {
      topics: () => Promise.resolve([topic, ...existing]),
      describe: () => Promise.resolve([]),
      offsets: () => Promise.resolve([]),
    },
    watch: () => ({ brokers: () => [] }),
    close: () => Promise.resolve(),
  } as unknown as Kafka;
  let prepared: IncomingRecord[][] = [];
  const prepare = (count: number) => {
    for (let left = count; left > 0; left -= BATCH) {
      prepared.push(
        Array.from({ length: Math.min(left, BATCH) }, () => {
          const { key, value, headers } = recordOf(next);
          const place = { topic, partition: 0, offset: next };
          next += 1;
          return { ...place, timestampMs: Date.now(), key, value, headers };
        }),
      );
    }
  };
  const pass = async () => {
    const handler = await assigned.promise;
    for (const records of prepared) {
      const until = finished + records.length;
      const done = new Promise<void>((resolve) => {
        onFinished = () => finished >= until && resolve();
      });
      handler.take(records);
      await done;
    }
    prepared = [];
  };
  return { kafka, producer, prepare, pass };
}
