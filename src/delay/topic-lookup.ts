/** Looks up which topics exist, for those who write records back. */

import { asError } from "../runtime/as-error.ts";
import type { StageDeps } from "../stage/stage-deps.ts";
import { createTopicList } from "./known-topics.ts";
import type { KnownPlaces } from "./partition-queue.ts";

const LOOK_UP_AGAIN_MS = 1_000;

export interface Lookup {
  readonly places: KnownPlaces;
  /** Resolves when the list of topics was asked for again, or after a while when that failed. */
  readonly renew: (signal: AbortSignal) => Promise<void>;
  readonly troubles: () => readonly string[];
}

export function createLookup({
  kafka,
  clock,
  rerouting,
}: Pick<StageDeps, "kafka" | "clock" | "rerouting">): Lookup {
  const list = createTopicList(rerouting?.rules.isMade);
  let underWay: Promise<boolean> | null = null;
  let trouble: string | null = null;

  const ask = async () => {
    try {
      list.renew(await kafka.admin.topics(), clock.nowMs());
      trouble = null;
    } catch (error) {
      trouble = `the topics cannot be listed: ${asError(error).message}`;
    }
    underWay = null;
    return trouble === null;
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
      if (!(await renew())) await clock.sleep(LOOK_UP_AGAIN_MS, signal);
    },
    troubles: () => (trouble === null ? [] : [trouble]),
  };
}
