/**
 * The list of secret settings, which follows from what `config print` hides. Responses of endpoints are masked by it, and
 * the chart's warnings about secrets in a ConfigMap are generated from it (`deploy/helm/switchyard/files/secrets.json`).
 *
 *   `show` of the setting's decoder    secret is
 *   hides every string                 the value
 *   hides the values of a map or list  each of these values
 *   hides the end of a URL             the path and the query: together, their segments and their values; the password
 *   hides nothing                      nothing
 *
 * Secrets of less than 4 characters, and path segments of less than 8 characters without a digit, are not masked: they
 * are words such as `v1` and `hook`.
 */

import { isJsonObject } from "../../domain/json.ts";
import { HIDDEN } from "./problem.ts";
import { type Node, nodesIn, type Setting, section } from "./setting.ts";

export interface SecretSetting {
  /** Keys from the root; `*` stands for each entry of a list or map. */
  readonly path: readonly string[];
  /** True if only the path, the query and the password are secret. */
  readonly isUrl: boolean;
}

const CHARACTERS_MIN = 4;
const WORD_CHARACTERS = 8;
/** A secret is hidden whatever it contains, an address only if it is not valid. */
const PROBES = { value: "probe:1", url: "https://probe.example/probe" };

export function secretSettings(node: Node): readonly SecretSetting[] {
  return [...nodesIn(node)].flatMap((each) =>
    each.node.kind === "setting" ? secretsOf(each.node, each.path) : [],
  );
}

function secretsOf(
  { decoder, inside = [] }: Setting<unknown>,
  path: readonly string[],
): readonly SecretSetting[] {
  const several = [{ probe: PROBES.value }, [PROBES.value]].map((probe) => decoder.show(probe));
  if (several.some((shown) => entriesOf(shown).includes(HIDDEN))) {
    return [{ path: [...path, "*"], isUrl: false }];
  }
  if (decoder.show(PROBES.value) === HIDDEN) return [{ path, isUrl: false }];
  if (decoder.show(PROBES.url) === `https://probe.example/${HIDDEN}`)
    return [{ path, isUrl: true }];
  return inside.flatMap(({ fields, isList }) =>
    secretSettings(section("", fields)).map((inner) => ({
      ...inner,
      path: [...path, ...(isList ? ["*"] : []), ...inner.path],
    })),
  );
}

/** Returns the secrets in the settings of a node, in every form in which a server could repeat them. */
export function secretTexts(settings: readonly SecretSetting[], raw: unknown): readonly string[] {
  const texts = settings.flatMap(({ path, isUrl }) =>
    textsAt(raw, path).flatMap((text) => (isUrl ? partsOfUrl(text) : partsOfValue(text))),
  );
  return [...new Set(texts)].filter(({ length }) => length >= CHARACTERS_MIN);
}

function textsAt(raw: unknown, [key, ...rest]: readonly string[]): readonly string[] {
  if (key === undefined) return typeof raw === "string" ? [raw] : [];
  if (key === "*") return entriesOf(raw).flatMap((entry) => textsAt(entry, rest));
  return isJsonObject(raw) ? textsAt(raw[key], rest) : [];
}

function entriesOf(raw: unknown): readonly unknown[] {
  return typeof raw === "object" && raw !== null ? Object.values(raw) : [];
}

/** The value of a header may start with a scheme, as in `Bearer TOKEN`. */
function partsOfValue(value: string): readonly string[] {
  const [, scheme = "", rest = value] = /^(\S+) +(.+)$/s.exec(value) ?? [];
  const pair = /^basic$/i.test(scheme) ? Buffer.from(rest, "base64").toString() : "";
  return [value, rest, pair, pair.slice(pair.indexOf(":") + 1)];
}

function partsOfUrl(text: string): readonly string[] {
  const url = URL.parse(text);
  // A setting may also have a word instead of a URL.
  if (url === null) return [];
  const { pathname, search, searchParams, password } = url;
  const segments = pathname.split("/").map(decoded);
  const isWord = (text: string) => text.length < WORD_CHARACTERS && !/\d/.test(text);
  const parts = segments.filter((segment) => !isWord(segment));
  return [
    pathname + search,
    pathname,
    search,
    ...parts,
    ...searchParams.values(),
    decoded(password),
  ];
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
