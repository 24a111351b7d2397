/** The audience of the demonstration, with its members on two days, in the form in which a data platform sends them. */

import type { Kafka } from "../../src/kafka/port.ts";

/** The first sync is at offset 0 of its topic, so that the message IDs of its calls are known in advance. */
const SYNCS = [
  { syncId: "monday", userIds: ["ana", "ben"] },
  { syncId: "tuesday", userIds: ["ben", "cleo"] },
] as const;

export const AUDIENCE = { id: "trial", name: "Trial Users" };

/** Writes both syncs, and returns a line to print. */
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
