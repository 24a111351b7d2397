/** Prepares the configuration for routing, so that nothing is looked up or compiled per call. */

import { DELIVERY_HEADER } from "../../domain/delivery.ts";
import {
  type Destination,
  isAttempted,
  passedHeaders,
  type Source,
} from "../../domain/destination.ts";
import type { DestinationId, SourceId } from "../../domain/ids.ts";
import type { RecordHeaders } from "../../domain/record.ts";
import { hasRules } from "../../domain/rules.ts";
import { type SourceLookup, sourceLookup } from "../../domain/source-of.ts";
import type { TopicNames } from "../../domain/topics.ts";
import { compileRules, type RuleActions, type RulePlan } from "../rules/plan.ts";
import { Candidates, candidates, type Skipped, skipped } from "./route.ts";

/** A destination that may get calls from a source. */
export interface Route {
  readonly destination: DestinationId;
  readonly name: string;
  readonly topic: string;
  readonly historical: boolean;
  /** False for a topic destination. */
  readonly isAttempted: boolean;
  /** Null if the destination has no rule for calls from the source. */
  readonly rules: RulePlan | null;
  /** Headers that only this destination's records have. */
  readonly headers: RecordHeaders;
  /** The producer's headers that the destination gets; null for all. */
  readonly passed: ReadonlySet<string> | null;
}

/** What can be decided about the calls from a source before they arrive. All calls from the source share one object. */
export interface SourceRoutes extends Skipped {
  readonly source: Source;
  readonly sourceHeader: RecordHeaders[number];
  /** The destinations that are connected and enabled. */
  readonly candidates: Candidates<Route>;
  /** The candidates that require consent, perhaps none. Null if none of the candidates has any rules. */
  readonly consenting: readonly Route[] | null;
}

export interface Routing {
  readonly lookup: SourceLookup;
  readonly bySource: ReadonlyMap<SourceId, SourceRoutes>;
}

export function createRouting(
  sources: readonly Source[],
  defaultSource: SourceId | null,
  destinations: readonly Destination[],
  topics: Pick<TopicNames, "deliveries">,
): Routing {
  const compiled = compiledRules(sources, destinations);
  const bySource = sources.map((source): [SourceId, SourceRoutes] => {
    const all = candidates(source, destinations).map((destination) => {
      return route(destination, topics, compiled.get(destination.id)?.forSource(source.id) ?? null);
    });
    return [source.id, sourceRoutes(source, all, destinations)];
  });
  return { lookup: sourceLookup(sources, defaultSource), bySource: new Map(bySource) };
}

/** @param routes the routes to the destinations that are connected to the source and enabled. */
export function sourceRoutes(
  source: Source,
  routes: readonly Route[],
  destinations: readonly Destination[],
): SourceRoutes {
  const ruled = routes.filter(({ rules }) => rules !== null);
  const consenting = ruled.filter(({ rules }) => rules?.consent !== null);
  return {
    source,
    sourceHeader: [DELIVERY_HEADER.source, Buffer.from(source.id)],
    candidates: new Candidates(routes),
    consenting: ruled.length === 0 ? null : consenting,
    ...skipped(source, destinations),
  };
}

function compiledRules(sources: readonly Source[], destinations: readonly Destination[]) {
  const writeKeys = sources.flatMap((source) => source.writeKeys);
  const shared = new Map<string, RuleActions>();
  return new Map(
    destinations
      .filter(hasRules)
      .map((each) => [each.id, compileRules(each.id, each, writeKeys, shared)]),
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
    isAttempted: isAttempted(destination),
    rules,
    passed: passedHeaders(destination),
    headers: [[DELIVERY_HEADER.destination, Buffer.from(id)]],
  };
}
