/**
 * The producer of a command. A send waits through outages. It waits for ever for a topic that was
 * deleted. People are told, and Ctrl-C ends it.
 *
 *   a send                                         then
 *   is not acknowledged for a while                says so, once
 *   has no right to its topic, for 2 s or longer   throws: waiting mends nothing. With `giveBack` its
 *                                                  records come back
 *   is under way when the signal aborts            has a little longer; then it throws
 *
 * Rights that were just granted take a moment to reach all brokers.
 */

import {
  type BlockedTopic,
  ClosedError,
  type Producer,
  type WatchedProducer,
} from "../../kafka/port.ts";
import { type Clock, systemClock } from "../../runtime/clock.ts";
import type { Shell } from "./shell.ts";

const QUIET_MS = 10_000;
const INTERRUPT_LIMIT_MS = 5_000;
const LOOK_EVERY_MS = 500;

/** For people, so it has no name of its own: that would show its stack. */
export class NotWrittenError extends Error {}

/** @param signal aborts at Ctrl-C. */
export function commandProducer(
  kafka: { producer(): WatchedProducer },
  shell: Pick<Shell, "err">,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Producer {
  const producer = kafka.producer();
  let hasExplained = false;
  const explain = () => {
    if (hasExplained) return;
    hasExplained = true;
    shell.err(
      `Kafka has not acknowledged what was written for ${QUIET_MS / 1_000} s; still trying. ` +
        "Are the brokers there, and the topic? Ctrl-C gives up.\n",
    );
  };
  return {
    send: async (records, options) => {
      const ended = new AbortController();
      const after = (ms: number, act: () => unknown) => {
        clock.sleep(ms, ended.signal).then(act, () => undefined);
      };
      const onAbort = () => after(INTERRUPT_LIMIT_MS, () => producer.close(0));
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
      after(QUIET_MS, explain);
      // An earlier send may have been about others.
      const topics = new Set(records.map(({ topic }) => topic));
      let forbidden: BlockedTopic | null = null;
      const look = () => {
        const isOurs = ({ topic, by }: BlockedTopic) => by === "forbidden" && topics.has(topic);
        forbidden = producer.blocked().find(isOurs) ?? null;
        if (forbidden === null) return after(LOOK_EVERY_MS, look);
        return producer.close(0);
      };
      if (options?.giveBack !== true) after(LOOK_EVERY_MS, look);
      try {
        return await producer.send(records, options);
      } catch (cause) {
        if (!(cause instanceof ClosedError)) throw cause;
        if (forbidden !== null) {
          const { topic, error } = forbidden;
          throw new NotWrittenError(forbiddenText(topic, error), { cause });
        }
        if (!signal.aborted) throw cause;
        throw new NotWrittenError(
          "interrupted: what was being written may or may not be in Kafka",
          { cause },
        );
      } finally {
        signal.removeEventListener("abort", onAbort);
        ended.abort();
      }
    },
    close: (limitMs) => producer.close(limitMs),
  };
}

/** For people whose log-in may not write a topic. */
export function forbiddenText(topic: string, error: string): string {
  return `${topic} cannot be written: ${error}`;
}
