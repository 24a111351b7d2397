/**
 * Which topics exist, as last heard from the brokers. A topic that is missing from an old list may
 * have been made since; only a list of this moment says that it is not there.
 *
 *   the topic is              in the list's first second    later
 *   in the list               there                         there; after 10 s the list is renewed
 *   not in it                 missing                       not known: the list is renewed first
 *   made when it is missing   there                         there
 */

import type { KnownPlaces } from "./partition-queue.ts";

const CERTAIN_MS = 1_000;
const RENEW_AFTER_MS = 10_000;

export interface TopicList extends KnownPlaces {
  /** Whether the list is old enough to be renewed, apart from its content. */
  readonly isOld: (nowMs: number) => boolean;
  readonly renew: (topics: readonly string[], nowMs: number) => void;
}

/** @param isMade whether a topic is made again when it is missing. */
export function createTopicList(isMade: (topic: string) => boolean = () => false): TopicList {
  let topics: ReadonlySet<string> = new Set();
  let renewedAtMs = Number.NEGATIVE_INFINITY;
  // A clock that was set back makes any list old.
  const ageMs = (nowMs: number) => Math.abs(nowMs - renewedAtMs);
  return {
    exists: (topic) => topics.has(topic) || isMade(topic),
    isCertain: (topic, nowMs) => topics.has(topic) || isMade(topic) || ageMs(nowMs) < CERTAIN_MS,
    isOld: (nowMs) => ageMs(nowMs) >= RENEW_AFTER_MS,
    renew: (listed, nowMs) => {
      topics = new Set(listed);
      renewedAtMs = nowMs;
    },
  };
}
