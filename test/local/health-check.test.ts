// The image's health check, run in the same way as in the image.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { useReceiver } from "../support/kit/receiver.ts";

const DOCKERFILE = readFileSync(join(import.meta.dirname, "../../deploy/Dockerfile"), "utf8");

test.each([
  [200, 0],
  [503, 1],
])("with the response %i, it exits with %i", async (statusCode, exitStatus) => {
  const { port } = await useReceiver(() => statusCode);
  const [, command = ""] = /^HEALTHCHECK[^[]*(\[.*\])$/m.exec(DOCKERFILE) ?? [];
  const [node, ...args] = JSON.parse(command);
  expect(node).toBe("node");
  const check = spawn(process.execPath, args, {
    env: { ...process.env, SWITCHYARD_ADMIN_PORT: String(port) },
  });
  expect(await once(check, "exit")).toEqual([exitStatus, null]);
});
