// The sample receiver in docker-compose.yml, as a separate process.

import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";

const FILE = join(import.meta.dirname, "../../deploy/compose/receiver.ts");
const BODY = JSON.stringify({
  version: 1,
  type: "track",
  event: "Tried",
  userId: "u",
  properties: {},
  timestamp: "2026-03-01T09:30:15.000Z",
});

test("it accepts signed webhooks, on one path after two failures, and rejects others", async () => {
  const port = await freePort();
  const env = { ...process.env, RECEIVER_SECRET: "secret", PORT: `${port}` };
  const receiver = spawn(process.execPath, [FILE], { env, stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  const output = createInterface(receiver.stdout).on("line", (line) => lines.push(line));
  try {
    await once(output, "line");
    const post = async (path: string, secret: string) => {
      const signature = createHmac("sha1", secret).update(BODY).digest("hex");
      const url = `http://127.0.0.1:${port}${path}`;
      const headers = { "x-signature": signature };
      return (await fetch(url, { method: "POST", body: BODY, headers })).status;
    };
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
    expect(await post("/crm", "secret")).toBe(200);
    expect(await post("/crm", "another")).toBe(401);
    const attempts = [];
    for (let at = 0; at < 3; at += 1) attempts.push(await post("/flaky", "secret"));
    expect(attempts).toEqual([503, 503, 200]);
  } finally {
    receiver.kill("SIGTERM");
    await once(receiver, "close");
  }
  expect(lines.slice(1)).toEqual([
    "/crm 200 track",
    "/crm 401 wrong signature",
    "/flaky 503 attempt 1",
    "/flaky 503 attempt 2",
    "/flaky 200 track",
  ]);
});
