/** The work of `bench deliver`: calls of 1 KB and the webhook bodies that they become. */

import { benchCall } from "./route-work.ts";

export const BENCH_SECRET = "bench-secret";

/** Webhook bodies, not yet serialised: the ceiling has no JSON to parse, only to write. */
export function webhookPayloads(count: number): readonly object[] {
  return Array.from({ length: count }, (_, number) => {
    const call = JSON.parse(benchCall(number, "all").value) as Record<string, unknown>;
    const { type, userId, event, properties, timestamp } = call;
    return { version: 1, type, userId, event, properties, timestamp };
  });
}
