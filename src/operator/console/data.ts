/**
 * Handles queries to which the console gets one response instead of a stream. At most four queries run at a time,
 * because reading from Kafka is expensive.
 *
 *   name            result
 *   dead-letters    the dead letters that match the filters
 *   audiences       all audiences
 *   configuration   the file, with secrets hidden
 *   call            the timeline of a call, by its message ID
 *   calls           the latest calls, or those of the user with the given hash
 *   attempts        the latest attempts of a destination
 */

import { createHmac } from "node:crypto";

import type { CallQuery, ConsoleReader, DeadLettersQuery } from "./ports.ts";
import type { DataName } from "./routes.ts";

/** Maximum number of concurrent reads of Kafka. */
const CONCURRENT_MAX = 4;
const HASH_DIGITS = 32;

export interface DataDeps {
  readonly reader: ConsoleReader;
  /** The configured token; null if there is none. */
  readonly token: string | null;
}

/** Creates the handlers of queries. They return null if too many other reads are in progress. */
export function createData({ reader, token }: DataDeps) {
  let inProgress = 0;
  const read = (name: DataName, query: URLSearchParams, signal: AbortSignal): Promise<object> => {
    switch (name) {
      case "dead-letters":
        return reader.deadLetters(deadLettersQuery(query), signal);
      case "audiences":
        return reader.audiences(signal);
      case "configuration":
        return reader.configuration();
      case "call":
        return reader.call(callQuery(query), signal);
      case "calls": {
        const wanted = query.get("user");
        const isOf = (userId: string) => userHash(userId, token) === wanted;
        const isUser = wanted === null ? null : isOf;
        return reader.latestCalls({ isUser, sinceMs: sinceOf(query) }, signal);
      }
      case "attempts":
        return reader.attempts(query.get("destination") ?? "", signal);
    }
  };
  return {
    /** @param signal aborts when no request is waiting for the result any more. */
    read: async (name: DataName, query: URLSearchParams, signal: AbortSignal) => {
      if (inProgress >= CONCURRENT_MAX) return null;
      inProgress += 1;
      try {
        return await read(name, query, signal);
      } finally {
        inProgress -= 1;
      }
    },
  };
}

/** The time ranges that the console offers. Any other value counts as `1d`. */
const SINCE = {
  "1h": 3_600_000,
  "1d": 86_400_000,
  "7d": 7 * 86_400_000,
  "30d": 30 * 86_400_000,
} as const;

function callQuery(query: URLSearchParams): CallQuery {
  return { messageId: query.get("id") ?? "", sinceMs: sinceOf(query) };
}

function sinceOf(query: URLSearchParams): number {
  const since = query.get("since") ?? "";
  const known = Object.entries(SINCE).find(([name]) => name === since);
  return known?.[1] ?? SINCE["1d"];
}

const STATES: ReadonlyMap<string, boolean> = new Map([
  ["not replayed", false],
  ["replayed", true],
]);

export function deadLettersQuery(query: URLSearchParams): DeadLettersQuery {
  return {
    destination: query.get("destination") || null,
    reason: query.get("reason") || null,
    isReplayed: STATES.get(query.get("state") ?? "") ?? null,
    sinceMs: sinceOf(query),
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
