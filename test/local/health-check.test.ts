// The image's health check, run in the same way as in the image.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";

const DOCKERFILE = readFileSync(join(import.meta.dirname, "../../deploy/Dockerfile"), "utf8");

test.each([
  [200, 0],
  [503, 1],
])("with the response %i, it exits with %i", async (statusCode, exitStatus) => {
  const server = createServer((_, response) => response.writeHead(statusCode).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const [, command = ""] = /^HEALTHCHECK[^[]*(\[.*\])$/m.exec(DOCKERFILE) ?? [];
  const [node, ...args] = JSON.parse(command);
  expect(node).toBe("node");
  const check = spawn(process.execPath, args, {
    env: { ...process.env, SWITCHYARD_ADMIN_PORT: String(port) },
  });
  expect(await once(check, "exit")).toEqual([exitStatus, null]);
  server.close();
});
