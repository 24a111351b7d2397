/**
 * Which sources a deletion request affects, and who is told for each.
 *
 *   sourceIds            affected
 *   none                 every source
 *   all of them known    these
 *   some of them known   the known ones; the others are logged
 *   none of them known   unknown-source
 *
 *   a destination of an affected source      is told
 *   a webhook that is enabled                once for each affected source that it is one of
 *   a webhook that is disabled               not
 *   a topic                                  not: nobody posts what is on it
 *
 * `integrations` are for calls. A source without anybody to tell is affected all the same.
 */

import type { Destination, Source } from "../domain/destination.ts";
import type { DestinationId, SourceId } from "../domain/ids.ts";
import { describe } from "../domain/json.ts";
import type { TopicNames } from "../domain/topics.ts";
import type { Refusal } from "./request.ts";

/** A webhook destination that is told of deletions. */
export interface Listener {
  readonly destination: DestinationId;
  readonly topic: string;
  /** False: it is told the time of receipt in place of the request's. */
  readonly historical: boolean;
}

export interface AffectedSource {
  readonly source: SourceId;
  readonly listeners: readonly Listener[];
}

/** All configured sources by their ids, in their order. */
export type ListenersBySource = ReadonlyMap<string, AffectedSource>;

export type Affected =
  | {
      readonly kind: "affected";
      readonly sources: readonly AffectedSource[];
      /** Ids that no configured source has. */
      readonly unknown: readonly string[];
    }
  | Refusal;

/** Looks everything up once, not for every request. */
export function listenersBySource(
  sources: readonly Source[],
  destinations: readonly Destination[],
  topics: Pick<TopicNames, "deliveries">,
): ListenersBySource {
  const notified = destinations.filter((each) => each.getsDeletions && each.enabled);
  return new Map(
    sources.map((source) => {
      const own = notified.filter(({ id }) => source.destinations.includes(id));
      const listeners = own.map(({ id, historical }) => {
        return { destination: id, topic: topics.deliveries(id), historical };
      });
      return [source.id, { source: source.id, listeners }];
    }),
  );
}

/** A destination that no affected source tells, and why. */
export interface NotNotified {
  readonly destination: DestinationId;
  readonly because: "disabled" | `type ${string}` | "no affected source names it";
}

export function notNotified(
  all: readonly AffectedSource[],
  destinations: readonly Destination[],
): readonly NotNotified[] {
  const notified = new Set(
    all.flatMap(({ listeners }) => listeners.map(({ destination }) => destination)),
  );
  return destinations
    .filter(({ id }) => !notified.has(id))
    .map(({ id, kind, enabled, getsDeletions }): NotNotified => {
      if (!getsDeletions) return { destination: id, because: `type ${kind}` };
      const because = enabled ? "no affected source names it" : "disabled";
      return { destination: id, because };
    });
}

/** @param sourceIds of a request; null: every source. */
export function affected(sourceIds: readonly string[] | null, all: ListenersBySource): Affected {
  if (sourceIds === null) return { kind: "affected", sources: [...all.values()], unknown: [] };
  const sources = sourceIds.flatMap((id) => all.get(id) ?? []);
  const unknown = sourceIds.filter((id) => !all.has(id));
  if (sources.length > 0) return { kind: "affected", sources, unknown };
  const [first] = unknown;
  const error =
    unknown.length === 1
      ? `sourceIds names ${describe(first)}, which is no configured source`
      : `sourceIds names ${unknown.length} ids, none of a configured source; the first is ${describe(first)}`;
  return { kind: "refused", reason: "unknown-source", error };
}
