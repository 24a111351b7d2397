/**
 * Writes what people ask for to the topic `operator-actions`: the commands do it, and whatever else speaks
 * for people. All processes that run deliver or delay see it within two seconds.
 */

import type { DestinationId } from "../domain/ids.ts";
import type { OutgoingRecord } from "../domain/record.ts";
import type { TopicNames } from "../domain/topics.ts";
import type { Producer } from "../kafka/port.ts";
import {
  type EarlyRelease,
  earlyReleaseRecord,
  forgetRecord,
  type Pause,
  pauseRecord,
  resumeRecord,
} from "./operator-actions.ts";

export interface Operating {
  readonly producer: Pick<Producer, "send">;
  readonly topics: Pick<TopicNames, "operatorActions">;
}

/** Resolves when it is acknowledged. In place of an earlier pause of the destination. */
export async function pauseDestination(
  { producer, topics }: Operating,
  pause: Pause,
): Promise<void> {
  await write(producer, pauseRecord(topics.operatorActions, pause));
}

/** Ends a pause by a command. One by the configuration stays. Harmless where there is none. */
export async function resumeDestination(
  { producer, topics }: Operating,
  destination: DestinationId,
): Promise<void> {
  await write(producer, resumeRecord(topics.operatorActions, destination));
}

/** Its deliveries in tiers go out now, or all that wait become dead letters. */
export async function releaseEarly(
  { producer, topics }: Operating,
  earlyRelease: EarlyRelease,
): Promise<void> {
  await write(producer, earlyReleaseRecord(topics.operatorActions, earlyRelease));
}

/** Keeps the topic small. @param keys of records that say nothing any more. */
export async function forgetOperatorActions(
  { producer, topics }: Operating,
  keys: readonly string[],
): Promise<void> {
  if (keys.length > 0)
    await producer.send(keys.map((key) => forgetRecord(topics.operatorActions, key)));
}

async function write(producer: Operating["producer"], record: OutgoingRecord): Promise<void> {
  const [refused] = await producer.send([record]);
  if (refused === undefined) return;
  throw new Error(`the topic ${record.topic} does not take it: ${refused.error}`);
}
