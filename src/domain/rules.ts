/**
 * The validated rules of a destination (docs/rules.md). They decide which calls the destination gets, and which
 * parts of these calls. `src/router/rules/` applies them.
 */

import type { SourceId } from "./ids.ts";

export interface ConsentRule {
  /** The consent categories; at least one. */
  readonly categories: readonly string[];
  /** `all` if a call must grant consent to all of the categories; `any` if one category is enough. */
  readonly match: "all" | "any";
  /**
   * If `true`, a call without a consent object is skipped. Null if not set: the top-level `consent.required` then
   * applies.
   */
  readonly required: boolean | null;
}

/** Selects the calls to which a filter or a mapping entry applies. */
export interface RuleScope {
  /** Null for all sources. */
  readonly sources: readonly SourceId[] | null;
  /** A condition in the filter language; null for all calls. */
  readonly if: string | null;
}

/** Names of properties of the object at `path`; the path `""` is the call itself. */
export interface PropertyList {
  readonly path: string;
  readonly names: readonly string[];
}

export interface FilterRule extends RuleScope {
  readonly name: string;
  readonly enabled: boolean;
  readonly drop: boolean;
  /** Keeps this share of calls, from 0 to 1, selected by the value at a path. */
  readonly sample: { readonly share: number; readonly by: string } | null;
  readonly dropProperties: readonly PropertyList[];
  readonly allowProperties: readonly PropertyList[];
}

export interface Hashing {
  readonly algorithm: "sha256" | "hmac-sha256";
  readonly normalize: "none" | "trim" | "email";
  /** Secret; null if the algorithm needs none. */
  readonly secret: string | null;
}

export type MapAction =
  | { readonly action: "event"; readonly event: string; readonly to: string }
  | { readonly action: "move" | "copy"; readonly from: string; readonly to: string }
  /** `value` can be any JSON value. */
  | { readonly action: "set"; readonly path: string; readonly value: unknown }
  | { readonly action: "string"; readonly path: string }
  | { readonly action: "remove"; readonly path: string }
  | ({ readonly action: "hash"; readonly path: string } & Hashing);

export type MapRule = MapAction & RuleScope;

export interface DestinationRules {
  /** Null if no consent is required. */
  readonly consent: ConsentRule | null;
  readonly filters: readonly FilterRule[];
  readonly map: readonly MapRule[];
}

export function hasRules({ consent, filters, map }: Partial<DestinationRules>): boolean {
  return Boolean(consent) || (filters?.length ?? 0) + (map?.length ?? 0) > 0;
}
