/** The parts of a topic that a group has not committed. */

import type { Kafka } from "../../kafka/port.ts";

export interface Part {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** Of a topic that does not exist: none. */
export async function unfinishedOf(
  { admin }: Pick<Kafka, "admin">,
  group: string,
  topic: string,
): Promise<readonly Part[]> {
  // In this order: records that come and are committed in between must not make it negative.
  const committed = await admin.committedOf(new Map([[group, [topic]]]));
  const offsets = (await admin.offsetsOf([topic])).get(topic) ?? [];
  const positions = new Map(
    (committed.get(group)?.get(topic) ?? []).map((each) => [each.partition, each.offset]),
  );
  return offsets.flatMap(({ partition, first, end }) => {
    const from = Math.max(first, positions.get(partition) ?? first);
    return from < end ? [{ topic, partition, from, to: end }] : [];
  });
}

export function recordsIn(parts: readonly Part[]): number {
  return parts.reduce((sum, { from, to }) => sum + to - from, 0);
}
