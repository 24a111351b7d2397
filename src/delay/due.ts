/**
 * Decides about a record of a delay topic (SPEC 8.7). A tier's delay is constant, so due times rise
 * within a partition, and only its head is ever waited for.
 *
 *   record                                           decision
 *   lacks a header that a delivery needs, or due-at  dead letter, invalid-call
 *   due later                                        wait
 *   due, its destination is not configured           dead letter, unknown-destination
 *   due, its topic does not exist                    dead letter, unknown-destination
 *   due                                              back to its destination's topic
 *
 * Whether a record is due is for its own due-at to say, not for the tier's present delay: tiers are
 * reconfigured while records wait in them. The record goes back as it came, headers included.
 */

import { DELIVERY_HEADER, readDelivery } from "../domain/delivery.ts";
import type { DestinationId } from "../domain/ids.ts";
import type { IncomingRecord } from "../domain/record.ts";

/** A record of a delay topic, read once when it is taken. */
export type Waiting =
  | {
      readonly kind: "waiting";
      readonly record: IncomingRecord;
      readonly dueAtMs: number;
      readonly destination: DestinationId;
      readonly topic: string;
    }
  | { readonly kind: "invalid"; readonly record: IncomingRecord; readonly error: string };

export type Verdict =
  | { readonly kind: "wait"; readonly waitMs: number }
  | { readonly kind: "return"; readonly topic: string; readonly dueAtMs: number }
  | {
      readonly kind: "dead-letter";
      readonly reason: "invalid-call" | "unknown-destination";
      readonly error: string;
    };

/** What is known of the places that records return to. */
export interface Places {
  readonly isConfigured: (destination: DestinationId) => boolean;
  readonly exists: (topic: string) => boolean;
}

/** @param topicOf the destination's topic, for a record that does not name where it came from. */
export function readWaiting(
  record: IncomingRecord,
  topicOf: (destination: DestinationId) => string,
): Waiting {
  const parsed = readDelivery(record);
  if (parsed.kind === "invalid") return { kind: "invalid", record, error: parsed.error };
  const { dueAtMs, destination, returnTopic } = parsed.delivery;
  if (dueAtMs === null) {
    return { kind: "invalid", record, error: `the header ${DELIVERY_HEADER.dueAt} is missing` };
  }
  return {
    kind: "waiting",
    record,
    dueAtMs,
    destination,
    topic: returnTopic ?? topicOf(destination),
  };
}

export function judgeDue(waiting: Waiting, places: Places, nowMs: number): Verdict {
  if (waiting.kind === "invalid") {
    return { kind: "dead-letter", reason: "invalid-call", error: waiting.error };
  }
  const { dueAtMs, destination, topic } = waiting;
  if (nowMs < dueAtMs) return { kind: "wait", waitMs: dueAtMs - nowMs };
  if (!places.isConfigured(destination)) {
    return gone(`the destination ${destination} is not configured`);
  }
  if (!places.exists(topic)) return gone(`the topic ${topic} does not exist`);
  return { kind: "return", topic, dueAtMs };
}

function gone(error: string): Verdict {
  return { kind: "dead-letter", reason: "unknown-destination", error };
}
