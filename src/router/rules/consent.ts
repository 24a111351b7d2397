/**
 * Decides whether a call has the consent that a destination requires (docs/rules.md#consent). The first row that applies decides.
 *
 *   context.consent.categoryPreferences       the call grants
 *   an object                                 the categories whose value is the literal `true`
 *   any other value except null; also if      nothing
 *     context.consent is not an object
 *
 *   absent or null, and of                    the call grants; with `resolutionStrategy: or`, one of the destination's
 *   context.consentManagement                 categories is enough
 *   it, or one of its two lists, has          nothing
 *     another shape
 *   there is a list deniedConsentIds          all categories that are not in the list
 *   there is only a list allowedConsentIds    the categories in the list
 *   it or both lists are absent or null       everything, unless consent is required
 *
 * A list contains only strings. Only own properties count, and categories are case-sensitive.
 */

import { isJsonObject, type JsonObject } from "../../domain/json.ts";
import type { ConsentRule } from "../../domain/rules.ts";
import { own } from "./path.ts";

export function hasConsent(
  { categories, match, required }: ConsentRule,
  context: JsonObject | null,
): boolean {
  const consent = context === null ? undefined : own(context, "consent");
  const preferences = isJsonObject(consent) ? own(consent, "categoryPreferences") : consent;
  if (preferences !== undefined && preferences !== null) {
    if (!isJsonObject(preferences)) return false;
    return allOrAny(categories, match, (category) => own(preferences, category) === true);
  }
  const management = (context === null ? null : own(context, "consentManagement")) ?? null;
  if (management === null) return required !== true;
  if (!isJsonObject(management)) return false;
  const denied = own(management, "deniedConsentIds") ?? null;
  const allowed = own(management, "allowedConsentIds") ?? null;
  if (![denied, allowed].every((ids) => ids === null || isTexts(ids))) return false;
  const strategy = own(management, "resolutionStrategy") === "or" ? "any" : "all";
  if (isTexts(denied)) return allOrAny(categories, strategy, (each) => !denied.includes(each));
  if (isTexts(allowed)) return allOrAny(categories, strategy, (each) => allowed.includes(each));
  return required !== true;
}

function isTexts(ids: unknown): ids is readonly string[] {
  return Array.isArray(ids) && ids.every((id) => typeof id === "string");
}

function allOrAny(
  categories: readonly string[],
  match: ConsentRule["match"],
  isGranted: (category: string) => boolean,
): boolean {
  return match === "all" ? categories.every(isGranted) : categories.some(isGranted);
}
