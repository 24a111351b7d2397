/** The audience of the demonstration, with its members on two days, in the form in which a data platform sends them. */

import type { Producer } from "kafkajs";

/** The first sync is at offset 0 of its topic, so that the message IDs of its calls are known in advance. */
const SYNCS = [
  { syncId: "monday", userIds: ["ana", "ben"] },
  { syncId: "tuesday", userIds: ["ben", "cleo"] },
] as const;

export const AUDIENCE = { id: "trial", name: "Trial Users" };

/** Writes both syncs, and returns a line to print. */
export async function publishSyncs(producer: Producer, topic: string): Promise<string> {
  const { id: audienceId, name: audienceName } = AUDIENCE;
  const messages = SYNCS.map(({ syncId, userIds }) => {
    const sync = { type: "snapshot", audienceId, audienceName, syncId, userIds };
    return { key: audienceId, value: JSON.stringify(sync) };
  });
  await producer.send({ topic, messages });
  const days = SYNCS.map(({ syncId, userIds }) => `${userIds.join(" and ")} on ${syncId}`);
  return `audience "${audienceName}" synced twice: ${days.join(", ")}`;
}
