/** Calls that flow all the time, for as many users as make both partitions busy. */

import { type Product, SOURCE } from "./product.ts";

const EVERY_MS = 100;
const USERS = 40;

export interface Traffic extends AsyncDisposable {
  /** Calls that Kafka has acknowledged until then. */
  readonly acknowledged: (untilMs: number) => number;
  /** Message ids of the calls that were acknowledged in this time. */
  readonly written: (fromMs: number, untilMs: number) => readonly string[];
}

/** A call every 100 ms. Through an outage they wait. */
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
