/**
 * Reads topics from start to end, for stages whose state is stored in a topic. During an outage, the reader retries in
 * the same way as a consumer, and reports the outage.
 */

import type { Clock } from "../../base/runtime/clock.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { shellWord } from "../../domain/shell-word.ts";
import type { Kafka, PartitionOffsets } from "../../kafka/port.ts";

const MAX_BYTES = 1_048_576;
const TRY_AGAIN_MS = 1_000;

export interface TopicReader {
  readonly partitions: (topic: string) => Promise<number>;
  /** The log end offset. Throws if the topic does not have the partition. */
  readonly end: (topic: string, partition: number) => Promise<number>;
  /** Reads records. If reading has stalled for 30 seconds, throws the same error as `Kafka.read`. */
  readonly read: (
    topic: string,
    partition: number,
    from: number,
    to: number,
  ) => AsyncIterable<readonly IncomingRecord[]>;
  readonly healthProblems: () => readonly string[];
}

/** @param signal ends reading, and rejects a wait with the signal's reason. */
export function topicReader(kafka: Kafka, clock: Clock, signal: AbortSignal): TopicReader {
  const healthProblems = new Map<string, string>();
  const offsetsOf = async (topic: string): Promise<readonly PartitionOffsets[]> => {
    for (;;) {
      signal.throwIfAborted();
      try {
        const offsets = await kafka.admin.offsets(topic);
        healthProblems.delete(topic);
        return offsets;
      } catch (error) {
        healthProblems.set(
          topic,
          `the log end offset of ${topic} is not available: ${(error as Error).message}`,
        );
        await clock.sleep(TRY_AGAIN_MS, signal);
      }
    }
  };
  return {
    partitions: async (topic) => (await offsetsOf(topic)).length,
    end: async (topic, partition) => {
      const found = (await offsetsOf(topic)).find((each) => each.partition === partition);
      if (found !== undefined) return found.end;
      throw new Error(
        `The topic ${topic} has no partition ${partition}. It needs as many partitions as the topic that is read with it. Add partitions: kafka-topics.sh --alter --topic ${shellWord(topic)} --partitions N`,
      );
    },
    read: (topic, partition, from, to) =>
      kafka.read({ topic, partition, from, to, maxBytes: MAX_BYTES, signal }),
    healthProblems: () => [...healthProblems.values()],
  };
}
