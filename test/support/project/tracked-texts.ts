/** The texts of the project, for the tests of its words and citations. */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../../..");
const FOLDERS = ["src", "test", "tools", "bench", "docs", "deploy", "examples", "bin", ".ci"];
const KINDS = /\.(?:tsx?|js|md|ya?ml|py|grit)$/;

export interface Text {
  /** The path from the root folder of the project, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** Each page in the root folder, and each text in folders that are not generated. */
export function projectTexts(): readonly Text[] {
  const pages = readdirSync(ROOT).filter((name) => name.endsWith(".md"));
  const below = FOLDERS.filter((folder) => existsSync(join(ROOT, folder))).flatMap((folder) =>
    readdirSync(join(ROOT, folder), { encoding: "utf8", recursive: true })
      .filter((name) => KINDS.test(name))
      .map((name) => join(folder, name).replaceAll("\\", "/")),
  );
  return [...pages, ...below].map((path) => ({
    path,
    text: readFileSync(join(ROOT, path), "utf8"),
  }));
}
