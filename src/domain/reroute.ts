/**
 * Decides what is written instead of a record whose topic is not writable
 * (docs/guarantees.md#a-topic-that-is-not-writable).
 *
 *   the record's topic                            what is written instead
 *   does not belong to a destination              the same record, once the topic is writable
 *   is missing and will not be recreated          a dead letter with the reason unknown-destination
 *   is missing, unavailable or forbidden          the same record, to a delay topic
 *
 *   earlier reroutes of the record   retry delay
 *   none                             the first
 *   n                                the delay n positions after the first, or the last one
 *
 * A reroute does not count as an attempt or a scheduled retry, so no retry window starts. Key and value stay the
 * same.
 */

import { DELIVERY_HEADER } from "./delivery.ts";
import type { DestinationId } from "./ids.ts";
import { type OutgoingRecord, type RecordHeaders, recordFor } from "./record.ts";
import { destinationOfTopic, type TopicNames } from "./topics.ts";

/** How many times a delivery was rerouted. Only stages that write deliveries read this header. */
export const REROUTE_HEADER = "switchyard-reroute-count";

export interface RerouteRules {
  readonly topics: TopicNames;
  /** At least one retry delay, in ascending order. */
  readonly retryDelaysMs: readonly number[];
  /** If `true`, a missing topic is recreated. */
  readonly isMade: (topic: string) => boolean;
}

export type Instead =
  | { readonly kind: "wait" }
  | { readonly kind: "gone"; readonly error: string; readonly delivery: OutgoingRecord }
  | {
      readonly kind: "rerouted";
      readonly destination: DestinationId;
      readonly outgoing: OutgoingRecord;
    };

export function insteadOf(
  record: OutgoingRecord,
  blocked: "missing" | "forbidden" | "unavailable",
  { topics, retryDelaysMs, isMade }: RerouteRules,
  nowMs: number,
): Instead {
  const { topic, key, value } = record;
  const destination = destinationOfTopic(topic, topics);
  if (destination === null) return { kind: "wait" };
  const headers = [...(record.sharedHeaders ?? []), ...record.headers];
  if (blocked === "missing" && !isMade(topic)) {
    const error = `the topic ${topic} does not exist`;
    return { kind: "gone", error, delivery: { topic, key, value, headers } };
  }
  const times = timesRerouted(headers);
  const delayMs = retryDelaysMs[Math.min(times, retryDelaysMs.length - 1)] ?? 0;
  const added = { [DELIVERY_HEADER.dueAt]: nowMs + delayMs, [REROUTE_HEADER]: times + 1 };
  const outgoing = recordFor(topics.delays(delayMs), key, value, [
    ...headers.filter(([name]) => !(name in added)),
    ...Object.entries(added).map(([name, number]) => [name, Buffer.from(`${number}`)] as const),
  ]);
  return { kind: "rerouted", destination, outgoing };
}

/** Other values are ignored, because any program that may write to a delay topic can set the header. */
function timesRerouted(headers: RecordHeaders): number {
  const text = headers.findLast(([name]) => name === REROUTE_HEADER)?.[1]?.toString() ?? "";
  return /^\d{1,4}$/.test(text) ? Number(text) : 0;
}
