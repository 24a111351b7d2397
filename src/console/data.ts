/**
 * Answers to things that a page asks for once. Reading Kafka is dear, so that few read at a time.
 *
 *   name            sent            told
 *   dead-letters    -               those that pass the filters
 *   audiences       -               all of them
 *   configuration   -               the file, secrets hidden
 *   call            -               a call's way, by its message id
 *   calls           -               the latest calls of a user, by the hash of the id
 *   attempts        -               the latest attempts of a destination
 *   user            a user id       its hash, for the address
 *   changes         a file          what a reload of it would change
 */

import { callQuery, deadLettersQuery, sinceOf } from "./dead-letters-query.ts";
import type { ConsoleReader } from "./ports.ts";
import type { DataName, SentName } from "./routes.ts";
import { userHash } from "./user-hash.ts";

/** Reads of Kafka at the same time. */
const AT_ONCE = 4;
/** Of the body that is sent. */
export const SENT_MAX_BYTES: Readonly<Record<SentName, number>> = {
  user: 4_096,
  changes: 4 * 1_048_576,
};

export interface DataDeps {
  readonly reader: ConsoleReader;
  /** Of the configuration; null: none. */
  readonly token: string | null;
}

/** Null: others read just now. */
export function createData({ reader, token }: DataDeps) {
  let underWay = 0;
  const bounded = async (work: () => Promise<object>): Promise<object | null> => {
    if (underWay >= AT_ONCE) return null;
    underWay += 1;
    try {
      return await work();
    } finally {
      underWay -= 1;
    }
  };
  const told = (name: DataName, query: URLSearchParams, signal: AbortSignal): Promise<object> => {
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
        const wanted = query.get("user") ?? "";
        const isWanted = (userId: string) => userHash(userId, token) === wanted;
        return reader.userCalls({ isWanted, sinceMs: sinceOf(query) }, signal);
      }
      case "attempts":
        return reader.attempts(query.get("destination") ?? "", signal);
    }
  };
  return {
    /** @param signal ends reading, when nobody waits for it any more. */
    told: (name: DataName, query: URLSearchParams, signal: AbortSignal) =>
      bounded(() => told(name, query, signal)),
    sent: (name: SentName, body: Buffer) =>
      name === "user"
        ? Promise.resolve({ hash: userHash(body.toString(), token) })
        : bounded(() => reader.changes(body)),
  };
}
