/**
 * Writes operator actions to the topic `operator-actions`, for commands and for the console. Every process that runs
 * the deliver or delay stage reads a new record within two seconds.
 */

import type { DestinationId, EndpointKey } from "../../domain/ids.ts";
import type { OutgoingRecord } from "../../domain/record.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Producer } from "../../kafka/port.ts";
import {
  type EarlyRelease,
  earlyReleaseRecord,
  forgetRecord,
  goneKey,
  type Pause,
  pauseRecord,
  resumeRecord,
} from "./operator-actions.ts";

export interface Operating {
  readonly producer: Pick<Producer, "send">;
  readonly topics: Pick<TopicNames, "operatorActions">;
}

/** Resolves when the brokers have acknowledged the pause. It replaces an earlier pause of the same destination. */
export async function pauseDestination(
  { producer, topics }: Operating,
  pause: Pause,
): Promise<void> {
  await write(producer, pauseRecord(topics.operatorActions, pause));
}

/**
 * Ends a pause by an operator, but not `paused` in the configuration. Has no effect if there is no such pause.
 *
 * @param gone endpoints that responded 410, and get requests again.
 */
export async function resumeDestination(
  { producer, topics: { operatorActions } }: Operating,
  destination: DestinationId,
  gone: readonly EndpointKey[],
): Promise<void> {
  await write(producer, resumeRecord(operatorActions, destination));
  for (const endpoint of gone)
    await write(producer, forgetRecord(operatorActions, goneKey(destination, endpoint)));
}

/** Requests that deliveries awaiting retry are attempted now, or that all waiting deliveries are canceled. */
export async function releaseEarly(
  { producer, topics }: Operating,
  earlyRelease: EarlyRelease,
): Promise<void> {
  await write(producer, earlyReleaseRecord(topics.operatorActions, earlyRelease));
}

/** Removes records, to keep the topic small. @param keys the keys of records that have no effect any more. */
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
  throw new Error(`Cannot write to ${record.topic}: ${refused.error}`);
}
