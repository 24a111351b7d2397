/** The package as applications get it: packed, installed in an empty project, used from there. */

import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const BINARIES = join(ROOT, "node_modules", ".bin");
const run = promisify(execFile);

let project = "";
let tarball = "";

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), "switchyard-package-"));
  const { SWITCHYARD_REPOSITORY_URL: _, ...env } = process.env;
  await run(process.execPath, [join(ROOT, "tools", "build-npm.ts")], { env });
  await npm("pack", join(ROOT, "dist", "npm"), "--pack-destination", project);
  tarball = join(project, readdirSync(project).find((name) => name.endsWith(".tgz")) ?? "");
  writeFileSync(join(project, "package.json"), '{"type":"module","private":true}');
  await npm("install", "--offline", "--no-audit", "--no-fund", tarball);
});

afterAll(() => {
  rmSync(project, { recursive: true, force: true });
});

function npm(...args: readonly string[]) {
  return run("npm", [...args, "--loglevel=error"], { cwd: project });
}

test("without the project's address npm refuses to publish it, and says what to give", async () => {
  const published = npm("publish", join(ROOT, "dist", "npm"), "--dry-run", "--offline");
  await expect(published).rejects.toThrow("SWITCHYARD_REPOSITORY_URL");
});

const PLAIN = `
  import { Analytics, ValidationError, closeOnExit } from "switchyard/client";
  import { parsePayload, verify } from "switchyard/webhooks";
  const bodies = [];
  const analytics = new Analytics("k", {
    endpoint: "http://endpoint.example",
    fetch: async (url, { body }) => {
      bodies.push(JSON.parse(body));
      return new Response('{"success":true}');
    },
  });
  closeOnExit(analytics)();
  analytics.track({ userId: "u", event: "e" });
  let field = "";
  try {
    analytics.track({ userId: "u" });
  } catch (error) {
    if (error instanceof ValidationError) field = error.field;
  }
  await analytics.close();
  const signed = verify('{"cool":true}', "5099cab379b3be52908387457007040cc934ef86", "abc123");
  console.log(bodies[0].batch[0].event, field, signed, typeof parsePayload);
`;

const TYPED = `
  import { Analytics, type LostCall, type SentBatch, type TrackCall } from "switchyard/client";
  import { type Payload, parsePayload, verify, verifyStandard } from "switchyard/webhooks";
  interface Order { readonly total: number }
  const order: Order = { total: 1 };
  const analytics = new Analytics("k", { onError: (lost: LostCall) => lost.reason });
  const call: TrackCall = { anonymousId: "a", event: "e", properties: order };
  analytics.track(call);
  analytics.page({ userId: 1, properties: { url: "/", own: 1 }, timestamp: "2026-01-01" });
  interface Person { readonly email: string; readonly score: number }
  const person: Person = { email: "a@example.com", score: 1 };
  const own: Record<string, unknown> = {};
  analytics.identify({ userId: "u", traits: person });
  analytics.identify({ userId: "u", traits: own });
  analytics.identify({ userId: "u", traits: { email: null, createdAt: new Date(), plan: "pro" } });
  analytics.group({ userId: "u", groupId: "g", traits: { employees: 5, address: { city: "X", zip: 1 } } });
  const sent: SentBatch["attempts"] = 1;
  new Analytics("k", { onSuccess: ({ calls }) => calls.length + sent, disable: true });
  // @ts-expect-error a reserved trait of another type
  analytics.identify({ userId: "u", traits: { email: 5 } });
  // @ts-expect-error a reserved trait of another type
  analytics.group({ userId: "u", groupId: "g", traits: { industry: true } });
  // @ts-expect-error neither userId nor anonymousId
  analytics.track({ event: "e" });
  // @ts-expect-error no event
  analytics.track({ userId: "u" });
  // @ts-expect-error no such field
  analytics.track({ userId: "u", event: "e", traits: {} });
  export function read(body: Uint8Array, signature: string | undefined): string {
    if (!verify(body, signature, "secret")) return "";
    if (!verifyStandard(new ArrayBuffer(1), { "webhook-id": "m" }, ["a", "b"], { toleranceMs: 1 })) return "";
    const payload: Payload = parsePayload(body);
    return payload.type === "alias" ? payload["User ID"] : payload.timestamp;
  }
`;

