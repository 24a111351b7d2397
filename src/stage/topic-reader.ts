/**
 * Reads topics from start to end, for stages whose state is stored in a topic. During an outage, the reader retries in
 * the same way as a consumer, and reports the outage.
 */

import type { IncomingRecord } from "../domain/record.ts";
import type { Kafka } from "../kafka/port.ts";
import type { Clock } from "../runtime/clock.ts";

const MAX_BYTES = 1_048_576;
const TRY_AGAIN_MS = 1_000;

export interface TopicReader {
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
  return {
    end: async (topic, partition) => {
      for (;;) {
        signal.throwIfAborted();
        try {
          const offsets = await kafka.admin.offsets(topic);
          healthProblems.delete(topic);
          const found = offsets.find((each) => each.partition === partition);
          if (found !== undefined) return found.end;
        } catch (error) {
          healthProblems.set(
            topic,
            `the log end offset of ${topic} is not available: ${(error as Error).message}`,
          );
          await clock.sleep(TRY_AGAIN_MS, signal);
          continue;
        }
        throw new Error(
          `The topic ${topic} has no partition ${partition}. It needs as many partitions as the topic that is read with it. Delete ${topic} and run \`switchyard topics --apply\`.`,
        );
      }
    },
    read: (topic, partition, from, to) =>
      kafka.read({ topic, partition, from, to, maxBytes: MAX_BYTES, signal }),
    healthProblems: () => [...healthProblems.values()],
  };
}
