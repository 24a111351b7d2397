/**
 * Decides which destinations get a call, and why (docs/how-it-works.md#routing). The first row that applies decides.
 *
 *   the call, or the destination                   gets the call   reason
 *   the call's user is suppressed                  no              suppressed, for every destination that is
 *                                                                  connected and enabled (`route-record.ts`)
 *   is not connected to the source                 no              not-connected
 *   is disabled                                    no              disabled
 *   requires consent that the call does not have   no              no-consent (`rules/plan.ts`)
 *   has a name with the flag true                  yes             named-true
 *   has a name with the flag false                 no              named-false
 *   is not named, and All is false                 no              all-false
 *   any other                                      yes             by-default
 *
 * If the destination would get the call so far, the destination's filters are applied next. A flag in `integrations`
 * never sends a call to a destination that is disabled or not connected to the source.
 */

import type { Destination, Source } from "../../domain/destination.ts";
import { isJsonObject, type JsonObject } from "../../domain/json.ts";
import type { RuleSkip } from "../rules/plan.ts";

export type Reason =
  | "not-connected"
  | "disabled"
  | FlagVerdict
  | RuleSkip
  | "rule-failed"
  | "suppressed";

/** Destinations that get no calls from a source regardless of `integrations`, by reason. */
export interface Skipped {
  readonly notConnected: readonly Destination[];
  readonly disabled: readonly Destination[];
}

export interface RouteDecision {
  readonly destination: Destination;
  readonly gets: boolean;
  readonly reason: Reason;
}

/** Returns one decision for each of `destinations`, in the same order. */
export function decide(
  integrations: JsonObject | null,
  source: Source,
  destinations: readonly Destination[],
): readonly RouteDecision[] {
  const whyNever = whyNeverFrom(source);
  return destinations.map((destination) => {
    const reason = whyNever(destination) ?? flagVerdict(integrations, destination.name);
    return { destination, gets: isYes(reason), reason };
  });
}

/** Destinations that get the source's calls, unless the `integrations` of a call exclude them. */
export function candidates(
  source: Source,
  destinations: readonly Destination[],
): readonly Destination[] {
  const whyNever = whyNeverFrom(source);
  return destinations.filter((destination) => whyNever(destination) === null);
}

export function skipped(source: Source, destinations: readonly Destination[]): Skipped {
  const whyNever = whyNeverFrom(source);
  const because = (reason: ReturnType<typeof whyNever>) =>
    destinations.filter((destination) => whyNever(destination) === reason);
  return { notConnected: because("not-connected"), disabled: because("disabled") };
}

/**
 * Returns the candidates that get a call with these flags. Reasons are not computed, because the stage does not need
 * them. If the candidates are disabled destinations, returns those that would get the call if they were enabled.
 */
export function receivers<Candidate extends { readonly name: string }>(
  integrations: JsonObject | null,
  all: readonly Candidate[],
): readonly Candidate[] {
  if (integrations === null || all.length === 0) return all;
  return all.filter(({ name }) => isYes(flagVerdict(integrations, name)));
}

/** Finds the receivers of many calls quickly, because a call names only a few of perhaps a thousand candidates. */
export class Candidates<Candidate extends { readonly name: string }> {
  readonly all: readonly Candidate[];
  /** Indexes in `all` by name. Several destinations can have the same name. */
  readonly #placesOf: ReadonlyMap<string, readonly number[]>;

  constructor(all: readonly Candidate[]) {
    this.all = all;
    this.#placesOf = Map.groupBy(all.keys(), (place) => all[place]?.name ?? "");
  }

  /** The candidates that get the call, in the order of `all`. */
  receivers(integrations: JsonObject | null): readonly Candidate[] {
    if (integrations === null || !namedAlone(integrations))
      return receivers(integrations, this.all);
    return Object.keys(integrations)
      .flatMap((name) => (isYes(flagVerdict(integrations, name)) ? this.#placesNamed(name) : []))
      .sort((one, other) => one - other)
      .flatMap((place) => this.all[place] ?? []);
  }

  /** The candidates that `integrations` exclude by name. */
  namedFalse(integrations: JsonObject): readonly Candidate[] {
    const names = Object.keys(integrations).filter(
      (name) => flagVerdict(integrations, name) === "named-false",
    );
    return names.flatMap((name) => this.#placesNamed(name)).flatMap((at) => this.all[at] ?? []);
  }

  #placesNamed(name: string): readonly number[] {
    return this.#placesOf.get(name) ?? [];
  }
}

function whyNeverFrom(source: Source) {
  // A search of the list for each of 10,000 destinations would take seconds.
  const connected = new Set<string>(source.destinations);
  return ({ id, enabled }: Destination): "not-connected" | "disabled" | null => {
    if (!connected.has(id)) return "not-connected";
    return enabled ? null : "disabled";
  };
}

export function isYes(reason: Reason): boolean {
  return reason === "by-default" || reason === "named-true";
}

/**
 * Decides what a call's `integrations` mean for a destination with a given name (docs/calls.md#integrations).
 *
 *   flag of the name    flag of All         the destination
 *   true                any                 gets the call
 *   false               any                 does not get it
 *   absent              false               does not get it
 *   absent              true or absent      gets the call
 *
 *   value of a flag                         counts as
 *   true, false                             itself
 *   an object (options)                     true
 *   null, a number, a string, a list        absent
 *
 * `all`, which some Go clients send, counts as `All` if `All` is absent. Names are case-sensitive, and names without a
 * destination have no effect.
 */
type FlagVerdict = "by-default" | "named-true" | "named-false" | "all-false";

function flagVerdict(integrations: JsonObject | null, name: string): FlagVerdict {
  if (integrations === null) return "by-default";
  const named = flag(integrations, name);
  if (named !== null) return named ? "named-true" : "named-false";
  return namedAlone(integrations) ? "all-false" : "by-default";
}

/** True if the call goes only to destinations that `integrations` name. */
export function namedAlone(integrations: JsonObject): boolean {
  return (flag(integrations, "All") ?? flag(integrations, "all")) === false;
}

/** Null if the flag is absent. */
function flag(integrations: JsonObject, name: string): boolean | null {
  // Every object inherits a property `constructor`, and a destination may have that name.
  if (!Object.hasOwn(integrations, name)) return null;
  const value = integrations[name];
  if (typeof value === "boolean") return value;
  return isJsonObject(value) ? true : null;
}