test.for<readonly [string, () => string | null]>([
  ["this Node", () => process.execPath],
  ["the machine's own Node", machineNode],
])("plain JavaScript on %s", async ([, find], { skip }) => {
  const node = find();
  if (node === null) return skip("there is no other Node on the PATH");
  writeFileSync(join(project, "plain.js"), PLAIN);
  const { stdout } = await run(node, ["plain.js"], { cwd: project });
  expect(stdout).toBe("e event true function\n");
});

test("plain JavaScript in CommonJS", async () => {
  const code = PLAIN.replace(/import (\{.*\}) from ("[^"]+");/g, "const $1 = require($2);");
  writeFileSync(join(project, "plain.cjs"), `(async () => {${code}})();`);
  // As before Node could require an ES module.
  const args = ["--no-experimental-require-module", "plain.cjs"];
  const { stdout } = await run(process.execPath, args, { cwd: project });
  expect(stdout).toBe("e event true function\n");
});

test.each([
  ["nodenext", "typed.ts"],
  ["nodenext", "typed.cts"],
  ["bundler", "typed.ts"],
])("TypeScript, resolved as %s: %s", async (moduleResolution, file) => {
  writeFileSync(join(project, file), TYPED);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    target: "es2022",
    lib: ["es2023"],
    types: [],
    module: moduleResolution === "bundler" ? "esnext" : moduleResolution,
    moduleResolution,
  };
  const config = { compilerOptions, files: [file] };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
  const { stdout } = await run(join(BINARIES, "tsc"), ["-p", "."], { cwd: project }).catch(
    (error: unknown) => error as { readonly stdout: string },
  );
  expect(stdout).toBe("");
});

test("nothing but the two entries and their types is in the package", () => {
  const installed = join(project, "node_modules", "switchyard");
  expect(readdirSync(join(project, "node_modules")).filter((name) => name[0] !== ".")).toEqual([
    "switchyard",
  ]);
  expect(readdirSync(installed).sort()).toEqual([
    ...["LICENSE", "README.md", "cjs", "client", "package.json", "webhooks"],
  ]);
});

test("publint finds nothing", async () => {
  const { stdout } = await run(join(BINARIES, "publint"), ["--strict", tarball], { cwd: ROOT });
  expect(stdout).toContain("All good!");
});

test("arethetypeswrong finds nothing, from CommonJS and for compilers that know no exports too", async () => {
  const args = [tarball, "--profile", "strict", "--format", "json"];
  const { stdout } = await run(join(BINARIES, "attw"), args, { cwd: ROOT });
  const { analysis } = JSON.parse(stdout) as { readonly analysis: Analysis };
  expect(analysis.problems).toEqual([]);
  const resolved = ["./client", "./webhooks"].flatMap((entry) =>
    Object.values(analysis.entrypoints[entry]?.resolutions ?? {}),
  );
  expect(resolved.map(({ resolution }) => resolution?.isTypeScript ?? false)).toEqual(
    Array.from({ length: 8 }, () => true),
  );
});

interface Analysis {
  readonly problems: readonly unknown[];
  readonly entrypoints: Readonly<
    Record<
      string,
      {
        readonly resolutions: Readonly<
          Record<string, { readonly resolution?: { readonly isTypeScript: boolean } }>
        >;
      }
    >
  >;
}

/** Another Node on the PATH than the one that runs this, at least 20. */
function machineNode(): string | null {
  const own = new Set([BINARIES, join(process.execPath, "..")]);
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => !own.has(folder));
  const found = folders.map((folder) => join(folder, "node")).find((file) => existsSync(file));
  return found ?? null;
}
