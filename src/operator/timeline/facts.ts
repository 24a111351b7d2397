/**
 * Reads and routes a record of `calls` in the same way as the route stage, and adds the sentences that `explain`
 * shows.
 */

import type { Config } from "../../config/config.ts";
import { callKey } from "../../domain/call.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { TopicNames } from "../../domain/topics.ts";
import { messageIdOf } from "../../router/route/delivery-records.ts";
import { explained, readCall, routeCall } from "../../router/route/route-record.ts";
import { createRouting } from "../../router/route/routing.ts";
import type { CommandSchemas } from "../connect/command-schemas.ts";
import { NAMED_BY, reasonText } from "./explanation-text.ts";
import type { CallFacts } from "./find-records.ts";

type RoutingConfig = Pick<Config, "sources" | "defaultSource" | "destinations">;

/** Extends `factsOf` to calls whose values have a schema. */
export function factsWith(
  schemas: Pick<CommandSchemas, "of" | "given">,
  factsOf: (record: IncomingRecord) => CallFacts,
): (record: IncomingRecord) => CallFacts | Promise<CallFacts> {
  return (record) => {
    if (schemas.of(record) === null) return factsOf(record);
    return schemas
      .given(record)
      .then((given) =>
        typeof given === "string"
          ? { kind: "unusable", reason: "schema not known", error: given }
          : factsOf(given),
      );
  };
}

/** Uses the current configuration, although the call may have been routed by an earlier one. */
export function factsBy(
  { sources, defaultSource, destinations }: RoutingConfig,
  topics: TopicNames,
  nowMs: number,
): (record: IncomingRecord) => CallFacts {
  const routing = createRouting(sources, defaultSource, destinations, topics);
  return (record) => {
    const read = readCall(record, routing.lookup, nowMs);
    if (read.kind === "refused") {
      return { kind: "unusable", reason: read.reason, error: read.error };
    }
    const { call, source, namedBy, times } = read;
    const routed = routeCall(record, read, routing);
    const decisions = explained(call, routed, destinations);
    const keys = routed.records.flatMap(({ key }) => (key === null ? [] : `${key}`));
    return {
      kind: "call",
      messageId: messageIdOf(call, record),
      type: call.type,
      event: call.event,
      source: source.id,
      namedBy: NAMED_BY[namedBy],
      receivedAtMs: times.receivedAtMs,
      keys: [...new Set([callKey(call), ...keys])],
      userIds: [call.userId, call.type === "alias" ? call.previousId : null].filter(
        (userId) => userId !== null,
      ),
      destinations: decisions
        .filter(({ reason }) => reason !== "not-connected")
        .map(({ destination, gets, ...why }) => ({
          destination: destination.id,
          gets,
          why: reasonText(why, destination.name, source.id),
        })),
    };
  };
}
