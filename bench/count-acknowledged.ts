/** A producer that counts what is acknowledged: how a contestant knows when to start and stop the meter. */

import type { Producer } from "../src/kafka/port.ts";

/** @param onAcknowledged called after each `send` with the number of records it wrote. */
export function countAcknowledged(
  producer: Producer,
  onAcknowledged: (records: number) => void,
): Producer {
  return {
    send: async (records, options) => {
      const refused = await producer.send(records, options);
      onAcknowledged(records.length - refused.length);
      return refused;
    },
    close: (limitMs) => producer.close(limitMs),
  };
}
