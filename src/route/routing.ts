/** Prepares the configuration for routing, so that nothing is looked up or compiled per call. */

import { DELIVERY_HEADER } from "../domain/delivery.ts";
import type { Destination, Source } from "../domain/destination.ts";
import type { DestinationId, SourceId } from "../domain/ids.ts";
import type { RecordHeaders } from "../domain/record.ts";
import { type SourceLookup, sourceLookup } from "../domain/source-of.ts";
import type { TopicNames } from "../domain/topics.ts";
import { Candidates, candidates, type Skipped, skipped } from "./route.ts";
import { compileRules, hasRules, type RulePlan } from "./rules/plan.ts";

/** A destination that may get calls from a source. */
export interface Route {
  readonly destination: DestinationId;
  readonly name: string;
  readonly topic: string;
  readonly historical: boolean;
  /** Null if no rule applies to calls from the source. */
  readonly rules: RulePlan | null;
  /** Headers that only this destination's records have. */
  readonly headers: RecordHeaders;
}

export interface Routing {
  readonly lookup: SourceLookup;
  /** By source: the destinations that are connected and enabled. */
  readonly routes: ReadonlyMap<SourceId, Candidates<Route>>;
  /** By source, if some of its destinations have rules: the destinations that require consent, which may be none. */
  readonly ruled: ReadonlyMap<SourceId, readonly Route[]>;
  /** By source: the destinations that get none of its calls. */
  readonly skipped: ReadonlyMap<SourceId, Skipped>;
}

export function createRouting(
  sources: readonly Source[],
  defaultSource: SourceId | null,
  destinations: readonly Destination[],
  topics: Pick<TopicNames, "deliveries">,
): Routing {
  const compiled = compiledRules(sources, destinations);
  const routes = sources.map((source) => {
    const possible = candidates(source, destinations);
    const all = possible.map((destination) => {
      return route(destination, topics, compiled.get(destination.id)?.forSource(source.id) ?? null);
    });
    return [source.id, new Candidates(all)] as const;
  });
  const skippedOf = sources.map((source) => [source.id, skipped(source, destinations)] as const);
  const lookup = sourceLookup(sources, defaultSource);
  const ruled = routes.flatMap(([id, { all }]) => {
    if (all.every(({ rules }) => rules === null)) return [];
    return [[id, all.filter(({ rules }) => rules !== null && rules.consent !== null)] as const];
  });
  return {
    lookup,
    routes: new Map(routes),
    ruled: new Map(ruled),
    skipped: new Map(skippedOf),
  };
}

/** Compiled rules of the destinations that have any. */
function compiledRules(sources: readonly Source[], destinations: readonly Destination[]) {
  const writeKeys = sources.flatMap((source) => source.writeKeys);
  return new Map(
    destinations
      .filter(hasRules)
      .map((destination) => [destination.id, compileRules(destination.id, destination, writeKeys)]),
  );
}

function route(
  destination: Destination,
  topics: Pick<TopicNames, "deliveries">,
  rules: RulePlan | null,
): Route {
  const { id, name, historical } = destination;
  return {
    destination: id,
    name,
    topic: topics.deliveries(id),
    historical,
    rules,
    headers: [[DELIVERY_HEADER.destination, Buffer.from(id)]],
  };
}
