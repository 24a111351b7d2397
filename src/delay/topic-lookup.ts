/** Looks up which topics exist, before records are returned to them. */

import { asError } from "../runtime/as-error.ts";
import type { StageDeps } from "../stage/stage-deps.ts";
import { createTopicList } from "./known-topics.ts";
import type { KnownPlaces } from "./partition-queue.ts";

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
