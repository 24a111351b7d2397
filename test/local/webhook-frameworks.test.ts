// The examples in docs/webhooks.md#frameworks as servers, which get requests like those of Switchyard.

import { execFileSync, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { freePort } from "../../tools/kafka/free-port.ts";
import { fencedBlocks } from "../support/project/fenced-blocks.ts";
import { ROOT } from "../support/project/tracked-texts.ts";
import { FRAMEWORKS } from "../support/servers/webhook-frameworks.ts";

const PREPARE_LIMIT_MS = 180_000;
const SECRET = "s3cr3t Ü";
/** A body whose bytes change if it is parsed and serialized again. */
const BODY = `{ "version":1, "type":"track","userId":"u", "event":"Caf\\u00e9 ☕", "properties":{"a":1.0}, "timestamp":"2026-03-01T09:30:15.250Z" }`;
const SIGNATURE = createHmac("sha1", SECRET).update(BODY).digest("hex");

const page = readFileSync(join(ROOT, "docs/webhooks.md"), "utf8");
const [signatures = "", frameworks = ""] = page.split("\n## Frameworks\n");

function section(heading: string): string {
  const [, text] = frameworks.split(`\n### ${heading}\n`);
  if (text === undefined) throw new Error(`docs/webhooks.md has no section ${heading}`);
  return text.split("\n### ", 1)[0] ?? "";
}

test.for(FRAMEWORKS.map((framework) => [framework.heading, framework] as const))(
  "the example for %s takes what Switchyard signed, and nothing else",
  { timeout: 2 * PREPARE_LIMIT_MS },
  async ([heading, framework], context) => {
    const { language, version } = framework;
    const text = section(heading);
    if (version !== null) expect(text).toContain(`Version ${version}`);
    const of = (from: string) =>
      fencedBlocks(from).find((block) => block.language === language)?.text ?? "";
    const code = { verification: of(signatures), framework: of(text) };
    expect(code.framework).not.toBe("");

    const folder = mkdtempSync(join(tmpdir(), "switchyard-framework-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const signal = AbortSignal.timeout(PREPARE_LIMIT_MS);
    const commands = await framework.prepare(folder, code, signal);
    if (typeof commands === "string") return context.skip(commands);
    const post = await serve(folder, commands);
    if (typeof post === "string") return context.skip(post);

    expect(await post(BODY, SIGNATURE)).toBe(200);
    expect(await post(`${BODY} `, SIGNATURE)).toBe(401);
    expect(await post(BODY, SIGNATURE.slice(0, 38))).toBe(401);
    expect(await post(BODY, null)).toBe(401);
  },
);

type Post = (body: string, signature: string | null) => Promise<number>;

/** Starts the last command after the others have ended. A string is returned if Ruby is available, but Rails is not. */
async function serve(
  folder: string,
  commands: readonly (readonly [string, ...string[]])[],
): Promise<Post | string> {
  const port = await freePort();
  const env = {
    ...process.env,
    PORT: String(port),
    SHARED_SECRET: SECRET,
    GOFLAGS: "-mod=mod",
    GOPROXY: "off",
    GOTOOLCHAIN: "local",
  };
  for (const [command, ...args] of commands.slice(0, -1)) {
    try {
      execFileSync(command, args, { cwd: folder, env, stdio: "pipe" });
    } catch (error) {
      if (command === "ruby") return "there is no Rails with WEBrick";
      throw error;
    }
  }
  const [command = "", ...args] = commands.at(-1) ?? [];
  const child = spawn(command, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const closed = once(child, "close");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await closed;
  });
  const post: Post = async (body, signature) => {
    const headers = { "Content-Type": "application/json", "User-Agent": "Switchyard/1.0" };
    const signed = signature === null ? headers : { ...headers, "X-Signature": signature };
    const url = `http://127.0.0.1:${port}/hook`;
    return (await fetch(url, { method: "POST", headers: signed, body })).status;
  };
  const respond = () => post("{}", null).catch(() => `${child.exitCode ?? "starting"} ${output}`);
  await expect.poll(respond, { timeout: 90_000, interval: 200 }).toBe(401);
  return post;
}
