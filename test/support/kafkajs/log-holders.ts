/** Finds brokers that still accept records for a topic, according to the brokers themselves and not to the metadata. */

import { Brokers } from "../../../src/kafka/cluster/brokers.ts";
import { Clients } from "../../../src/kafka/cluster/connection.ts";
import { LATEST, listOffsets } from "../../../src/kafka/cluster/offsets.ts";
import type { KafkaConnection } from "../../../src/kafka/port.ts";
import { createLog } from "../../../src/telemetry/log.ts";

/** The topics, with `partitions` each, of which a broker leads at least one partition. */
export async function topicsTaken(
  connection: KafkaConnection,
  topics: readonly string[],
  partitions: number,
): Promise<ReadonlySet<string>> {
  const client = new Clients(connection, createLog("error")).create();
  const brokers = new Brokers(client);
  const asked = topics.flatMap((topic) =>
    Array.from({ length: partitions }, (_, partition) => ({ topic, partition })),
  );
  const taken = new Set<string>();
  try {
    const { brokers: nodes } = await brokers.metadata([]);
    for (const { nodeId } of nodes) {
      const listed = await listOffsets(await brokers.leader(nodeId), asked, LATEST);
      for (const { topic, errorCode } of listed) if (errorCode === 0) taken.add(topic);
    }
    return taken;
  } finally {
    brokers.close();
    client.destroy();
  }
}
