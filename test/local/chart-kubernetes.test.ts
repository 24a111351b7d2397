// Validates every resource of every value set against the schemas of Kubernetes 1.27 to 1.37, and rejects unknown
// fields. The schemas are in a package on PyPI; a Python environment with this package is created once, in
// `.switchyard/`. `npm run test:chart` uses every version, and `npm test` three of them.

import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

import { NO_HELM, type Resource, resources, VALUE_SETS } from "../support/chart/helm.ts";

const PACKAGE = "kubernetes-validate==1.37.0";
const VENV = join(import.meta.dirname, `../../.switchyard/${PACKAGE.replace("==", "-")}`);
const SCRIPT = join(import.meta.dirname, "../support/chart/validate.py");
const ALL = Array.from({ length: 11 }, (_, index) => `1.${27 + index}.0`);
const VERSIONS =
  process.env.SWITCHYARD_CHART_VERSIONS === "all" ? ALL : ["1.27.0", "1.30.0", "1.37.0"];
/** Matches the kinds of Kubernetes itself. */
const OURS = /^(?:v1|apps\/v1|batch\/v1|policy\/v1|autoscaling\/v2|networking\.k8s\.io\/v1)$/;
const execute = promisify(execFile);

/** Returns a reason to skip the test, or null if the environment exists. */
async function withoutPython(): Promise<string | null> {
  if (NO_HELM !== null) return NO_HELM;
  if (existsSync(VENV)) return null;
  if (spawnSync("python3", ["-c", "import venv, ensurepip"]).status !== 0) {
    return "there is no python3 with venv and pip";
  }
  const unfinished = `${VENV}.${process.pid}`;
  mkdirSync(join(VENV, ".."), { recursive: true });
  await execute("python3", ["-m", "venv", unfinished]);
  try {
    await execute(join(unfinished, "bin/python"), ["-m", "pip", "install", "--quiet", PACKAGE]);
  } catch (error) {
    rmSync(unfinished, { recursive: true });
    const [line] = String((error as { stderr?: string }).stderr)
      .trim()
      .split("\n")
      .slice(-1);
    return `pip cannot install ${PACKAGE}: ${line}`;
  }
  if (existsSync(VENV)) rmSync(unfinished, { recursive: true });
  else renameSync(unfinished, VENV);
  return null;
}

interface Checked {
  readonly checked: number;
  readonly problems: readonly string[];
}

async function validate(
  documents: readonly object[],
  versions: readonly string[],
): Promise<Checked> {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-schemas-"));
  try {
    const file = join(folder, "resources.json");
    writeFileSync(file, JSON.stringify(documents));
    // The scripts of a moved environment contain its old path, but its interpreter does not.
    const { stdout } = await execute(join(VENV, "bin/python"), [SCRIPT, file, ...versions]);
    return JSON.parse(stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** To create the environment, the package must be downloaded. */
const LIMIT_MS = 600_000;

test("every resource fits the schemas, and a wrong one does not", {
  timeout: LIMIT_MS,
}, async (context) => {
  const why = await withoutPython();
  if (why !== null) return context.skip(why);
  const documents = new Map<string, { readonly since: number; readonly resource: Resource }>();
  for (const set of VALUE_SETS) {
    // Newer versions have `preStop.sleep`.
    for (const since of [27, 30]) {
      for (const resource of await resources(set, "--kube-version", `1.${since}.0`)) {
        if (!OURS.test(resource.apiVersion)) continue;
        const text = JSON.stringify(resource);
        if (!documents.has(text)) documents.set(text, { since, resource });
      }
    }
  }
  const { checked, problems } = await validate([...documents.values()], VERSIONS);
  expect(problems).toEqual([]);
  // Resources that are the same for all versions were validated against each version.
  const [oldest] = VERSIONS;
  expect(oldest).toBe("1.27.0");
  expect(checked).toBeGreaterThan(documents.size * (VERSIONS.length - 1));

  const [first] = documents.values();
  const wrong = { since: 27, resource: { ...first?.resource, unknownField: 1 } };
  expect((await validate([wrong], ["1.37.0"])).problems).toHaveLength(1);
});
