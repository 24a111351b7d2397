/**
 * Which topics exist, as last heard from the brokers. A topic that is missing from an old list may
 * have been made since; only a list of this moment says that it is not there.
 *
 *   the topic is              in the list's first second    later
 *   in the list               there                         there; after 10 s the list is renewed
 *   not in it                 missing                       not known: the list is renewed first
 */

import type { DestinationId } from "../domain/ids.ts";
import type { KnownPlaces } from "./partition-queue.ts";

const CERTAIN_MS = 1_000;
const RENEW_AFTER_MS = 10_000;

export interface TopicList extends KnownPlaces {
  /** Whether the list is old enough to be renewed, whatever it says. */
  readonly isOld: (nowMs: number) => boolean;
  readonly renew: (topics: readonly string[], nowMs: number) => void;
}

export function createTopicList(destinations: readonly DestinationId[]): TopicList {
  const configured = new Set(destinations);
  let topics: ReadonlySet<string> = new Set();
  let renewedAtMs = Number.NEGATIVE_INFINITY;
  // A clock that was set back makes any list old.
  const ageMs = (nowMs: number) => Math.abs(nowMs - renewedAtMs);
  return {
    isConfigured: (destination) => configured.has(destination),
    exists: (topic) => topics.has(topic),
    isCertain: (topic, nowMs) => topics.has(topic) || ageMs(nowMs) < CERTAIN_MS,
    isOld: (nowMs) => ageMs(nowMs) >= RENEW_AFTER_MS,
    renew: (listed, nowMs) => {
      topics = new Set(listed);
      renewedAtMs = nowMs;
    },
  };
}
