/**
 * Reads the latest calls, either of all users or of one user. Only the hash of that user's ID is known. Reading ends
 * after 10 s, and returns the calls found by then, which are the latest ones.
 */

import { decodeValue } from "../../../domain/decode.ts";
import { isJsonObject } from "../../../domain/json.ts";
import type { IncomingRecord } from "../../../domain/record.ts";
import { configuredTopics } from "../../connect/connection.ts";
import { factsBy } from "../../timeline/facts.ts";
import type { Query } from "../ports.ts";
import type { CallsView, LatestCall } from "../query-view.ts";
import type { QuerySource } from "./query-source.ts";
import { readLatest } from "./read-latest.ts";

const LIMIT_MS = 10_000;
const OF_USER_MAX = 100;
const OF_ALL_MAX = 20;

export async function readLatestCalls(
  { kafka, config, openSchemas, signal }: QuerySource,
  { isUser, sinceMs }: Query,
): Promise<CallsView> {
  const topics = configuredTopics(config);
  const nowMs = Date.now();
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  await using schemas = await openSchemas(config.registry, limit);
  const factsOf = factsBy(config, topics, nowMs);
  const findRead = (record: IncomingRecord): Omit<LatestCall, "at"> | null => {
    if (isUser !== null && !idsOf(record).some(isUser)) return null;
    const facts = factsOf(record);
    if (facts.kind === "call") {
      const { messageId, type, event, source } = facts;
      return { messageId, type, event: config.console.showPayloads ? event : null, source };
    }
    const { topic, partition, offset } = record;
    const messageId = `${topic}/${partition}/${offset}`;
    return { messageId, type: `not a call (${facts.reason})`, event: null, source: "" };
  };
  const find = (record: IncomingRecord) => {
    if (schemas.of(record) === null) return findRead(record);
    // Without the schema, the user of a call cannot be determined.
    return schemas
      .given(record)
      .then((given) => (typeof given === "string" ? null : findRead(given)));
  };
  const {
    found,
    looked: scanned,
    isCut,
    ...reached
  } = await readLatest(
    { kafka, signal: limit, nowMs: () => Date.now() },
    {
      topic: topics.calls,
      sinceMs: nowMs - sinceMs,
      most: isUser === null ? OF_ALL_MAX : OF_USER_MAX,
      find,
    },
  );
  return {
    calls: found.map(({ atMs, value }) => ({ at: new Date(atMs).toISOString(), ...value })),
    scanned,
    since: new Date(reached.sinceMs).toISOString(),
    isCut,
  };
}

/** Returns the user ID and the anonymous ID, even of an invalid call. As in valid calls, numbers count as strings. */
function idsOf(record: IncomingRecord): readonly string[] {
  const decoded = decodeValue(record);
  if (decoded.kind === "refused" || !isJsonObject(decoded.json)) return [];
  const { userId, anonymousId } = decoded.json;
  return [userId, anonymousId].flatMap((id) =>
    typeof id === "string" || typeof id === "number" ? `${id}` : [],
  );
}
