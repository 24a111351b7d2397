/** The names of settings in the file and in the program. */

import { SETTINGS } from "../../../src/config/settings.ts";
import type { Node } from "../../../src/settings/setting.ts";

export interface SettingName {
  /** In the file: `timeout`. */
  readonly key: string;
  /** In the program, with its unit: `timeoutMs`. */
  readonly field: string;
}

/** Those of lists and variants, too; sections are none. */
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
