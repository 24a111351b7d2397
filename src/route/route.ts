/**
 * Which destinations get a call, and why (docs/how-it-works.md#routing). The first line that fits decides. What a
 * destination's rules say comes between (`rules/plan.ts`): consent before `integrations`, filters after them.
 *
 *   the destination                              gets the call     reason
 *   is not one of the source's                   no                not-connected
 *   is disabled                                  no                disabled
 *   asks for consent that the call lacks         no                no-consent
 *   has a name that `integrations` set true      yes               named-true
 *   has a name that they set false               no                named-false
 *   is not named, and All is false               no                all-false
 *   else                                         yes               by-default
 *
 * A flag can therefore never reach a destination that the source is not connected to, or that is
 * disabled.
 */

import type { Destination, Source } from "../domain/destination.ts";
import type { JsonObject } from "../domain/json.ts";
import { type FlagVerdict, flagVerdict, namedAlone } from "./integrations.ts";
import type { RuleSkip } from "./rules/plan.ts";

export type Reason = "not-connected" | "disabled" | FlagVerdict | RuleSkip | "rule-failed";

/** Destinations that get no call of a source, whatever its flags, by the reason. */
export interface Skipped {
  readonly notConnected: readonly Destination[];
  readonly disabled: readonly Destination[];
}

export interface Decision {
  readonly destination: Destination;
  readonly gets: boolean;
  readonly reason: Reason;
}

/** One decision for each of `destinations`, in their order. */
export function decide(
  integrations: JsonObject | null,
  source: Source,
  destinations: readonly Destination[],
): readonly Decision[] {
  return destinations.map((destination) => {
    const reason = whyNever(source, destination) ?? flagVerdict(integrations, destination.name);
    return { destination, gets: isYes(reason), reason };
  });
}

/** Those of the source's destinations that its calls go to unless their flags say otherwise. */
export function candidates(
  source: Source,
  destinations: readonly Destination[],
): readonly Destination[] {
  return destinations.filter((destination) => whyNever(source, destination) === null);
}

export function skipped(source: Source, destinations: readonly Destination[]): Skipped {
  const because = (reason: ReturnType<typeof whyNever>) =>
    destinations.filter((destination) => whyNever(source, destination) === reason);
  return { notConnected: because("not-connected"), disabled: because("disabled") };
}

/**
 * Those of `candidates` that get a call with these flags. The stage's way: no reasons made. Of
 * disabled ones: those that would get it, if they were enabled.
 */
export function receivers<Candidate extends { readonly name: string }>(
  integrations: JsonObject | null,
  all: readonly Candidate[],
): readonly Candidate[] {
  if (integrations === null || all.length === 0) return all;
  return all.filter(({ name }) => isYes(flagVerdict(integrations, name)));
}

/** `receivers` for many calls: of a thousand candidates a call names a few. */
export class Candidates<Candidate extends { readonly name: string }> {
  readonly all: readonly Candidate[];
  /** In `all`. Names repeat. */
  readonly #placesOf: ReadonlyMap<string, readonly number[]>;

  constructor(all: readonly Candidate[]) {
    this.all = all;
    this.#placesOf = Map.groupBy(all.keys(), (place) => all[place]?.name ?? "");
  }

  /** In the order of `all`. */
  receivers(integrations: JsonObject | null): readonly Candidate[] {
    if (integrations === null || !namedAlone(integrations))
      return receivers(integrations, this.all);
    return Object.keys(integrations)
      .flatMap((name) => (isYes(flagVerdict(integrations, name)) ? this.#placesNamed(name) : []))
      .sort((one, other) => one - other)
      .flatMap((place) => this.all[place] ?? []);
  }

  named(name: string): readonly Candidate[] {
    return this.#placesNamed(name).flatMap((place) => this.all[place] ?? []);
  }

  #placesNamed(name: string): readonly number[] {
    return this.#placesOf.get(name) ?? [];
  }
}

function whyNever(source: Source, destination: Destination): "not-connected" | "disabled" | null {
  if (!source.destinations.includes(destination.id)) return "not-connected";
  return destination.enabled ? null : "disabled";
}

export function isYes(reason: Reason): boolean {
  return reason === "by-default" || reason === "named-true";
}
