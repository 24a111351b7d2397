/**
 * Describes the changes that reloading another file would make, without applying anything. As in `config diff`, only
 * IDs and paths of settings are shown, and no values. Users of the console may not be allowed to read the
 * environment and the files of its process, so all values that the configuration takes from there are hidden.
 */

import { changesOf, isUnchanged, type ListChanges } from "../../config/changes.ts";
import type { Config } from "../../config/config.ts";
import type { Loaded } from "../../config/load.ts";
import { HIDDEN, type LocatedProblem, pathText } from "../../settings/problem.ts";
import type { ChangeGroup, ChangesView, ProblemsView } from "../query-view.ts";

/** Replaces a string that must not be shown. */
export type Hide = (text: string) => string;

/** @param inPlace the current configuration, to which the file is compared. */
export function changesView(inPlace: Config, given: Loaded, hide: Hide): ChangesView {
  if (given.kind === "invalid") return problemsView("unusable", given.problems, hide);
  const changes = changesOf(inPlace, given.config);
  const { destinations, sources, audiences, atOnce, needsRestart } = changes;
  const groups = [
    group("Destinations", listLines(destinations)),
    group("Sources", listLines(sources)),
    group("Audiences", listLines(audiences)),
    group("Other settings", atOnce),
  ];
  return {
    kind: "changes",
    atOnce: groups
      .filter(({ lines }) => lines.length > 0)
      .map(({ title, lines }) => ({ title, lines: lines.map(hide) })),
    needsRestart: needsRestart.map(hide),
    hash: given.hash,
    isSame: isUnchanged(changes),
  };
}

export function problemsView(
  kind: ProblemsView["kind"],
  problems: readonly LocatedProblem[],
  hide: Hide,
): ProblemsView {
  return {
    kind,
    problems: problems.map((each) => problemView(each, hide)),
  };
}

function group(title: string, lines: readonly string[]): ChangeGroup {
  return { title, lines };
}

function listLines({ added, removed, changed }: ListChanges): readonly string[] {
  return [
    ...added.map((id) => `${id} is added`),
    ...removed.map((id) => `${id} is removed`),
    ...changed.map(({ id, settings }) => `${id} changes: ${settings.join(", ")}`),
  ];
}

function problemView({ path, line, file, found, expected, hint }: LocatedProblem, hide: Hide) {
  const more = hint === null ? "" : ` (${hide(hint)})`;
  const text = `found ${hide(found)}, expected ${hide(expected)}${more}`;
  const where = `${file === null ? "" : `${file}: `}${pathText(path)}`;
  return { where: hide(where), line, text };
}

/** In the text of a problem, long values are cut, so only this many characters of a value are searched for. */
const KNOWN_BY = 40;

/**
 * Returns the starts of values that must not be shown. @param values the values that the file takes from the
 *   environment and from other files. @param content the content of the file, which is not secret.
 */
export function knownForms(values: readonly string[], content: string): readonly string[] {
  const forms = values.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]);
  const known = new Set(forms.map((form) => form.trim().slice(0, KNOWN_BY)));
  return [...known].filter((form) => form !== "" && !content.includes(form));
}

export function hiding(known: readonly string[]): Hide {
  return (text) => (known.some((form) => text.includes(form)) ? HIDDEN : text);
}
