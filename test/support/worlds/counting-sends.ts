/** A producer that counts its sends. */

import type { Producer } from "../../../src/kafka/port.ts";

export function countingSends(producer: Producer, counts: { sends: number }): Producer {
  return {
    send: (records, options) => {
      counts.sends += 1;
      return producer.send(records, options);
    },
    close: (limitMs) => producer.close(limitMs),
  };
}
