/**
 * The configuration of a command that stays. Its files are looked at before each use, at most once a
 * second, and read again when one of them has changed. A file that cannot be used leaves the configuration before it.
 */

import { statSync } from "node:fs";

import type { Config } from "../../config/config.ts";
import type { Loaded } from "../../config/load.ts";

const LOOK_EVERY_MS = 1_000;

interface Usable {
  readonly config: Config;
  readonly hash: string;
  readonly files: readonly string[];
}

export function followFile(first: Usable, load: () => Loaded, nowMs: () => number): () => Usable {
  let usable = first;
  let files = first.files;
  let stamp = stampOf(files);
  let lookedAtMs = nowMs();
  return () => {
    if (nowMs() - lookedAtMs < LOOK_EVERY_MS) return usable;
    lookedAtMs = nowMs();
    const now = stampOf(files);
    if (now === stamp) return usable;
    const loaded = load();
    files = loaded.files;
    stamp = stampOf(files);
    if (loaded.kind === "config") usable = loaded;
    return usable;
  };
}

function stampOf(files: readonly string[]): string {
  const stamps = files.map((file) => {
    const found = statSync(file, { throwIfNoEntry: false });
    return found === undefined ? "none" : `${found.ino} ${found.size} ${found.mtimeMs}`;
  });
  return stamps.join("\n");
}
