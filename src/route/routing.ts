/** The configuration made ready for routing: looked up once, not for every call. */

import { DELIVERY_HEADER } from "../domain/delivery.ts";
import type { Destination, Source } from "../domain/destination.ts";
import type { DestinationId, SourceId } from "../domain/ids.ts";
import type { RecordHeaders } from "../domain/record.ts";
import { type SourceLookup, sourceLookup } from "../domain/source-of.ts";
import type { TopicNames } from "../domain/topics.ts";
import { Candidates, candidates, type Skipped, skipped } from "./route.ts";
import { compileRules, hasRules, type RulePlan } from "./rules/plan.ts";

/** A destination that calls of a source may go to. */
export interface Route {
  readonly destination: DestinationId;
  readonly name: string;
  readonly topic: string;
  readonly historical: boolean;
  /** Null: the calls of the source go to it as they are. */
  readonly rules: RulePlan | null;
  /** The headers that only this destination's copies have. */
  readonly headers: RecordHeaders;
}

export interface Routing {
  readonly lookup: SourceLookup;
  /** For each source its destinations that are connected and enabled. */
  readonly routes: ReadonlyMap<SourceId, Candidates<Route>>;
  /** Sources of which a destination has rules. */
  readonly ruled: ReadonlySet<SourceId>;
  /** For each source the destinations that get none of its calls. */
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
  const ruled = routes.filter(([, { all }]) => all.some(({ rules }) => rules !== null));
  return {
    lookup,
    routes: new Map(routes),
    ruled: new Set(ruled.map(([id]) => id)),
    skipped: new Map(skippedOf),
  };
}

/** Of those destinations that have rules. */
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
