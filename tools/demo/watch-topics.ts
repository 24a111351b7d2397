/** Reads the records of the topic destination and the dead letters. */

import { DEAD_LETTER_HEADER } from "../../src/domain/dead-letter.ts";
import { DELIVERY_HEADER } from "../../src/domain/delivery.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import type { Consumer, Kafka } from "../../src/kafka/port.ts";

export interface WatchedTopics {
  readonly warehouse: string;
  readonly deadLetters: string;
}

export interface TopicEvents {
  readonly onWarehouse: (messageId: string) => void;
  readonly onDeadLetter: (reason: string, error: string, from: string) => void;
}

/** Starts at the beginning of the topics. The caller stops it by closing `kafka`. */
export function watchTopics(
  kafka: Kafka,
  groupId: string,
  topics: WatchedTopics,
  events: TopicEvents,
): Consumer {
  return kafka.consume({
    groupId,
    topics: [topics.warehouse, topics.deadLetters],
    partitionRecordsMax: 1_000,
    maxBytes: 8 * 1_024 * 1_024,
    whenFull: "hold",
    drainLimitMs: 1_000,
    onAssigned: (partition) => ({
      take: (records) => {
        for (const record of records) {
          if (record.topic === topics.warehouse) {
            events.onWarehouse(header(record, DELIVERY_HEADER.messageId));
          } else {
            const from = `${header(record, DEAD_LETTER_HEADER.topic)}/${header(record, DEAD_LETTER_HEADER.partition)}/${header(record, DEAD_LETTER_HEADER.offset)}`;
            events.onDeadLetter(
              header(record, DEAD_LETTER_HEADER.reason),
              header(record, DEAD_LETTER_HEADER.error),
              from,
            );
          }
          partition.finish(record.offset);
        }
      },
      drain: () => Promise.resolve(),
    }),
    onCrash: (error) => {
      throw error;
    },
  });
}

function header(record: IncomingRecord, name: string): string {
  return record.headers.find(([each]) => each === name)?.[1]?.toString() ?? "";
}
