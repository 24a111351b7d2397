// A script of npm that starts a program of ours gives its place to it: npm tells a signal to the shell
// that it has started, and a shell that waits for the program does not pass it on.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { ROOT } from "../../support/project/tracked-texts.ts";

const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** Those that start something with children or work of its own. */
function waitingFor(all: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(all)
    .filter(([, command]) => /^node (?:tools\/bootstrap|bin\/)/.test(command))
    .map(([name]) => name);
}

test("no shell stands between npm and a program", () => {
  expect(waitingFor(scripts)).toEqual([]);
  expect(waitingFor({ soak: "node tools/bootstrap.js soak", docs: "node tools/x.ts" })).toEqual([
    "soak",
  ]);
});
