/** The demonstration's audience: who is in it on two days, as a data platform would say so. */

import type { Kafka } from "../../src/kafka/port.ts";

/** The first is all of its topic, so that the message ids of what follows are known beforehand. */
const SYNCS = [
  { syncId: "monday", userIds: ["ana", "ben"] },
  { syncId: "tuesday", userIds: ["ben", "cleo"] },
] as const;

export const AUDIENCE = { id: "trial", name: "Trial Users" };

/** Writes both syncs, and returns a line that says so. */
export async function publishSyncs(kafka: Kafka, topic: string): Promise<string> {
  const { id: audienceId, name: audienceName } = AUDIENCE;
  const producer = kafka.producer();
  await producer.send(
    SYNCS.map(({ syncId, userIds }) => {
      const sync = { type: "snapshot", audienceId, audienceName, syncId, userIds };
      const value = Buffer.from(JSON.stringify(sync));
      return { topic, key: Buffer.from(audienceId), value, headers: [] };
    }),
  );
  await producer.close(5_000);
  const days = SYNCS.map(({ syncId, userIds }) => `${userIds.join(" and ")} on ${syncId}`);
  return `audience "${audienceName}" synced twice: ${days.join(", ")}`;
}
