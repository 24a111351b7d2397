/**
 * Prints the effective configuration as YAML: every setting with its value or default, with secrets hidden. A URL with
 * variables is printed as it is in the file; other settings are printed with their final values. For a setting that
 * contains the content of a file, the reference to the file is printed, such as `${file:/run/secrets/crm}`.
 */

import {
  Document,
  isNode,
  isScalar,
  isMap as isYamlMap,
  type Pair,
  type Node as YamlNode,
} from "yaml";
import { shownAsWritten, type ValueOrigin } from "../base/settings/config-path.ts";
import { showUrl } from "../base/settings/endpoint-url.ts";
import { HIDDEN, type Path, pathText } from "../base/settings/problem.ts";
import type { Node, Setting } from "../base/settings/setting.ts";
import { isJsonObject } from "../domain/json.ts";
import type { Given } from "./parse.ts";
import { SETTINGS } from "./settings.ts";

export function printConfig(given: Given): string {
  const document = new Document(shown(SETTINGS, given.tree, [], given.origins));
  comment(document.contents, [], given.origins);
  for (const [place, { file }] of given.entries ?? []) nameFile(document, place, file);
  return document.toString({ lineWidth: 100 });
}

/** Returns the effective configuration as JSON, which cannot contain comments. */
export function printJson(given: Given): string {
  const tree: unknown = new Document(shown(SETTINGS, given.tree, [], given.origins)).toJS();
  return `${JSON.stringify(tree, undefined, 2)}\n`;
}

type Origins = Given["origins"];

function shown(node: Node, raw: unknown, path: Path, origins: Origins): unknown {
  if (node.kind === "setting") {
    const origin = origins.get(pathText(path));
    return withReferences(shownSetting(node, raw, origin), path, origins);
  }
  if (node.kind === "list") {
    const entries = Array.isArray(raw) ? raw : [];
    return entries.map((entry, index) => shown(node.item, entry, [...path, index], origins));
  }
  if (node.isOptional && (raw === undefined || raw === null || raw === false)) return null;
  const map = isJsonObject(raw) ? raw : {};
  if (node.kind === "variants") {
    const tag = map[node.tag];
    const variant = node.sections[String(tag)];
    const rest = variant === undefined ? {} : shown(variant, map, path, origins);
    return { ...fields({ [node.tag]: tag }), ...fields(rest) };
  }
  const entries = Object.entries(node.fields).map(([key, field]) => {
    const inner = Object.hasOwn(map, key) ? map[key] : undefined;
    return [key, shown(field, inner, [...path, key], origins)] as const;
  });
  return fields(Object.fromEntries(entries));
}

/** Omits settings that have neither a value nor a default. */
function fields(map: unknown): Record<string, unknown> {
  const entries = isJsonObject(map) ? Object.entries(map) : [];
  return Object.fromEntries(entries.filter(([, entry]) => entry !== null));
}

function shownSetting(
  node: Setting<unknown>,
  raw: unknown,
  origin: ValueOrigin | undefined,
): unknown {
  const { decoder, fallback } = node;
  if (raw === undefined || raw === null) return fallback ?? null;
  if (origin?.kind === "filled" && origin.takesFile) {
    return shownAsWritten(origin.written, (text) => decoder.show(decoder.fromText(String(text))));
  }
  // A variable may contain a whole URL, including its secret path.
  if (origin?.kind === "filled" && decoder.show === showUrl) return showUrl(origin.written);
  const isText = origin !== undefined && typeof raw === "string";
  return decoder.show(isText ? decoder.fromText(raw) : raw);
}

/**
 * Replaces values that came from files, such as the value of a header, with the references to the files.
 */
function withReferences(value: unknown, path: Path, origins: Origins): unknown {
  const inner = (entry: unknown, key: string | number): unknown => {
    const at = [...path, key];
    const origin = origins.get(pathText(at));
    return origin?.kind === "filled" && origin.takesFile
      ? shownAsWritten(origin.written, () => HIDDEN)
      : withReferences(entry, at, origins);
  };
  if (Array.isArray(value)) return value.map(inner);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, entry]) => [key, inner(entry, key)]));
}

/** Writes the name of an included file above its entry. */
function nameFile(document: Document, place: string, file: string): void {
  const [, list, index] = /^(\w+)\[(\d+)\]$/.exec(place) ?? [];
  const entry = document.getIn([list, Number(index)], true);
  if (isNode(entry)) entry.commentBefore = ` ${file}`;
}

function comment(node: YamlNode | null, path: Path, origins: Origins): void {
  if (!isYamlMap(node)) return;
  for (const pair of node.items as Pair<YamlNode, YamlNode>[]) {
    const key = isScalar(pair.key) ? String(pair.key.value) : "";
    const origin = origins.get(pathText([...path, key]));
    if (origin?.kind === "environment" && pair.value !== null) {
      pair.value.comment = ` ${origin.name}`;
    }
    comment(pair.value, [...path, key], origins);
  }
}
