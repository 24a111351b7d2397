/**
 * Applies the rules of a destination to a call (docs/rules.md#order). The rules are compiled once per configuration,
 * into a separate plan for each source. The first row that applies decides.
 *
 *   the call                                        result
 *   does not have the consent (`consent.ts`)        skipped: no-consent; decided before `integrations`
 *   is not in the share of a sample                 skipped: sampled-out
 *   matches a filter that drops                     skipped: filtered
 *   contains nothing that filters or mapping change unchanged: the same bytes
 *   any other                                       changed: new bytes, and the key of its record
 *   a rule throws                                   failed: the call is never sent
 *
 *   a changed call                                  key
 *   has a user ID                                   that ID
 *   its user ID was removed                         a keyed hash of it (`hashing.ts`), so that a user's calls keep their order
 *   never had a user ID, and has an anonymous ID    that ID
 *   its anonymous ID was removed                    a keyed hash of it
 *
 * Conditions are evaluated on the call as it was received. The mapping reads the call after filters have changed it.
 *
 * Many destinations often have the same rules. Those with equal filters and mapping share the result for a call, so
 * that the call is evaluated and rewritten once for all of them.
 */

import { type Call, callKey } from "../../domain/call.ts";
import { exactNumber } from "../../domain/exact-ids.ts";
import type { MessageId, SourceId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { ConsentRule, DestinationRules, RuleScope } from "../../domain/rules.ts";
import { hasConsent } from "./consent.ts";
import {
  type CompiledFilter,
  type Condition,
  compiledCondition,
  compiledFilter,
  skippedBy,
  withoutProperties,
} from "./filters.ts";
import { droppedKeySecret, keyOfDropped } from "./hashing.ts";
import { JsonValue } from "./json-value.ts";
import { type CompiledEntry, compiledEntry, inOrder, mapped } from "./mapping.ts";
import { placesOf, type RulePath, shapeOf } from "./path.ts";
import { matchesDeletes } from "./type-exclusion.ts";

/** The rules for the calls of one source. */
export interface RulePlan {
  readonly consent: ConsentRule | null;
  readonly actions: RuleActions;
  readonly keySecret: Buffer;
}

/** Filters and mapping. Plans with equal ones have the same object if they were compiled with the same `shared`. */
export interface RuleActions {
  readonly filters: readonly CompiledFilter[];
  readonly map: readonly CompiledEntry[];
}

export interface CompiledRules {
  /** Null if no rule applies to the source. */
  readonly forSource: (source: SourceId) => RulePlan | null;
  /**
   * Applies the rules that change delete notifications (`type-exclusion.ts`) to the user ID of one. Returns null if
   * no notification is to be sent.
   */
  readonly deletedUserId: (source: SourceId, userId: string) => string | null;
}

export type RuleSkip = "no-consent" | "sampled-out" | "filtered";

export type RuleOutcome =
  | { readonly kind: "skipped"; readonly reason: RuleSkip; readonly filter: string | null }
  | { readonly kind: "unchanged" }
  | {
      readonly kind: "changed";
      readonly bytes: Buffer;
      readonly key: string;
      /** The paths that were changed, without values. Empty unless the caller requested the paths. */
      readonly changed: readonly string[];
    }
  | { readonly kind: "failed"; readonly error: string };

/** The parts of a call that rules use. */
export interface RuleCall {
  readonly call: Call;
  /**
   * The result of JSON.parse, except that IDs which were sent as numbers may be strings of their digits
   * (`exact-ids.ts`).
   */
  readonly json: JsonObject;
  readonly bytes: Buffer;
  readonly messageId: MessageId;
  /** The call's JSON as a value that is never changed. Each destination changes a copy of its own. */
  readonly value: () => JsonValue;
  /** The results so far. */
  readonly results: Map<RuleActions, ActionsResult>;
}

/** The part of an outcome that is the same for all destinations with these actions. */
export type ActionsResult =
  | Exclude<RuleOutcome, { readonly kind: "changed" | "failed" }>
  | {
      readonly kind: "changed";
      readonly bytes: Buffer;
      /** Null if the key is a keyed hash, which is different for each destination. */
      readonly key: string | null;
      readonly changed: readonly string[];
    };

const UNCHANGED = { kind: "unchanged" } as const;

/**
 * @param destination the ID of the destination.
 * @param secrets secrets in the configuration that receivers do not have.
 * @param shared the actions of the destinations that were compiled before; new ones are added.
 */
export function compileRules(
  destination: string,
  { consent = null, filters = [], map = [] }: Partial<DestinationRules>,
  secrets: readonly string[],
  shared = new Map<string, RuleActions>(),
): CompiledRules {
  const enabled = filters.filter((rule) => rule.enabled);
  const own = map.flatMap((rule) => (rule.action === "hash" ? (rule.secret ?? []) : []));
  const keySecret = droppedKeySecret(destination, [...secrets, ...own]);
  const forSource = (source: SourceId, isForDeletes = false): RulePlan | null => {
    const isFor = ({ sources, if: condition }: RuleScope) =>
      (sources === null || sources.includes(source)) &&
      (!isForDeletes || matchesDeletes(condition));
    const rules = { filters: enabled.filter(isFor), map: map.filter(isFor) };
    if (consent === null && rules.filters.length + rules.map.length === 0) return null;
    const text = JSON.stringify(rules);
    const actions = shared.get(text) ?? compiledActions(rules);
    shared.set(text, actions);
    return { consent, actions, keySecret };
  };
  const deletedUserId = (source: SourceId, userId: string) =>
    deleted(forSource(source, true), userId);
  return { forSource: (source) => forSource(source), deletedUserId };
}

function compiledActions({ filters, map }: Omit<DestinationRules, "consent">): RuleActions {
  return {
    filters: filters.map((rule) => compiledFilter(rule, compiledCondition(rule.if))),
    map: inOrder(map.map((rule) => compiledEntry(rule, compiledCondition(rule.if)))),
  };
}

function deleted(plan: RulePlan | null, userId: string): string | null {
  if (plan === null) return userId;
  const root = JsonValue.of(JSON.stringify({ userId }));
  withoutProperties(root, plan.actions.filters, NO_CALL, null);
  mapped(root, plan.actions.map, NO_CALL, null);
  return idOf(root.get("userId"));
}

const NO_CALL = { traitsAreInContext: false, isIdentify: false, isPage: false };

/** True if the call has the consent that the destination requires. */
export function consents({ consent }: RulePlan, { call }: Pick<RuleCall, "call">): boolean {
  return consent === null || hasConsent(consent, call.context);
}

/**
 * Applies filters and mapping to a call that has consent. Never throws. @param explains if true, the outcome lists
 * the paths that were changed.
 */
export function applyRules(
  { actions, keySecret }: RulePlan,
  given: RuleCall,
  explains: boolean,
): RuleOutcome {
  try {
    const result = given.results.get(actions) ?? applied(actions, given, explains);
    given.results.set(actions, result);
    if (result.kind !== "changed") return result;
    return { ...result, key: result.key ?? keyOfDropped(callKey(given.call), keySecret) };
  } catch (error) {
    // Only the name of the error is kept, because its message may quote the call.
    const name = error instanceof Error ? error.name : "an error";
    return { kind: "failed", error: `a rule could not be evaluated (${name})` };
  }
}

function applied({ filters, map }: RuleActions, given: RuleCall, explains: boolean): ActionsResult {
  const matches = <Rule extends { readonly matches: Condition }>(rules: readonly Rule[]) =>
    rules.filter((rule) => rule.matches === null || rule.matches(given));
  const matching = matches(filters);
  const skipped = skippedBy(matching, given.messageId, (path) => compactAt(given, path));
  if (skipped !== null) return { kind: "skipped", ...skipped };
  const entries = matches(map);
  const isRewritten = matching.some(({ dropped, allowed }) => dropped.length + allowed.length > 0);
  if (!isRewritten && entries.length === 0) return UNCHANGED;
  const root = given.value().copy();
  const shape = shapeOf(given.call.type, given.json);
  const changed = explains ? new Set<string>() : null;
  withoutProperties(root, matching, shape, changed);
  mapped(root, entries, shape, changed);
  if (!root.isChanged()) return UNCHANGED;
  const key = keyOf(given.call, root);
  return { kind: "changed", bytes: root.toBytes(), key, changed: [...(changed ?? [])] };
}

/** Null if the ID that would be the key was removed. */
function keyOf(call: Call, root: JsonValue): string | null {
  const userId = idOf(root.get("userId"));
  return userId ?? (call.userId === null ? idOf(root.get("anonymousId")) : null);
}

/** The ID, parsed in the same way as the fields of a call (`parse-call.ts`); null if there is no ID. */
function idOf(value: JsonValue | undefined): string | null {
  const text = value?.string() ?? null;
  if (text !== null) return text === "" ? null : text;
  const token = value?.token() ?? "";
  return /^[-\d]/.test(token) ? `${exactNumber(token)}` : null;
}

/** Null if the value is absent or null. */
function compactAt({ call, json, value: root }: RuleCall, path: RulePath): string | null {
  const places = placesOf(path, shapeOf(call.type, json), false);
  for (const place of places) {
    let value: JsonValue | undefined = root().copy();
    for (const name of place) value = value?.get(name);
    if (value !== undefined && !value.isNull) return value.compact();
  }
  return null;
}
