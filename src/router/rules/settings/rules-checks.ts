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
 *   a field would never be what `FIELDS` require      rejected: the call would be invalid
 *   an entry with `if` changes userId                 a warning, unless the condition matches delete notifications
 *   two entries meet at one place of a call,          a warning, unless they do the same
 *     although their paths differ (`path.ts`)
 */

import { INVALID, type Invalid, type Place } from "../../../base/settings/config-path.ts";
import type { CallType } from "../../../domain/call.ts";
import { isJsonObject } from "../../../domain/json.ts";
import type { FilterRule, MapRule, RuleScope } from "../../../domain/rules.ts";
import { pathsOf } from "../mapping.ts";
import { FIELDS, overlaps, pathOf, placesOf, type RulePath } from "../path.ts";
import { excludesType, matchesDeletes } from "../type-exclusion.ts";

const KEPT: readonly string[] = ["type", "messageId", "timestamp"];
const NEEDED: readonly (readonly [field: string, type: CallType])[] = [
  ["userId", "alias"],
  ["previousId", "alias"],
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
      at.child("name").fail(found, "a name that no other filter has");
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
      list.fail(name, `anything but ${KEPT.join(", ")}`);
      isValid = false;
    } else if (!checkTaken([name], filter, list)) isValid = false;
  }
  if (filter.allowProperties.some(({ path }) => path === "")) {
    const found = "an allow list of the top level";
    at.child("allowProperties").child("").fail(found, "the path of an object in the call");
    isValid = false;
  }
  return isValid;
}

export function checkMap(map: readonly MapRule[], place: Place): readonly MapRule[] | Invalid {
  let isValid = true;
  const written: Written[] = [];
  for (const [index, rule] of map.entries()) {
    const at = place.child(index);
    const paths = writtenBy(rule);
    const taken = takenBy(rule);
    if (taken !== null && !checkTaken(taken, rule, at)) isValid = false;
    if (taken === null && paths.some(isUserId)) warnOfUserId(rule, at);
    const found = misfitOf(rule);
    if (found !== null) {
      at.fail(found, "a rule that keeps calls valid");
      isValid = false;
    }
    for (const path of paths) {
      if (!isFree(path, rule, written, index, at)) isValid = false;
      for (const other of isValid ? written : []) warnOfMeeting(path, rule, other, at);
      written.push({ path, rule, index });
    }
  }
  return isValid ? map : INVALID;
}

interface Written {
  readonly path: RulePath;
  readonly rule: MapRule;
  readonly index: number;
}

const MUST_BE = {
  id: "a string or a number",
  string: "a string",
  object: "an object",
  time: "a time",
};

/** Returns what a rule would do to a field of every call that has it; null if calls stay valid. */
function misfitOf(rule: MapRule): string | null {
  const { from, to } = pathsOf(rule);
  const kindAt = (path: RulePath | null) =>
    path?.length === 1 ? FIELDS.get(path[0] ?? "") : undefined;
  const [kind, source] = [kindAt(to), kindAt(from)];
  if (kind === undefined) return null;
  let result: string | null = rule.action === "hash" || rule.action === "string" ? "string" : null;
  if (source !== undefined) result = source === "object" ? source : "string";
  if (rule.action === "set" && rule.value !== null) {
    result = isJsonObject(rule.value)
      ? "object"
      : Array.isArray(rule.value)
        ? "list"
        : typeof rule.value;
  }
  if (rule.action === "set" && rule.value === null && kind === "object") result = "null";
  const isFit = result === null || result === (kind === "object" ? kind : "string");
  if (isFit || kind === "time" || (kind === "id" && result === "number")) return null;
  return `${rule.action} writes ${pathOf(to)}, which must be ${MUST_BE[kind]}`;
}

const SHAPES = [
  ["identify", { traitsAreInContext: true, isIdentify: true, isPage: false }],
  ["page", { traitsAreInContext: false, isIdentify: false, isPage: true }],
] as const;

function warnOfMeeting(path: RulePath, rule: MapRule, other: Written, at: Place): void {
  const what = ({ sources: _, if: __, ...action }: MapRule) =>
    JSON.stringify({ ...action, path: null });
  if (what(rule) === what(other.rule)) return;
  for (const [type, shape] of SHAPES) {
    if ([rule, other.rule].some(({ if: text }) => text !== null && excludesType(text, type)))
      continue;
    const others = placesOf(other.path, shape, false);
    const isShared = (each: RulePath) => others.some((to) => overlaps(each, to));
    const place = placesOf(path, shape, false).find(isShared);
    if (place === undefined) continue;
    const met = `entry [${other.index}] at ${pathOf(place)}`;
    at.warn(
      `in ${type} calls, it can meet ${met}, where only one of them applies (docs/rules.md#mapping)`,
    );
  }
}

/** Reports a path that no rule may write, or that another entry writes too. */
function isFree(
  path: RulePath,
  rule: MapRule,
  written: readonly Written[],
  index: number,
  at: Place,
): boolean {
  if (KEPT.includes(path[0] ?? "")) {
    at.fail(`${rule.action} writes ${pathOf(path)}`, `a path that is not ${KEPT.join(", ")}`);
    return false;
  }
  const other = written.find((each) => overlaps(each.path, path) && !areEvents(each.rule, rule));
  if (other === undefined) return true;
  const by = other.index === index ? "itself" : `entry [${other.index}]`;
  const found = `it writes ${pathOf(path)}, and ${by} writes ${pathOf(other.path)}`;
  at.fail(found, "a path that no other entry writes");
  return false;
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
  if (isUserId(path)) warnOfUserId(rule, at);
  if (path.length > 1 || rule.sources !== null) return true;
  for (const [field, type] of NEEDED) {
    if (path[0] !== field || (rule.if !== null && excludesType(rule.if, type))) continue;
    const found = `${field} is removed, also from calls of type ${type}, which require it`;
    at.fail(found, `a condition that excludes type ${type}`, `add if: "type != '${type}'"`);
    return false;
  }
  return true;
}

function isUserId(path: RulePath): boolean {
  return path.length === 1 && path[0] === "userId";
}

function warnOfUserId(rule: RuleScope, at: Place): void {
  if (matchesDeletes(rule.if)) return;
  at.warn(
    "it changes userId only if its condition matches, but delete notifications contain the user ID: only " +
      "rules without `if`, or whose condition reads only the type and matches `delete`, change it in them",
  );
}
