// What gets into node_modules: nothing by a range, by a registry's address, or with a script.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

type Versions = Readonly<Record<string, string>>;

interface Manifest {
  readonly dependencies: Versions;
  readonly devDependencies: Versions;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

interface Locked {
  readonly version?: string;
  readonly hasInstallScript?: boolean;
}

const manifest: Manifest = JSON.parse(read("package.json"));
const lockText = read("package-lock.json");
const locked: Readonly<Record<string, Locked>> = JSON.parse(lockText).packages;
const direct: Versions = { ...manifest.dependencies, ...manifest.devDependencies };

function read(path: string): string {
  return readFileSync(join(import.meta.dirname, "../../..", path), "utf8");
}

/** Of a package under another name, `npm:name@1.2.3`, the version alone. */
function versionOf(wanted: string | undefined): string {
  return wanted?.replace(/^npm:@?[^@]+@/, "") ?? "";
}

function inexact(versions: Versions): string[] {
  return Object.keys(versions).filter((name) => !/^\d+\.\d+\.\d+$/.test(versionOf(versions[name])));
}

function names(packages: Readonly<Record<string, Locked>>): string[] {
  const withScript = Object.keys(packages).filter((path) => packages[path]?.hasInstallScript);
  return withScript.map((path) => path.slice(path.lastIndexOf("node_modules/") + 13));
}

test("versions are exact, and those of the lock file", () => {
  expect(inexact(direct)).toEqual([]);
  expect(inexact({ a: "^1.2.3", b: "latest", c: "1.2.3" })).toEqual(["a", "b"]);
  const lockedVersions = Object.keys(direct).map((name) => [
    name,
    locked[`node_modules/${name}`]?.version,
  ]);
  const wanted = Object.entries(direct).map(([name, version]) => [name, versionOf(version)]);
  expect(Object.fromEntries(lockedVersions)).toEqual(Object.fromEntries(wanted));
});

test("the lock file names no registry", () => {
  expect(lockText).not.toMatch(/"resolved"|https?:\/\/[^"]*\.tgz/);
});

test("no package but `node` runs a script at installation", () => {
  const withScript = names(locked);
  expect(withScript).toContain("node");
  expect(names({ "node_modules/a/node_modules/@b/c": { hasInstallScript: true } })).toEqual([
    "@b/c",
  ]);
  const allowed = withScript.map((name) => [name, name === "node"]);
  expect(manifest.allowScripts).toEqual(Object.fromEntries(allowed));
});

test("every dependency has one line that says why, in the order of package.json", () => {
  const page = read("docs/decisions/0001-dependencies.md");
  const [product = "", development = ""] = page.split("## For development");
  const listed = (text: string) => [...text.matchAll(/^- `([^`]+)`: \S/gm)].map(([, name]) => name);
  expect(listed(product)).toEqual(Object.keys(manifest.dependencies));
  expect(listed(development)).toEqual(Object.keys(manifest.devDependencies));
});
