/** Keeps a connection to Kafka for a view that stays open, even if Kafka becomes unreachable. */

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { asError } from "../../base/runtime/as-error.ts";
import { hearingLimit } from "../../base/runtime/hearing-limit.ts";
import type { Kafka } from "../../kafka/port.ts";
import type { UseKafka } from "./look.ts";

const AGAIN_MS = 2_000;
const ANSWER_LIMIT_MS = 5_000;

/** Tries to connect until it succeeds. */
export function keepConnected(useKafka: UseKafka, signal: AbortSignal) {
  let kafka: Kafka | null = null;
  let error = new Error("no response yet");
  const connect = async () => {
    while (!signal.aborted) {
      try {
        await useKafka(async (connected) => {
          kafka = connected;
          await once(signal, "abort");
        });
      } catch (thrown) {
        error = asError(thrown);
        await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  };
  return {
    read: async <Result>(ask: (kafka: Kafka) => Promise<Result>): Promise<Result> => {
      if (kafka === null) throw error;
      return await ask(kafka);
    },
    ended: connect(),
  };
}

/** Rejects after a time limit, because Kafka may become unreachable while a view is shown. */
export async function inTime<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
  limitMs = ANSWER_LIMIT_MS,
): Promise<Result> {
  using late = hearingLimit(limitMs, signal);
  const ended = late.signal;
  work.catch(() => undefined);
  const { promise, reject } = Promise.withResolvers<never>();
  const end = () => reject(ended.reason);
  ended.addEventListener("abort", end);
  try {
    ended.throwIfAborted();
    return await Promise.race([work, promise]);
  } finally {
    ended.removeEventListener("abort", end);
  }
}
