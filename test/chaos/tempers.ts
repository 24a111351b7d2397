/** Decides the responses of a run's endpoints, according to their tempers. */

import type { Batch } from "../../src/destinations/webhook/settings.ts";
import type { Prng } from "../support/clock/prng.ts";
import type { RequestedCall } from "./receiver.ts";
import {
  type Answer,
  healthyAnswer,
  poisonAnswer,
  type Reply,
  replyTo,
  scriptedAnswer,
  secondTryAnswer,
  sickAnswer,
} from "./scripts.ts";
import type { ChaosDestination } from "./setup.ts";

/** Responses are chosen by path, and the paths depend on the receiver's address, so they are set later. */
export function createTempers(seed: number, random: Prng) {
  let isSick = false;
  let isDoomed = false;
  const tempers = new Map<string, string>();
  const responsesOf = new Map<string, Batch["responses"]>();
  return {
    learn: (all: readonly ChaosDestination[]) => {
      for (const { endpoints, batch } of all) {
        for (const { path, temper } of endpoints) {
          tempers.set(path, temper);
          if (batch !== null) responsesOf.set(path, batch.responses);
        }
      }
    },
    setSick: (value: boolean) => {
      isSick = value;
    },
    setDoomed: (value: boolean) => {
      isDoomed = value;
    },
    reply: (path: string, calls: readonly RequestedCall[]): Reply => {
      const answers = calls.map(({ messageId, attempt }) => answerTo(path, messageId, attempt));
      return replyTo(answers, responsesOf.get(path) ?? null);
    },
  };

  function answerTo(path: string, messageId: string, attempt: number): Answer {
    const temper = tempers.get(path);
    if (temper === "healthy" || (temper === "doomed" && !isDoomed)) return healthyAnswer(random);
    if (temper === "doomed" || (temper === "sick" && isSick)) return sickAnswer(random);
    if (temper === "second-try") return secondTryAnswer(random, attempt);
    if (temper === "poison") return poisonAnswer(seed, path, messageId, attempt);
    return scriptedAnswer(seed, path, messageId, attempt);
  }
}
