/** What the endpoints of a run answer, by their tempers. */

import type { Prng } from "../support/clock/prng.ts";
import {
  type Answer,
  healthyAnswer,
  scriptedAnswer,
  secondTryAnswer,
  sickAnswer,
} from "./scripts.ts";
import type { ChaosDestination } from "./setup.ts";

/** The receiver is told by path, and the paths need its address: so they are learnt later. */
export function createTempers(seed: number, random: Prng) {
  let isSick = false;
  let isDoomed = false;
  const tempers = new Map<string, string>();
  return {
    learn: (all: readonly ChaosDestination[]) => {
      for (const { path, temper } of all.flatMap((each) => each.endpoints)) {
        tempers.set(path, temper);
      }
    },
    setSick: (value: boolean) => {
      isSick = value;
    },
    setDoomed: (value: boolean) => {
      isDoomed = value;
    },
    answer: (path: string, messageId: string, attempt: number): Answer => {
      const temper = tempers.get(path);
      if (temper === "healthy" || (temper === "doomed" && !isDoomed)) return healthyAnswer(random);
      if (temper === "doomed" || (temper === "sick" && isSick)) return sickAnswer(random);
      if (temper === "second-try") return secondTryAnswer(random, attempt);
      return scriptedAnswer(seed, path, messageId, attempt);
    },
  };
}
