/** How each endpoint responds at the moment: its temper (`setup.ts`), and the faults that make it fail. */

import type { Batch } from "../../src/router/destinations/webhook/settings.ts";
import type { Prng } from "../support/clock/prng.ts";
import type { RequestedCall } from "./receiver.ts";
import {
  healthyResponse,
  moodyResponse,
  poisonResponse,
  type Reply,
  replyTo,
  type ScriptedResponse,
  scriptedResponse,
  secondTryResponse,
  sickResponse,
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
      const responses = calls.map(({ messageId, attempt }) => responseTo(path, messageId, attempt));
      return replyTo(responses, responsesOf.get(path) ?? null);
    },
  };

  function responseTo(path: string, messageId: string, attempt: number): ScriptedResponse {
    const temper = tempers.get(path);
    if (temper === "healthy" || (temper === "doomed" && !isDoomed)) return healthyResponse(random);
    if (temper === "doomed" || (temper === "sick" && isSick)) return sickResponse(random);
    if (temper === "second-try") return secondTryResponse(random, attempt);
    if (temper === "moody") return moodyResponse(seed, path, messageId, attempt);
    if (temper === "poison") return poisonResponse(seed, path, messageId, attempt);
    return scriptedResponse(seed, path, messageId, attempt);
  }
}
