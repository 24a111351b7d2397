/** A Kafka whose consumers count how often they pass on records. */

import type { ConsumeOptions, Kafka } from "../../../src/kafka/port.ts";

export function countingTakes(kafka: Kafka, counts: { takes: number }): Kafka {
  const onAssigned = (options: ConsumeOptions): ConsumeOptions["onAssigned"] => {
    return (assigned) => {
      const handler = options.onAssigned(assigned);
      return {
        ...(handler.admit === undefined ? {} : { admit: handler.admit }),
        drain: () => handler.drain(),
        take: (records) => {
          counts.takes += 1;
          handler.take(records);
        },
      };
    };
  };
  return {
    admin: kafka.admin,
    read: (range) => kafka.read(range),
    follow: (range) => kafka.follow(range),
    watch: () => kafka.watch(),
    corruptionAt: (place) => kafka.corruptionAt(place),
    commitAsMember: (...commit) => kafka.commitAsMember(...commit),
    consume: (options) => kafka.consume({ ...options, onAssigned: onAssigned(options) }),
    producer: () => kafka.producer(),
    close: () => kafka.close(),
  };
}
