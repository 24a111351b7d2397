/**
 * Applies the filters of a destination. The actions of all matching filters are applied in the order of this table,
 * regardless of their order in the file (docs/rules.md#filters).
 *
 *   action            effect
 *   sample            skips the call if it is not in the share: sampled-out
 *   drop              skips the call: filtered
 *   dropProperties    removes the named properties from the object at a path, or from each object of a list on it
 *   allowProperties   removes all other properties; if two lists apply to one object, keeps what both contain
 */

import assert from "node:assert/strict";
import type { FilterRule } from "../../domain/rules.ts";
import { type CallValue, compileFilter } from "./fql/compile.ts";
import { isSampled, keptBelow } from "./hashing.ts";
import type { JsonValue } from "./json-value.ts";
import { type CallShape, parsePath, pathOf, placesOf, type RulePath } from "./path.ts";

export interface CompiledFilter {
  readonly name: string;
  readonly matches: Condition;
  readonly drop: boolean;
  readonly sample: { readonly below: bigint; readonly by: RulePath } | null;
  readonly dropped: readonly RulePath[];
  readonly allowed: readonly Names[];
}

interface Names {
  readonly path: RulePath;
  readonly names: readonly string[];
}

export function compiledFilter(
  { name, drop, sample, dropProperties, allowProperties }: FilterRule,
  matches: Condition,
): CompiledFilter {
  const listOf = ({
    path,
    names,
  }: {
    readonly path: string;
    readonly names: readonly string[];
  }) => {
    return { path: path === "" ? [] : (parsePath(path) ?? []), names };
  };
  return {
    name,
    matches,
    drop,
    sample:
      sample === null
        ? null
        : { below: keptBelow(sample.share), by: parsePath(sample.by) ?? ["messageId"] },
    dropped: dropProperties.flatMap((list) => {
      const { path, names } = listOf(list);
      return names.map((each) => [...path, each]);
    }),
    allowed: allowProperties.map(listOf),
  };
}

/**
 * Returns the first filter that skips the call; null if no filter does.
 * @param jsonAt returns the compact JSON at a path; null if the value is null or absent.
 */
export function skippedBy(
  matching: readonly CompiledFilter[],
  messageId: string,
  jsonAt: (path: RulePath) => string | null,
): { readonly reason: "sampled-out" | "filtered"; readonly filter: string } | null {
  for (const { sample, name } of matching) {
    if (sample === null) continue;
    const json = jsonAt(sample.by) ?? JSON.stringify(messageId);
    if (!isSampled(json, sample.below)) return { reason: "sampled-out", filter: name };
  }
  const dropping = matching.find(({ drop }) => drop);
  return dropping === undefined ? null : { reason: "filtered", filter: dropping.name };
}

/** Removes properties. @param changed if present, the paths of properties that existed are added to it. */
export function withoutProperties(
  root: JsonValue,
  matching: readonly CompiledFilter[],
  shape: CallShape,
  changed: Set<string> | null,
): void {
  for (const { dropped } of matching) {
    for (const path of dropped) {
      for (const place of placesOf(path, shape, true)) {
        for (const holder of holders(root, place)) {
          const isDeleted = holder.delete(place.at(-1) ?? "");
          if (isDeleted) changed?.add(pathOf(place));
        }
      }
    }
  }
  // Each list removes the properties that it does not contain, so only the properties that all lists contain remain.
  for (const { allowed } of matching) {
    for (const { path, names } of allowed) {
      for (const place of placesOf(path, shape, false)) {
        for (const object of objectsAt(root, place)) keepOnly(object, place, names, changed);
      }
    }
  }
}

function keepOnly(
  object: JsonValue,
  path: RulePath,
  names: readonly string[],
  changed: Set<string> | null,
): void {
  for (const name of object.names()) {
    if (!names.includes(name) && object.delete(name)) changed?.add(pathOf([...path, name]));
  }
}

/**
 * The objects that can have the last name of a path as a property: one object, or several if there are lists on the
 * path.
 */
export function holders(root: JsonValue, path: RulePath): readonly JsonValue[] {
  return objectsAt(root, path, path.length - 1);
}

/**
 * The object at a path, or several objects if there are lists on the path. @param length how many names of the path
 * are followed. For the other names, only `JsonValue.touch` is called.
 */
function objectsAt(root: JsonValue, path: RulePath, length = path.length): readonly JsonValue[] {
  let objects: readonly JsonValue[] = [root];
  for (const [depth, name] of path.entries()) {
    for (const object of objects) object.touch(name);
    if (depth < length) objects = objectsIn(objects, name);
  }
  return objects;
}

/**
 * The values of the members with this name: the value itself if it is an object, and the objects in it if it is a
 * list.
 */
function objectsIn(objects: readonly JsonValue[], name: string): readonly JsonValue[] {
  const found: JsonValue[] = [];
  for (const object of objects) {
    const value = object.get(name);
    if (value?.isObject === true) found.push(value);
    for (const entry of value?.entries() ?? []) if (entry.isObject) found.push(entry);
  }
  return found;
}

/** A compiled condition; null for all calls. */
export type Condition = ((call: CallValue) => boolean) | null;

/** @param text a condition. It is valid, because conditions are checked when the configuration is read. */
export function compiledCondition(text: string | null): Condition {
  if (text === null) return null;
  const compiled = compileFilter(text);
  assert(compiled.kind === "filter", "the condition of a rule was not checked");
  return compiled.matches;
}
