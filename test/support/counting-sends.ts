/** A producer that counts how often it is given something to send. */

import type { Producer } from "../../src/kafka/port.ts";

export function countingSends(producer: Producer, counts: { sends: number }): Producer {
  return {
    send: (records) => {
      counts.sends += 1;
      return producer.send(records);
    },
    close: (limitMs) => producer.close(limitMs),
  };
}
