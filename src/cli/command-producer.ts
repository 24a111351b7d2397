/**
 * The producer of a command. A send waits through outages. It waits for ever for a topic that was
 * deleted. People are told, and Ctrl-C ends it.
 *
 *   a send                                         then
 *   is not acknowledged for a while                says so, once
 *   is under way when the signal aborts            has a little longer; then it throws
 */

import { ClosedError, type Producer } from "../kafka/port.ts";
import { type Clock, systemClock } from "../runtime/clock.ts";
import type { Shell } from "./shell.ts";

const QUIET_MS = 10_000;
const INTERRUPT_LIMIT_MS = 5_000;

/** For people, so it has no name of its own: that would show its stack. */
export class InterruptedError extends Error {}

/** @param signal aborts at Ctrl-C. */
export function commandProducer(
  kafka: { producer(): Producer },
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
        "Are the brokers there, the topic, and the right to write it? Ctrl-C gives up.\n",
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
      try {
        return await producer.send(records, options);
      } catch (cause) {
        if (!(signal.aborted && cause instanceof ClosedError)) throw cause;
        throw new InterruptedError(
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
