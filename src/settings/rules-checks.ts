/**
 * Checks the rules of a destination against each other (docs/rules.md).
 *
 *   rules                                             result
 *   two filters with the same name                    rejected
 *   type, messageId or timestamp is dropped, moved,   rejected
 *     overwritten or removed
 *   an allow list for the top level                   rejected
 *   two entries that write the same path, or one      rejected, even with different conditions, except `event` entries
 *     path inside another                             for different events
 *   userId of an alias, groupId of a group or event   rejected, unless the rule's condition excludes that type, or
 *     of a track is removed                           the rule names its sources
 *   an entry with `if` changes userId                 a warning, because delete notifications ignore conditions
 */

import type { CallType } from "../domain/call.ts";
import type { FilterRule, MapRule, RuleScope } from "../domain/rules.ts";
import { pathsOf } from "../route/rules/mapping.ts";
import { overlaps, pathOf, type RulePath } from "../route/rules/path.ts";
import { excludesType } from "../route/rules/type-exclusion.ts";
import { INVALID, type Invalid, type Place } from "./config-path.ts";

const KEPT: readonly string[] = ["type", "messageId", "timestamp"];
const NEEDED: readonly (readonly [field: string, type: CallType])[] = [
  ["userId", "alias"],
  ["groupId", "group"],
  ["event", "track"],
];

export function checkFilters(
  filters: readonly FilterRule[],
  place: Place,
): readonly FilterRule[] | Invalid {
  let isValid = true;
  const names = new Set<string>();
  for (const [index, filter] of filters.entries()) {
    const at = place.child(index);
    if (names.has(filter.name)) {
      const found = `${JSON.stringify(filter.name)} again`;
      at.child("name").fail({ found, expected: "a name that no other filter has", hint: null });
      isValid = false;
    }
    names.add(filter.name);
    if (!checkLists(filter, at)) isValid = false;
  }
  return isValid ? filters : INVALID;
}

function checkLists(filter: FilterRule, at: Place): boolean {
  let isValid = true;
  const top = filter.dropProperties.filter(({ path }) => path === "");
  for (const name of top.flatMap(({ names }) => names)) {
    const list = at.child("dropProperties").child("");
    if (KEPT.includes(name)) {
      list.fail({ found: name, expected: `anything but ${KEPT.join(", ")}`, hint: null });
      isValid = false;
    } else if (!checkTaken([name], filter, list)) isValid = false;
  }
  if (filter.allowProperties.some(({ path }) => path === "")) {
    const expected = "the path of an object in the call";
    const found = "an allow list of the top level";
    at.child("allowProperties").child("").fail({ found, expected, hint: null });
    isValid = false;
  }
  return isValid;
}

export function checkMap(map: readonly MapRule[], place: Place): readonly MapRule[] | Invalid {
  let isValid = true;
  const written: { readonly path: RulePath; readonly rule: MapRule; readonly index: number }[] = [];
  for (const [index, rule] of map.entries()) {
    const at = place.child(index);
    const paths = writtenBy(rule);
    const taken = takenBy(rule);
    if (taken !== null && !checkTaken(taken, rule, at)) isValid = false;
    if (rule.if !== null && taken === null && paths.some(isUserId)) warnOfUserId(at);
    for (const path of paths) {
      const problem = problemOf(path, rule, written, index);
      if (problem !== null) {
        at.fail(problem);
        isValid = false;
      }
      written.push({ path, rule, index });
    }
  }
  return isValid ? map : INVALID;
}

function problemOf(
  path: RulePath,
  rule: MapRule,
  written: readonly { readonly path: RulePath; readonly rule: MapRule; readonly index: number }[],
  index: number,
) {
  if (KEPT.includes(path[0] ?? "")) {
    const expected = `a path that is not ${KEPT.join(", ")}`;
    return { found: `${rule.action} writes ${pathOf(path)}`, expected, hint: null };
  }
  const other = written.find((each) => overlaps(each.path, path) && !areEvents(each.rule, rule));
  if (other === undefined) return null;
  const by = other.index === index ? "itself" : `entry [${other.index}]`;
  const found = `it writes ${pathOf(path)}, and ${by} writes ${pathOf(other.path)}`;
  return { found, expected: "a path that no other entry writes", hint: null };
}

function areEvents(one: MapRule, other: MapRule): boolean {
  return one.action === "event" && other.action === "event" && one.event !== other.event;
}

function writtenBy(rule: MapRule): readonly RulePath[] {
  const { from, to } = pathsOf(rule);
  return rule.action === "move" && from !== null ? [from, to] : [to];
}

/**
 * Returns the path that an entry removes; null if there is none. An entry that writes a value which counts as absent
 * also removes its path.
 */
function takenBy(rule: MapRule): RulePath | null {
  const { from, to } = pathsOf(rule);
  if (rule.action === "move") return from;
  if (rule.action === "remove") return to;
  return rule.action === "set" && (rule.value === null || rule.value === "") ? to : null;
}

function checkTaken(path: RulePath, rule: RuleScope, at: Place): boolean {
  if (rule.if !== null && isUserId(path)) warnOfUserId(at);
  if (path.length > 1 || rule.sources !== null) return true;
  for (const [field, type] of NEEDED) {
    if (path[0] !== field || (rule.if !== null && excludesType(rule.if, type))) continue;
    const found = `${field} is removed, also from calls of type ${type}, which require it`;
    const hint = `add if: "type != '${type}'"`;
    at.fail({ found, expected: `a condition that excludes type ${type}`, hint });
    return false;
  }
  return true;
}

function isUserId(path: RulePath): boolean {
  return path.length === 1 && path[0] === "userId";
}

function warnOfUserId(at: Place): void {
  at.warn(
    "it changes userId only if its condition matches, but conditions do not apply to delete " +
      "notifications: only entries without `if` change the user ID in them",
  );
}
