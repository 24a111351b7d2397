// Each check of the project must be able to fail: violations are planted in a copy of its configuration, and the real
// tools must find exactly these violations.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const BIN = join(ROOT, "node_modules/.bin");
const COPIED = ["biome.json", ".oxlintrc.json", "tsconfig.json", "lint"];

/** A planted violation: its file, its text, and the tool's name for the rule. */
type Planted = readonly [file: string, source: string, rule: string];

const TIME = "Core code takes the time as an argument.";
const RANDOMNESS = "Core code takes randomness as an argument.";

const BIOME: readonly Planted[] = [
  ["src/router/deliver/core-1.ts", "export const at = () => Date.now();\n", TIME],
  ["src/router/route/core-2.ts", "export const at = () => new Date();\n", TIME],
  ["src/domain/core-3.ts", "export const n = () => Math.random();\n", RANDOMNESS],
  ["src/config/core-4.ts", "export const n = () => crypto.randomUUID();\n", RANDOMNESS],
  [
    "src/router/delay/core-5.ts",
    "export const f = () => globalThis.fetch;\n",
    "globals hide effects",
  ],
  ["src/router/deliver/core-6.ts", 'export const f = () => fetch("x");\n', "noRestrictedGlobals"],
  ["src/router/route/core-7.ts", "export const e = () => process.env;\n", "noRestrictedGlobals"],
  [
    "src/router/route/core-8.ts",
    "export const t = () => setTimeout(f, 1);\n",
    "noRestrictedGlobals",
  ],
  ["src/kafka/spaces.ts", "export const   x = 1\n", "format"],
  ["src/kafka/BadName.ts", "export const x = 1;\n", "useFilenamingConvention"],
  ["src/kafka/default.ts", "export default 1;\n", "noDefaultExport"],
  ["src/kafka/enum.ts", "export enum E {\n  A,\n}\n", "noEnum"],
  ["src/kafka/any.ts", "export const x: any = 1;\n", "noExplicitAny"],
  ["src/kafka/non-null.ts", "export const f = (x?: {}) => x!;\n", "noNonNullAssertion"],
  ["src/kafka/console.ts", 'console.log("x");\n', "noConsole"],
  ["src/kafka/barrel.ts", 'export * from "./any.ts";\n', "noBarrelFile"],
  [
    "src/kafka/cycle-a.ts",
    'import { b } from "./cycle-b.ts";\n\nexport const a = () => b;\n',
    "noImportCycles",
  ],
  [
    "src/kafka/cycle-b.ts",
    'import type { a } from "./cycle-a.ts";\n\nexport const b = (f: typeof a) => f;\n',
    "noImportCycles",
  ],
  [
    "src/kafka/long.ts",
    `export function f() {\n${"  g();\n".repeat(71)}}\n`,
    "noExcessiveLinesPerFunction",
  ],
];

const INNOCENT = "export const at = () => [Date.now(), process.pid, setTimeout(f, 1)];\n";

const OXLINT: readonly Planted[] = [
  ["src/router/route/lost.ts", "const f = async () => 1;\nf();\n", "no-floating-promises"],
  ["src/router/route/misused.ts", "[1].forEach(async () => {});\n", "no-misused-promises"],
  ["src/router/route/thrown.ts", 'throw "text";\n', "only-throw-error"],
  [
    "src/router/route/switch.ts",
    'export const f = (x: "a" | "b") => {\n  switch (x) {\n    case "a":\n      return 1;\n  }\n  return 2;\n};\n',
    "switch-exhaustiveness-check",
  ],
];

const TYPES: readonly Planted[] = [
  ["src/base/telemetry/twice.ts", 'export const METRICS = { a: "x", a: "y" };\n', "TS1117"],
  [
    "src/base/telemetry/index.ts",
    "export const f = (list: number[]): number => list[0];\n",
    "TS2322",
  ],
  ["src/base/telemetry/namespace.ts", "export namespace N {\n  export const x = 1;\n}\n", "TS1294"],
];

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-checks-"));
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function plant(violations: readonly Planted[]): void {
  rmSync(join(folder, "src"), { recursive: true, force: true });
  for (const [file, source] of violations) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), source);
  }
}

function run(tool: string, ...args: readonly string[]): { status: number | null; output: string } {
  const env = { ...process.env, NO_COLOR: "1" };
  const { status, stdout, stderr } = spawnSync(join(BIN, tool), args, {
    cwd: folder,
    encoding: "utf8",
    env,
  });
  return { status, output: stdout + stderr };
}

/** Returns the lines of the output that name the file, each with the lines up to the next file. */
function saidOf(file: string, output: string): string {
  const blocks = output.split(/(?=^\s*(?:,-\[)?src\/)/m);
  return blocks.filter((block) => block.trimStart().replace(",-[", "").startsWith(file)).join("");
}

describe("planted violations are found", () => {
  test("by the formatter and the linter", () => {
    plant([...BIOME, ["src/router/deliver/stage.ts", INNOCENT, ""]]);
    const { status, output } = run("biome", "check", "--max-diagnostics=none", "src");
    expect(status).not.toBe(0);
    for (const [file, , rule] of BIOME) expect(saidOf(file, output), file).toContain(rule);
    expect(saidOf("src/router/deliver/stage.ts", output)).toBe("");
  });

  test("by the linter that knows types", () => {
    plant(OXLINT);
    const { status, output } = run("oxlint", "--type-aware", "--deny-warnings", "src");
    expect(status).not.toBe(0);
    for (const [, , rule] of OXLINT) expect(output).toContain(rule);
  });

  test("by the compiler", () => {
    plant(TYPES);
    const { status, output } = run("tsc", "--noEmit");
    expect(status).not.toBe(0);
    for (const [file, , rule] of TYPES) expect(saidOf(file, output), file).toContain(rule);
  });
});
