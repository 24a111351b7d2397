/** The offsets that a group has committed on a topic, by partition. The clock advances meanwhile. */

import type { ClockDriver } from "../clock/clock-driver.ts";
import type { MemoryCluster } from "../memory-kafka/memory-kafka.ts";

interface World extends Pick<ClockDriver, "during"> {
  readonly cluster: MemoryCluster;
}

export async function committedOffsets(
  { cluster, during }: World,
  group: string,
  topic: string,
): Promise<readonly number[]> {
  const { admin } = cluster.connect();
  const offsets = await during(admin.committed(group, topic));
  return offsets.map(({ offset }) => offset);
}
