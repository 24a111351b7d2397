/**
 * Applies the mapping of a destination (docs/rules.md#mapping). The order of entries has no effect, because all
 * values are read before the first entry is applied, and because no two entries of a configuration write to the same
 * path.
 *
 *   entry              reads     does                                                  does nothing if
 *   event, to          event     replaces the event                                    a track has another event
 *   move, to           a path    removes the value, and writes it to the other path    the value is absent
 *   copy, to           a path    also writes the value to the other path               the value is absent
 *   set, value                   writes the value
 *   string             a path    replaces numbers and booleans with their JSON text    the value is absent
 *   hash               a path    replaces the value with its digest (`hashing.ts`)     the value is absent
 *   remove                       removes the value                                     the value is absent
 *
 *   the parent of a written value      result
 *   is an object                       the value replaces an existing one, or is added last
 *   is absent                          the parent is created
 *   is anything else                   the entry does nothing
 *
 * If there is a list on the path of a `string`, `hash` or `remove` entry, the entry applies to each object in the
 * list. Values are removed first. New keys are added at the end, in the order of their paths.
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

interface Edits {
  readonly taken: { readonly holder: JsonValue; readonly path: RulePath }[];
  readonly replaced: {
    readonly holder: JsonValue;
    readonly path: RulePath;
    readonly json: string;
  }[];
  /** Sorted by path before they are applied, because two rules can write to the same location with different paths. */
  readonly put: { readonly path: RulePath; readonly json: string; readonly isNamed: boolean }[];
}

/** @param changed if present, the paths of changed values are added to it. */
export function mapped(
  root: JsonValue,
  entries: readonly CompiledEntry[],
  shape: CallShape,
  changed: Set<string> | null,
): void {
  const edits: Edits = { taken: [], replaced: [], put: [] };
  for (const entry of entries) collect(entry, root, shape, edits);
  for (const { holder, path } of edits.taken) {
    if (holder.delete(path.at(-1) ?? "")) changed?.add(pathOf(path));
  }
  for (const { holder, path, json } of edits.replaced) {
    holder.set(path.at(-1) ?? "", JsonValue.of(json));
    changed?.add(pathOf(path));
  }
  // If two entries write to the same location in a call, the entry whose path is exactly that location wins.
  const inOrder = edits.put.toSorted(
    (a, b) => comparePaths(a.path, b.path) || Number(a.isNamed) - Number(b.isNamed),
  );
  for (const { path, json } of inOrder) if (put(root, path, json)) changed?.add(pathOf(path));
}

function collect(
  { action, from, to, json }: CompiledEntry,
  root: JsonValue,
  shape: CallShape,
  edits: Edits,
): void {
  switch (action.action) {
    case "event":
      if (root.get("event")?.string() !== action.event) return;
      edits.put.push({ path: to, json: JSON.stringify(action.to), isNamed: true });
      return;
    case "set":
      for (const path of putAt(to, shape)) edits.put.push({ path, json, isNamed: path === to });
      return;
    case "move":
    case "copy":
      collectCopy({ isMoved: action.action === "move", from: from ?? [], to }, root, shape, edits);
      return;
    case "remove":
      for (const path of placesOf(to, shape, true)) {
        for (const holder of holders(root, path)) edits.taken.push({ holder, path });
      }
      return;
    case "string":
    case "hash":
      collectReplaced(action, to, root, shape, edits);
  }
}

function collectReplaced(
  action: Extract<MapAction, { readonly action: "string" | "hash" }>,
  to: RulePath,
  root: JsonValue,
  shape: CallShape,
  edits: Edits,
): void {
  for (const path of placesOf(to, shape, false)) {
    for (const holder of holders(root, path)) {
      const value = holder.get(path.at(-1) ?? "");
      if (value === undefined) continue;
      const json = action.action === "hash" ? hashed(value, action) : stringOf(value);
      if (json !== null && json !== value.text()) edits.replaced.push({ holder, path, json });
    }
  }
}

function collectCopy(
  {
    isMoved,
    from,
    to,
  }: { readonly isMoved: boolean; readonly from: RulePath; readonly to: RulePath },
  root: JsonValue,
  shape: CallShape,
  edits: Edits,
): void {
  const places = placesOf(from, shape, isMoved);
  const value = places.map((path) => at(root, path)).find((found) => found !== undefined);
  if (value === undefined) return;
  const targets = putAt(to, shape).filter((path) => canPut(root, path));
  if (targets.length === 0) return;
  const json = value.text();
  for (const path of targets) edits.put.push({ path, json, isNamed: path === to });
  if (!isMoved) return;
  for (const path of places) {
    const holder = at(root, path.slice(0, -1));
    if (holder?.isObject !== true || holder.get(path.at(-1) ?? "") === undefined) continue;
    openAlong(root, path);
    edits.taken.push({ holder, path });
  }
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

function put(root: JsonValue, path: RulePath, json: string): boolean {
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
  return true;
}
