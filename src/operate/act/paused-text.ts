/** Counts the deliveries that wait for a paused destination, and how many of them would expire. */

import { recordsIn } from "../../kafka/uncommitted-ranges.ts";
import { asError } from "../../runtime/as-error.ts";
import { hearingLimit } from "../../runtime/hearing-limit.ts";
import { Expiring } from "./expiring.ts";
import {
  eachAwaitingRetry,
  eachOf,
  type Looking,
  queueParts,
  readOperatorActions,
  retryTopicParts,
} from "./remaining.ts";

/** After this time, counting stops, because an operator is waiting for the result. */
const LIMIT_MS = 5_000;
const RECORDS_MAX = 500_000;

export type PausedWaiting =
  | {
      readonly kind: "counted";
      readonly queued: number;
      readonly expiring: Expiring;
      /** If false, the counts are lower bounds. */
      readonly isWhole: boolean;
    }
  | { readonly kind: "unknown"; readonly error: string };

/** Never throws, because the pause has already succeeded. @param untilMs null if the pause has no end. */
export async function waitingOfPaused(
  looking: Looking,
  untilMs: number | null,
): Promise<PausedWaiting> {
  using late = hearingLimit(LIMIT_MS);
  const signal = AbortSignal.any([looking.signal, late.signal]);
  const limited = { ...looking, signal };
  const expiring = new Expiring(looking.config.delivery.retryWindowMs, untilMs);
  const add = (delivery: { readonly firstAttemptAtMs: number | null }) =>
    expiring.add(delivery.firstAttemptAtMs);
  try {
    const queued = recordsIn(await queueParts(limited));
    const operations = await readOperatorActions(limited, signal);
    const isWhole = await eachAwaitingRetry(limited, operations, add, RECORDS_MAX);
    await eachOf(limited, await retryTopicParts(limited), add);
    return { kind: "counted", queued, expiring, isWhole: isWhole && !signal.aborted };
  } catch (error) {
    return { kind: "unknown", error: asError(error).message };
  }
}

/** Returns sentences for operators. */
export function pausedText(waiting: PausedWaiting): string {
  if (waiting.kind === "unknown") {
    return `The queued deliveries could not be counted: ${waiting.error}\n`;
  }
  const { queued, expiring, isWhole } = waiting;
  const are = queued === 1 ? "delivery is" : "deliveries are";
  const waits =
    "Queued deliveries do not expire, but Kafka deletes them when the topic's retention ends.";
  return `${queued.toLocaleString("en")} ${are} queued. ${waits}\n${expiring.text(isWhole)}\n`;
}

/** Returns the counts as JSON; null if the deliveries could not be counted. */
export function pausedJson(waiting: PausedWaiting): object | null {
  if (waiting.kind === "unknown") return null;
  const { queued, expiring, isWhole } = waiting;
  return { queued, ...expiring.json(), isLowerBound: !isWhole };
}
