/**
 * Manages the waiting records of one partition of a delay topic, in offset order.
 *
 *   the first record                             next step
 *   does not exist                               wait for records
 *   is due later                                 wait until then
 *   is due, and its topic is unknown             look up the topics
 *   is due or a dead letter                      take it, and the following records that are due or dead letters
 */

import { judgeDue, type Places, type Verdict, type Waiting } from "./due.ts";

export interface Due {
  readonly waiting: Waiting;
  readonly verdict: Exclude<Verdict, { kind: "wait" }>;
}

export type Step =
  | { readonly kind: "empty" }
  | { readonly kind: "wait"; readonly waitMs: number }
  | { readonly kind: "lookup" }
  | { readonly kind: "due"; readonly due: readonly Due[] };

/** Shows which topics exist, from a list. An old list does not prove that a topic is missing. */
export interface KnownPlaces extends Places {
  readonly isCertain: (topic: string, nowMs: number) => boolean;
}

/**
 * Removes due records from the queue.
 *
 * @param max the maximum number of records to take, at least 1.
 */
export function takeDue(queue: Waiting[], places: KnownPlaces, nowMs: number, max: number): Step {
  const due: Due[] = [];
  let step: Step = { kind: "empty" };
  for (const waiting of queue) {
    if (due.length === max) break;
    const verdict = judgeDue(waiting, places, nowMs);
    if (verdict.kind === "wait") {
      step = verdict;
      break;
    }
    if (needsLookup(waiting, places, nowMs)) {
      step = { kind: "lookup" };
      break;
    }
    due.push({ waiting, verdict });
  }
  if (due.length === 0) return step;
  queue.splice(0, due.length);
  return { kind: "due", due };
}

/** Returns `true` if it is not certain which topic the record has to be returned to. */
export function needsLookup(waiting: Waiting, places: KnownPlaces, nowMs: number): boolean {
  if (waiting.kind === "invalid") return false;
  for (const topic of waiting.topics) {
    if (!places.isCertain(topic, nowMs)) return true;
    if (places.exists(topic)) return false;
  }
  return false;
}
