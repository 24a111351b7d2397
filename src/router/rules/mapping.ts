/**
 * Applies the mapping of a destination (docs/rules.md#mapping). The order of entries has no effect: the steps of this
 * table follow each other, and no two entries of a configuration write to the same path.
 *
 *   entry              reads     does                                                  does nothing if
 *   event, to          event     replaces the event                                    a track has another event
 *   copy, to           a path    also writes the value to the other path               the value is absent
 *   set, value                   writes the value
 *   remove                       removes the value                                     the value is absent
 *   hash               a path    replaces the value with its digest (`hashing.ts`)     the value is absent
 *   string             a path    replaces numbers and booleans with their JSON text    the value is absent
 *   move, to           a path    removes the value, and writes it to the other path    the value is absent
 *
 *   step
 *   1  the first three entries read the call, as it was before the mapping
 *   2  remove, then hash with hmac-sha256, then with sha256, then string. In a call, different paths can lead to the
 *      same place (`path.ts`): there, the first of these entries applies, and the others do nothing
 *   3  move reads what the second step left
 *   4  everything that was read is written. If two entries write to the same place, the one whose path is exactly
 *      that place wins
 *   5  the second step, without remove, for places that have a new value
 *
 *   the parent of a written value      result
 *   is an object                       the value replaces an existing one, or is added last
 *   is absent                          the parent is created
 *   is anything else                   the entry does nothing
 *
 * If there is a list on the path of a `string`, `hash` or `remove` entry, the entry applies to each object in the
 * list. New keys are added at the end, in the order of their paths.
 */

import type { MapAction, MapRule } from "../../domain/rules.ts";
import { type Condition, holders } from "./filters.ts";
import { hashed } from "./hashing.ts";
import { JsonValue } from "./json-value.ts";
import {
  type CallShape,
  comparePaths,
  parsePath,
  pathOf,
  placesOf,
  type RulePath,
} from "./path.ts";

export interface CompiledEntry {
  readonly matches: Condition;
  readonly action: MapAction;
  /** `from` is the path that is read, or null if none is; `to` is the path that is written. */
  readonly from: RulePath | null;
  readonly to: RulePath;
  /** The JSON that `set` writes. */
  readonly json: string;
}

export function compiledEntry(rule: MapRule, matches: Condition): CompiledEntry {
  const { from, to } = pathsOf(rule);
  const json = rule.action === "set" ? JSON.stringify(rule.value) : "null";
  return { matches, action: rule, from, to, json };
}

export function pathsOf(action: MapAction): Pick<CompiledEntry, "from" | "to"> {
  switch (action.action) {
    case "event":
      return { from: ["event"], to: ["event"] };
    case "move":
    case "copy":
      return { from: parsePath(action.from) ?? [], to: parsePath(action.to) ?? [] };
    case "set":
    case "string":
    case "hash":
    case "remove":
      return { from: null, to: parsePath(action.path) ?? [] };
  }
}

/** Returns the entries in the order in which they apply to a place that several of them change. */
export function inOrder(entries: readonly CompiledEntry[]): readonly CompiledEntry[] {
  return entries.toSorted((a, b) => rank(a) - rank(b) || comparePaths(a.to, b.to));
}

function rank({ action }: CompiledEntry): number {
  const isKeyed = action.action === "hash" && action.algorithm === "hmac-sha256";
  return isKeyed ? 1 : ["remove", "", "hash", "string"].indexOf(action.action);
}

interface Put {
  readonly path: RulePath;
  readonly json: string;
  readonly isNamed: boolean;
}

/** The names of members that were replaced, by the object that has them. */
type Replaced = Map<JsonValue, Set<string>>;

/** @param entries as `inOrder` returns them. @param changed if present, the paths of changed values are added to it. */
export function mapped(
  root: JsonValue,
  entries: readonly CompiledEntry[],
  shape: CallShape,
  changed: Set<string> | null,
): void {
  const puts: Put[] = [];
  for (const entry of entries) read(entry, root, shape, puts);
  for (const { action, to } of entries) {
    if (action.action !== "remove") continue;
    for (const path of placesOf(to, shape, true)) {
      for (const holder of holders(root, path)) take(holder, path, changed);
    }
  }
  const replaced: Replaced = new Map();
  replace(root, entries, shape, replaced, changed);
  const moved: { readonly holder: JsonValue; readonly path: RulePath }[] = [];
  for (const { action, from, to } of entries) {
    if (action.action === "move") moved.push(...readMoved(from ?? [], to, root, shape, puts));
  }
  for (const { holder, path } of moved) take(holder, path, changed);
  if (puts.length === 0) return;
  puts.sort((a, b) => comparePaths(a.path, b.path) || Number(a.isNamed) - Number(b.isNamed));
  for (const { path, json } of puts)
    if (put(root, path, json, replaced)) changed?.add(pathOf(path));
  replace(root, entries, shape, replaced, changed);
}

