/** The names of settings in the file and in the program. */

import type { Node } from "../../../src/base/settings/setting.ts";
import { SETTINGS } from "../../../src/config/settings.ts";

export interface SettingName {
  /** The name in the file, such as `timeout`. */
  readonly key: string;
  /** The name in the program, with its unit, such as `timeoutMs`. */
  readonly field: string;
}

/** The names of all settings, including those in lists and variants, but not the names of sections. */
export function settingNames(): readonly SettingName[] {
  return below(SETTINGS.fields);
}

function below(fields: Readonly<Record<string, Node>>): readonly SettingName[] {
  return Object.entries(fields).flatMap(([key, node]) => namesOf(key, node));
}

function namesOf(key: string, node: Node): readonly SettingName[] {
  if (node.kind === "setting") return [{ key, field: `${key}${node.decoder.unit}` }];
  if (node.kind === "section") return below(node.fields);
  if (node.kind === "list") return namesOf(key, node.item);
  return Object.values(node.sections).flatMap(({ fields }) => below(fields));
}
