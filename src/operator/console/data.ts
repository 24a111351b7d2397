/**
 * Reads the filters of queries from their addresses, and answers the queries. At most four run at a time, because reading
 * from Kafka is expensive. `query-view.ts` has the queries.
 */

import { createHmac } from "node:crypto";

import type { ConsoleReader, Query } from "./ports.ts";
import { type QueryName, readSince } from "./query-view.ts";

/** Maximum number of concurrent reads of Kafka. */
const CONCURRENT_MAX = 4;
const HASH_DIGITS = 32;

/**
 * Returns a function that resolves with null if too many other reads are in progress.
 *
 * @param token the configured token; null if there is none.
 */
export function createData(reader: ConsoleReader, token: string | null) {
  let inProgress = 0;
  /** @param signal aborts when no request is waiting for the result any more. */
  return async (
    name: QueryName,
    parameters: URLSearchParams,
    signal: AbortSignal,
  ): Promise<object | null> => {
    if (name === "configuration") return reader.configuration();
    if (inProgress >= CONCURRENT_MAX) return null;
    inProgress += 1;
    try {
      return await reader.read(name, queryOf(parameters, token), signal);
    } finally {
      inProgress -= 1;
    }
  };
}

const STATES: ReadonlyMap<string | null, boolean> = new Map([
  ["not replayed", false],
  ["replayed", true],
]);

export function queryOf(parameters: URLSearchParams, token: string | null): Query {
  const user = parameters.get("user");
  return {
    destination: parameters.get("destination") || null,
    reason: parameters.get("reason") || null,
    isReplayed: STATES.get(parameters.get("state")) ?? null,
    messageId: parameters.get("id") ?? "",
    isUser: user === null ? null : (userId) => userHash(userId, token) === user,
    sinceMs: readSince(parameters.get("since")),
  };
}

/**
 * Returns the hash that replaces a user ID in addresses, because browsers and proxies log addresses. The hash depends
 * on the token, so that nobody without the token can find the ID by trying IDs.
 *
 * @param token null if the console is open only to this machine.
 */
export function userHash(userId: string, token: string | null): string {
  const hmac = createHmac("sha256", `switchyard user ${token ?? ""}`);
  return hmac.update(userId).digest("hex").slice(0, HASH_DIGITS);
}
