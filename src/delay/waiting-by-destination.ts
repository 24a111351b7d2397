/**
 * Counts the deliveries that wait in delay topics from outside, when no process is asked. It reads
 * what the groups have not committed, and keeps no record.
 *
 *   it                                       then
 *   comes to all ends                        the counts are complete
 *   has read the records that are allowed,   it stops: the counts are at least those, and the records
 *   or the signal aborts                     that it did not read are told
 *   meets a damaged batch, or another error  the same for that partition, with the error
 */

import { type GroupNames, type TopicNames, tierDelayMs } from "../domain/topics.ts";
import type { Kafka } from "../kafka/port.ts";
import { asError } from "../runtime/as-error.ts";
import type { Clock } from "../runtime/clock.ts";
import { readWaiting } from "./due.ts";
import { Labels, REST } from "./labels.ts";
import { addTo, type Tallies, timesOf } from "./tally.ts";

/** Of each partition that is read; all are, side by side. */
const STEP_BYTES = 262_144;

export interface WaitingDeps {
  readonly kafka: Pick<Kafka, "admin" | "read">;
  readonly clock: Pick<Clock, "nowMs">;
}

export interface Asked {
  readonly tiers: readonly string[];
  readonly topics: TopicNames;
  readonly groups: Pick<GroupNames, "delay">;
  /** Those that are told by name. Of others, the first hundred; the rest under an empty name. */
  readonly destinations: Iterable<string>;
  /** Most records to read, over all tiers. */
  readonly recordsMax: number;
  readonly signal: AbortSignal;
}

export interface TierWaiting {
  readonly tier: string;
  readonly destinations: Tallies;
  /** Records that were not read: the counts are at least those. 0: they are complete. */
  readonly unread: number;
  /** Why a partition could not be read. */
  readonly errors: readonly string[];
}

export interface Part {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** The tiers are read side by side, and share the records. @throws Error when a topic is missing. */
export async function waitingByDestination(
  { kafka, clock }: WaitingDeps,
  asked: Asked,
): Promise<readonly TierWaiting[]> {
  const labels = new Labels(asked.destinations);
  let left = asked.recordsMax;
  const ofTier = async (tier: string): Promise<TierWaiting> => {
    const delayMs = tierDelayMs(tier) ?? 0;
    const destinations: Tallies = new Map();
    const errors: string[] = [];
    const ofPart = async (part: Part) => {
      let { from } = part;
      const range = { ...part, maxBytes: STEP_BYTES, signal: asked.signal };
      try {
        for await (const records of kafka.read(range)) {
          for (const record of records) {
            if (left <= 0) return part.to - from;
            left -= 1;
            from = record.offset + 1;
            const waiting = readWaiting(record, asked.topics, delayMs, clock.nowMs());
            const label = waiting.kind === "invalid" ? REST : labels.of(waiting.destination);
            addTo(destinations, label, timesOf(waiting));
          }
          if (left <= 0) return part.to - from;
        }
      } catch (error) {
        errors.push(asError(error).message);
        return part.to - from;
      }
      return asked.signal.aborted ? part.to - from : 0;
    };
    const parts = await partsOf(kafka, asked.groups.delay(tier), asked.topics.delays(delayMs));
    const unread = await Promise.all(parts.map(ofPart));
    const sum = unread.reduce((all, each) => all + each, 0);
    return { tier, destinations, unread: sum, errors };
  };
  return Promise.all(asked.tiers.map(ofTier));
}

/** From the committed offsets to the ends; without a commit from the first offset. */
export async function partsOf(
  { admin }: WaitingDeps["kafka"],
  group: string,
  topic: string,
): Promise<readonly Part[]> {
  // In this order: records that come and are committed in between must not make it negative.
  const committed = await admin.committed(group, topic);
  const offsets = await admin.offsets(topic);
  const positions = new Map(committed.map(({ partition, offset }) => [partition, offset]));
  return offsets
    .map(({ partition, first, end }) => {
      const from = Math.max(first, positions.get(partition) ?? first);
      return { topic, partition, from, to: end };
    })
    .filter(({ from, to }) => from < to);
}