function take(holder: JsonValue, path: RulePath, changed: Set<string> | null): void {
  if (holder.delete(path.at(-1) ?? "")) changed?.add(pathOf(path));
}

function read(
  { action, from, to, json }: CompiledEntry,
  root: JsonValue,
  shape: CallShape,
  puts: Put[],
): void {
  if (action.action === "event") {
    if (root.get("event")?.string() !== action.event) return;
    puts.push({ path: to, json: JSON.stringify(action.to), isNamed: true });
  } else if (action.action === "set") {
    for (const path of putAt(to, shape)) puts.push({ path, json, isNamed: path === to });
  } else if (action.action === "copy") {
    const places = placesOf(from ?? [], shape, false);
    const value = places.map((path) => at(root, path)).find((found) => found !== undefined);
    if (value !== undefined) readInto(value, to, root, shape, puts);
  }
}

function replace(
  root: JsonValue,
  entries: readonly CompiledEntry[],
  shape: CallShape,
  replaced: Replaced,
  changed: Set<string> | null,
): void {
  for (const { action, to } of entries) {
    if (action.action !== "hash" && action.action !== "string") continue;
    for (const path of placesOf(to, shape, false)) {
      const name = path.at(-1) ?? "";
      for (const holder of holders(root, path)) {
        const value = holder.get(name);
        const names = replaced.get(holder) ?? new Set();
        if (value === undefined || names.has(name)) continue;
        replaced.set(holder, names.add(name));
        const json = action.action === "hash" ? hashed(value, action) : stringOf(value);
        if (json === null || json === value.text()) continue;
        holder.set(name, JsonValue.of(json));
        changed?.add(pathOf(path));
      }
    }
  }
}

/** Returns the places that a move empties; none if the value cannot be written to its new path. */
function readMoved(
  from: RulePath,
  to: RulePath,
  root: JsonValue,
  shape: CallShape,
  puts: Put[],
): readonly { readonly holder: JsonValue; readonly path: RulePath }[] {
  const places = placesOf(from, shape, true);
  const value = places.map((path) => at(root, path)).find((found) => found !== undefined);
  if (value === undefined || !readInto(value, to, root, shape, puts)) return [];
  return places.flatMap((path) => {
    const holder = at(root, path.slice(0, -1));
    if (holder?.isObject !== true || holder.get(path.at(-1) ?? "") === undefined) return [];
    openAlong(root, path);
    return [{ holder, path }];
  });
}

function readInto(
  value: JsonValue,
  to: RulePath,
  root: JsonValue,
  shape: CallShape,
  puts: Put[],
): boolean {
  const targets = putAt(to, shape).filter((path) => canPut(root, path));
  if (targets.length === 0) return false;
  const json = value.text();
  for (const path of targets) puts.push({ path, json, isNamed: path === to });
  return true;
}

/** The properties of a page call can be in two objects. A value is written to only one of these objects. */
function putAt(path: RulePath, shape: CallShape): readonly RulePath[] {
  return placesOf(path, shape, false).slice(0, 1);
}

function stringOf(value: JsonValue): string | null {
  const token = value.token();
  return token === null ? null : `"${token}"`;
}

function at(root: JsonValue, path: RulePath): JsonValue | undefined {
  let value: JsonValue | undefined = root;
  for (const name of path) value = value?.get(name);
  return value;
}

function openAlong(root: JsonValue, path: RulePath): void {
  for (const [length, name] of path.entries()) at(root, path.slice(0, length))?.touch(name);
}

/** Returns true if all parents on the path that exist are objects. */
function canPut(root: JsonValue, path: RulePath): boolean {
  return path.slice(0, -1).every((_, length) => {
    const parent = at(root, path.slice(0, length + 1));
    return parent === undefined || parent.isObject;
  });
}

function put(root: JsonValue, path: RulePath, json: string, replaced: Replaced): boolean {
  if (!canPut(root, path)) return false;
  openAlong(root, path);
  let parent = root;
  for (const name of path.slice(0, -1)) {
    let child = parent.get(name);
    if (child === undefined) {
      child = JsonValue.of("{}");
      parent.set(name, child);
    }
    parent = child;
  }
  const name = path.at(-1) ?? "";
  if (parent.get(name)?.text() === json) return false;
  parent.set(name, JsonValue.of(json));
  replaced.get(parent)?.delete(name);
  return true;
}
