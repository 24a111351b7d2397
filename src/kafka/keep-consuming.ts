/**
 * A consumer that is started again when it crashes (SPEC section 11).
 *
 *   it crashed after                 it is started again after
 *   less than a minute               1 s, then 2 s, 4 s, ... at most 60 s
 *   a minute or more                 1 s
 */

import type { Clock } from "../runtime/clock.ts";
import type { ConsumeOptions, Consumer, Kafka, PartitionProgress } from "./port.ts";

const WAIT_MIN_MS = 1_000;
const WAIT_MAX_MS = 60_000;

export interface KeptConsumer extends Consumer {
  /** Stops the consumer that runs now and starts another one, as after a crash. */
  fail(error: Error): void;
  /** Why there is no consumer at the moment; null while there is one. */
  trouble(): string | null;
}

/** @param onRestart called after each crash, with the time until the next start. */
export function keepConsuming(
  kafka: Kafka,
  options: Omit<ConsumeOptions, "onCrash">,
  clock: Clock,
  onRestart: (error: Error, waitMs: number) => void,
): KeptConsumer {
  const stopped = new AbortController();
  const joined = Promise.withResolvers<void>();
  let consumer: Consumer | null = null;
  let ending: Promise<void> = Promise.resolve();
  let startedAtMs = 0;
  let waitMs = WAIT_MIN_MS;
  /** Of consumers that have ended. */
  const before = { rebalances: 0, offsetResets: 0 };
  let trouble: string | null = null;

  function start(): void {
    startedAtMs = clock.nowMs();
    trouble = null;
    const own = kafka.consume({ ...options, onCrash: (error) => crashed(own, error) });
    consumer = own;
    // A consumer that ends before it has joined says so here; its crash is what counts.
    own.joined.then(joined.resolve, () => undefined);
  }

  function crashed(own: Consumer | null, error: Error): void {
    if (own === null || own !== consumer || stopped.signal.aborted) return;
    consumer = null;
    before.rebalances += own.rebalances();
    before.offsetResets += own.offsetResets();
    if (clock.nowMs() - startedAtMs >= WAIT_MAX_MS) waitMs = WAIT_MIN_MS;
    const thisWaitMs = waitMs;
    waitMs = Math.min(2 * waitMs, WAIT_MAX_MS);
    trouble = error.message;
    onRestart(error, thisWaitMs);
    ending = own.stop().catch(() => undefined);
    ending.then(() => clock.sleep(thisWaitMs, stopped.signal)).then(start, () => undefined);
  }

  start();
  return {
    joined: joined.promise,
    fail: (error) => crashed(consumer, error),
    trouble: () => trouble,
    progress: (): readonly PartitionProgress[] => consumer?.progress() ?? [],
    rebalances: () => before.rebalances + (consumer?.rebalances() ?? 0),
    offsetResets: () => before.offsetResets + (consumer?.offsetResets() ?? 0),
    stop: async () => {
      stopped.abort();
      await ending;
      await consumer?.stop();
    },
  };
}
