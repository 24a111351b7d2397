/**
 * The producer of a command. A send waits until an outage ends; if the topic was deleted, it waits until the topic
 * exists again. The command prints a message when a send is waiting, and Ctrl-C ends the command.
 *
 *   a send                                         then
 *   has not been acknowledged for 10 s             a message is printed, once
 *   has had no permission for its topic for 2 s    throws, because waiting does not help. With `giveBack`, the
 *                                                  records are returned instead
 *   is in flight when the signal aborts            may take 5 s more; then it throws
 *
 * A permission that was just granted takes about a second to reach all brokers, which is why a missing one is not an
 * error immediately.
 */

import { type Clock, systemClock } from "../../base/runtime/clock.ts";
import {
  type BlockedTopic,
  ClosedError,
  type Producer,
  type WatchedProducer,
} from "../../kafka/port.ts";
import type { Shell } from "./shell.ts";

const QUIET_MS = 10_000;
const INTERRUPT_LIMIT_MS = 5_000;
const LOOK_EVERY_MS = 500;

/**
 * Its message is printed for operators. The class does not set `name`, because the stack of an error with a name other
 * than `Error` would also be printed.
 */
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
      `Kafka has not acknowledged the records for ${QUIET_MS / 1_000} s; still trying. ` +
        "Check that the brokers are up and that the topic exists, or press Ctrl-C to stop.\n",
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
      // The producer may also report topics to which only an earlier send wrote.
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
          "interrupted: the records in flight may or may not have been written to Kafka",
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

/** The error for a principal that has no permission to write to a topic. */
export function forbiddenText(topic: string, error: string): string {
  return `${topic} cannot be written: ${error}`;
}
