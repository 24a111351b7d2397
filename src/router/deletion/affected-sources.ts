/**
 * Decides which sources a deletion request affects, and which destinations are notified for each of them.
 *
 *   sourceIds            affected sources
 *   absent               all
 *   all are known        these sources
 *   some are known       the known ones; the others are logged
 *   none is known        none: the request is dead-lettered with the reason unknown-source
 *
 *   a destination of an affected source      is notified
 *   an enabled webhook                       once per affected source
 *   a disabled webhook                       no
 *   a topic                                  no: Switchyard sends no requests for it
 *   one whose rules remove every user ID     no: it has no data with the user ID (docs/rules.md#deletions)
 *
 * `integrations` apply only to calls. A source counts as affected even if none of its destinations is notified.
 */

import { type Destination, passedHeaders, type Source } from "../../domain/destination.ts";
import type { DestinationId, SourceId } from "../../domain/ids.ts";
import { describe } from "../../domain/json.ts";
import { hasRules } from "../../domain/rules.ts";
import type { TopicNames } from "../../domain/topics.ts";
import { compileRules } from "../rules/plan.ts";
import type { Refusal } from "./request.ts";

/** Applies a destination's rules to the user ID of a notification; null if the destination gets no notification. */
type NotifiedUserId = (userId: string) => string | null;

/** A webhook destination that is notified of deletions. */
export interface Listener {
  readonly destination: DestinationId;
  readonly topic: string;
  /** If false, notifications contain the time at which the request was received, instead of the request's own time. */
  readonly historical: boolean;
  /** The producer's headers that the destination gets; null for all. */
  readonly passed: ReadonlySet<string> | null;
  /** Null if the user ID is sent unchanged. */
  readonly notifiedUserId: NotifiedUserId | null;
}

export interface AffectedSource {
  readonly source: SourceId;
  readonly listeners: readonly Listener[];
}

/** All configured sources by ID, in the order of the configuration. */
export type ListenersBySource = ReadonlyMap<string, AffectedSource>;

export type Affected =
  | {
      readonly kind: "affected";
      readonly sources: readonly AffectedSource[];
      /** IDs that no configured source has. */
      readonly unknown: readonly string[];
    }
  | Refusal;

/** Returns the listeners of each source. Computed once per configuration instead of once per request. */
export function listenersBySource(
  sources: readonly Source[],
  destinations: readonly Destination[],
  topics: Pick<TopicNames, "deliveries">,
): ListenersBySource {
  const rules = deletionRules(destinations);
  const notified = destinations.filter((each) => each.getsDeletions && each.enabled);
  return new Map(
    sources.map((source) => {
      const connected = new Set<string>(source.destinations);
      const own = notified.filter(({ id }) => connected.has(id));
      const listeners = own.map((each) => {
        const { id, historical } = each;
        const rule = rules.get(id);
        const notifiedUserId = rule && ((userId: string) => rule(source.id, userId));
        const topic = topics.deliveries(id);
        const passed = passedHeaders(each);
        return {
          destination: id,
          topic,
          historical,
          passed,
          notifiedUserId: notifiedUserId ?? null,
        };
      });
      return [source.id, { source: source.id, listeners }];
    }),
  );
}

function deletionRules(destinations: readonly Destination[]) {
  const ruled = destinations.filter(hasRules);
  return new Map(
    ruled.map((each) => [each.id, compileRules(each.id, each, []).deletedUserId] as const),
  );
}

/** A destination that is not notified, and the reason. */
export interface NotNotified {
  readonly destination: DestinationId;
  readonly reason:
    | "disabled"
    | `type ${string}`
    | "no affected source is connected to it"
    | "its rules remove the user ID";
}

/**
 * Divides listeners into those that get a notification for a user and those that do not, because their rules remove the
 * user ID.
 */
export function listenersFor(
  { listeners }: AffectedSource,
  userId: string,
): {
  readonly notified: readonly { readonly listener: Listener; readonly userId: string }[];
  readonly without: readonly Listener[];
} {
  const notified = [];
  const without = [];
  for (const listener of listeners) {
    const { notifiedUserId } = listener;
    const mapped = notifiedUserId === null ? userId : notifiedUserId(userId);
    if (mapped === null) without.push(listener);
    else notified.push({ listener, userId: mapped });
  }
  return { notified, without };
}

export function notNotified(
  all: readonly AffectedSource[],
  destinations: readonly Destination[],
  userId: string,
): readonly NotNotified[] {
  const found = all.map((source) => listenersFor(source, userId));
  const notified = new Set(
    found.flatMap(({ notified: those }) => those.map(({ listener }) => listener.destination)),
  );
  const without = new Set(
    found.flatMap(({ without: those }) => those.map(({ destination }) => destination)),
  );
  return destinations
    .filter(({ id }) => !notified.has(id))
    .map(({ id, kind, enabled, getsDeletions }): NotNotified => {
      if (!getsDeletions) return { destination: id, reason: `type ${kind}` };
      if (without.has(id)) return { destination: id, reason: "its rules remove the user ID" };
      const reason = enabled ? "no affected source is connected to it" : "disabled";
      return { destination: id, reason };
    });
}

/** @param sourceIds null if the request is for every source. */
export function affected(sourceIds: readonly string[] | null, all: ListenersBySource): Affected {
  if (sourceIds === null) return { kind: "affected", sources: [...all.values()], unknown: [] };
  const sources = sourceIds.flatMap((id) => all.get(id) ?? []);
  const unknown = sourceIds.filter((id) => !all.has(id));
  if (sources.length > 0) return { kind: "affected", sources, unknown };
  const [first] = unknown;
  const error =
    unknown.length === 1
      ? `sourceIds contains ${describe(first)}, which is not a configured source`
      : `none of the ${unknown.length} sourceIds is a configured source; the first is ${describe(first)}`;
  return { kind: "refused", reason: "unknown-source", error };
}
