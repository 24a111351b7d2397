/**
 * Attacks by record batches that no client library writes. The call of each must be delivered, and so must the next
 * call of the same partition.
 */

import { foreignBatches } from "../support/build/foreign-batches.ts";
import { rawProduce } from "../support/kafka-client/raw-produce.ts";
import { testConnection } from "../support/worlds/test-kafka.ts";
import type { AttackRow } from "./attack-row.ts";
import { until } from "./producers.ts";
import type { Product } from "./product.ts";

const PARTITION = 0;

export async function foreignBatchAttacks(product: Product): Promise<AttackRow[]> {
  const { brokers, endpoints, topics, write } = product;
  const connection = testConnection({ brokers });
  const call = { type: "track", userId: "u", event: "Attack" };
  const rows: AttackRow[] = [];
  for (const name of (await foreignBatches(Buffer.from("{}"))).keys()) {
    const ids = [`foreign-${rows.length}`, `next-${rows.length}`] as const;
    const value = Buffer.from(JSON.stringify({ ...call, messageId: ids[0] }));
    const batch = (await foreignBatches(value)).get(name) ?? Buffer.alloc(0);
    await rawProduce(connection, topics.calls, PARTITION, batch);
    await write("calls", [{ partition: PARTITION, value: { ...call, messageId: ids[1] } }]);
    const arrived = () =>
      ids.filter((id) => endpoints.received.some(({ messageId }) => messageId === id));
    const ok = await until(() => arrived().length === ids.length);
    const seen = arrived().join(", ");
    rows.push({ name: `a batch with ${name}`, expected: ids.join(", "), seen, ok });
  }
  return rows;
}
