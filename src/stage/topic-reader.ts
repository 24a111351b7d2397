/**
 * Reads topics whole, for stages that keep their state in one: through outages it waits and tries
 * again, as consumers do, and says so.
 */

import type { IncomingRecord } from "../domain/record.ts";
import type { Kafka } from "../kafka/port.ts";
import type { Clock } from "../runtime/clock.ts";

const MAX_BYTES = 1_048_576;
const TRY_AGAIN_MS = 1_000;

export interface TopicReader {
  /** The first offset that is not written yet. Throws when the topic has no such partition. */
  readonly end: (topic: string, partition: number) => Promise<number>;
  /** Throws what `Kafka.read` throws when reading has stood still for 30 seconds. */
  readonly read: (
    topic: string,
    partition: number,
    from: number,
    to: number,
  ) => AsyncIterable<readonly IncomingRecord[]>;
  readonly healthProblems: () => readonly string[];
}

/** @param signal ends reading, and waiting with its reason. */
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
            `the end of ${topic} cannot be read: ${(error as Error).message}`,
          );
          await clock.sleep(TRY_AGAIN_MS, signal);
          continue;
        }
        throw new Error(
          `The topic ${topic} has no partition ${partition}: it needs as many as the topic that is read with it. Delete it and run \`switchyard topics --apply\`.`,
        );
      }
    },
    read: (topic, partition, from, to) =>
      kafka.read({ topic, partition, from, to, maxBytes: MAX_BYTES, signal }),
    healthProblems: () => [...healthProblems.values()],
  };
}
