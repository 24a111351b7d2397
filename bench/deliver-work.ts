/** The work of `bench deliver`: calls of 1 KB and the webhook bodies that they become. */

import { benchCall } from "./route-work.ts";

export const BENCH_SECRET = "bench-secret";

/** The body as SPEC section 7 wants it for a track call. */
export function webhookBody(number: number): string {
  const { type, userId, event, properties, timestamp } = JSON.parse(
    benchCall(number, "all").value,
  ) as Record<string, unknown>;
  return JSON.stringify({ version: 1, type, userId, event, properties, timestamp });
}
