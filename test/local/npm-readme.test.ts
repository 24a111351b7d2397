// The programs in docs/npm-readme.md, run unchanged except for the address and the port.

import { type ChildProcess, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import { fencedBlocks } from "../support/project/fenced-blocks.ts";
import { ROOT } from "../support/project/tracked-texts.ts";

const [client = "", receiver = "", batches = ""] = fencedBlocks(
  readFileSync(join(ROOT, "docs/npm-readme.md"), "utf8"),
)
  .filter(({ language }) => language === "js")
  .map(({ text }) => text);

/** Runs the program in a folder in which `switchyard-sdk` can be imported. */
function start(program: string, env: Readonly<Record<string, string>> = {}): ChildProcess {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-npm-readme-"));
  const library = join(folder, "node_modules/switchyard-sdk");
  mkdirSync(library, { recursive: true });
  const exports = { "./client": "./client.js", "./webhooks": "./webhooks.js" };
  writeFileSync(join(library, "package.json"), JSON.stringify({ type: "module", exports }));
  for (const name of ["client", "webhooks"]) {
    const source = JSON.stringify(join(ROOT, "src", "sdk", name, "index.ts"));
    writeFileSync(join(library, `${name}.js`), `export * from ${source};`);
  }
  writeFileSync(join(folder, "program.mjs"), program);
  const child = spawn(process.execPath, ["program.mjs"], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
    rmSync(folder, { recursive: true, force: true });
  });
  return child;
}

test("the client's program sends its calls and ends", async () => {
  const calls: unknown[] = [];
  const { url } = await useReceiver(({ body }) => {
    calls.push(...(JSON.parse(body) as { readonly batch: readonly unknown[] }).batch);
    return { body: '{"success":true}' };
  });
  expect(client).toContain("https://ingest.example.com");
  const program = client.replace("https://ingest.example.com", url);
  const [status] = await once(start(program), "close");
  expect(status).toBe(0);
  expect(calls).toMatchObject([
    { type: "identify", userId: "u-1", traits: { plan: "pro" } },
    { type: "track", userId: "u-1", event: "Order Completed", properties: { total: 12.5 } },
  ]);
});

test("the receiver's program takes what is signed, and nothing else", async () => {
  const port = await freePort();
  expect(receiver).toContain("listen(3000)");
  const program = receiver.replace("listen(3000)", `listen(${port})`);
  const child = start(program, { SHARED_SECRET: "s3cr3t" });
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const body =
    '{"version":1,"type":"track","userId":"u","event":"Seen","properties":{"a":1},"timestamp":"2026-03-01T09:30:15.250Z"}';
  const post = async (signature: string) => {
    const headers = { "X-Signature": signature };
    const request = fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body });
    return await request.then(({ status }) => status).catch(() => "starting");
  };
  await expect.poll(() => post("00")).toBe(401);
  expect(await post(createHmac("sha1", "s3cr3t").update(body).digest("hex"))).toBe(200);
  await expect.poll(() => output).toBe("Seen { a: 1 }\n");
});

test("the function for batches judges each call", async () => {
  const timestamp = "2026-03-01T09:30:15.250Z";
  const call = { version: 1, userId: "u", timestamp };
  const body = JSON.stringify([
    { ...call, type: "track", event: "Seen", properties: {} },
    { version: 1, type: "alias", "Previous ID": "p", "User ID": "u", timestamp },
    { ...call, type: "identify", traits: {} },
  ]);
  const child = start(
    `${batches}\nconsole.log(respondTo(process.env.BODY, { "x-switchyard-batch": "3" }));`,
    { BODY: body },
  );
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  expect(await once(child, "close")).toEqual([0, null]);
  expect(JSON.parse(output)).toEqual([
    { status: 200 },
    { status: 422, error: "aliases are not supported" },
    { status: 200 },
  ]);
});
