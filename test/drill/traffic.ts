/** Sends calls continuously, for enough users that both partitions are used. */

import { type Product, SOURCE } from "./product.ts";

const EVERY_MS = 100;
const USERS = 40;

export interface Traffic extends AsyncDisposable {
  /** The number of calls that Kafka has acknowledged by that time. */
  readonly acknowledged: (untilMs: number) => number;
  /** Message IDs of the calls that were acknowledged in this period. */
  readonly written: (fromMs: number, untilMs: number) => readonly string[];
}

/** Starts to send a call every 100 ms. During an outage, calls wait. */
export function startTraffic({ kafka, topics }: Product): Traffic {
  const producer = kafka.producer();
  const acknowledged: { readonly messageId: string; readonly atMs: number }[] = [];
  let number = 0;
  const publish = () => {
    number += 1;
    const userId = `user-${number % USERS}`;
    const messageId = `drill-${number}`;
    const call = { type: "track", event: "Drilled", messageId, userId };
    const record = {
      topic: topics.calls,
      key: Buffer.from(userId),
      value: Buffer.from(JSON.stringify({ ...call, properties: { number } })),
      headers: [["source-id", Buffer.from(SOURCE)] as const],
    };
    producer.send([record]).then(
      () => acknowledged.push({ messageId, atMs: Date.now() }),
      () => undefined,
    );
  };
  const timer = setInterval(publish, EVERY_MS);
  return {
    acknowledged: (untilMs) => acknowledged.filter(({ atMs }) => atMs <= untilMs).length,
    written: (fromMs, untilMs) =>
      acknowledged
        .filter(({ atMs }) => atMs >= fromMs && atMs <= untilMs)
        .map(({ messageId }) => messageId),
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      await producer.close(3_000);
    },
  };
}
