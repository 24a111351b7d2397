/**
 * Looks up which topics exist, before records are returned to them. A topic that is not in an old list may have been
 * created since then, so only a new list proves that a topic does not exist.
 *
 *   the topic is              in the list's first second    later
 *   in the list               exists                        exists; after 10 s the list is renewed
 *   not in the list           missing                       unknown: the list is renewed first
 *   created when missing      exists                        exists
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { StageDeps } from "../stage/running-stage.ts";
import type { KnownPlaces } from "./partition-queue.ts";

const CERTAIN_MS = 1_000;
const RENEW_AFTER_MS = 10_000;

export interface TopicList extends KnownPlaces {
  /** `true` if the list is so old that it should be renewed, regardless of its content. */
  readonly isOld: (nowMs: number) => boolean;
  readonly renew: (topics: readonly string[], nowMs: number) => void;
}

/** @param isMade returns `true` for a topic that is recreated when it is missing. */
export function createTopicList(isMade: (topic: string) => boolean = () => false): TopicList {
  let topics: ReadonlySet<string> = new Set();
  let renewedAtMs = Number.NEGATIVE_INFINITY;
  // If the clock was set back, every list counts as old.
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

const LOOKUP_AGAIN_MS = 1_000;

export interface Lookup {
  readonly places: KnownPlaces;
  /** Fetches the list of topics again. Resolves when the list has arrived or, after a failure, after a pause. */
  readonly renew: (signal: AbortSignal) => Promise<void>;
  readonly healthProblems: () => readonly string[];
}

export function createLookup({
  kafka,
  clock,
  rerouting,
}: Pick<StageDeps, "kafka" | "clock" | "rerouting">): Lookup {
  const list = createTopicList(rerouting?.rules.isMade);
  let underWay: Promise<boolean> | null = null;
  let healthProblem: string | null = null;

  const ask = async () => {
    try {
      list.renew(await kafka.admin.topics(), clock.nowMs());
      healthProblem = null;
    } catch (error) {
      healthProblem = `the topics cannot be listed: ${asError(error).message}`;
    }
    underWay = null;
    return healthProblem === null;
  };
  const renew = () => {
    underWay ??= ask();
    return underWay;
  };
  return {
    places: {
      ...list,
      exists: (topic) => {
        if (list.isOld(clock.nowMs())) void renew();
        return list.exists(topic);
      },
    },
    renew: async (signal) => {
      if (!(await renew())) await clock.sleep(LOOKUP_AGAIN_MS, signal);
    },
    healthProblems: () => (healthProblem === null ? [] : [healthProblem]),
  };
}
