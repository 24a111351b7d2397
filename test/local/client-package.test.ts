/** The package in the form that applications get: it is packed, installed in an empty project, and used there. */

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

test("without the project's address npm rejects to publish it, and says what to give", async () => {
  const published = npm("publish", join(ROOT, "dist", "npm"), "--dry-run", "--offline");
  await expect(published).rejects.toThrow("SWITCHYARD_REPOSITORY_URL");
});

const PLAIN = `
  import { Analytics, ValidationError, closeOnExit } from "switchyard-sdk/client";
  import { parsePayload, verify } from "switchyard-sdk/webhooks";
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
  import { type Acknowledgement, Analytics, type LostCall, LostCallError, type SentBatch, type TrackCall } from "switchyard-sdk/client";
  import { type CallStatus, eachResponse, messageIds, type Payload, parsePayload, parsePayloads, verify, verifyStandard } from "switchyard-sdk/webhooks";
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
  async function handled(): Promise<void> {
    await analytics.track(call);
    await Promise.all([analytics.track(call), analytics.alias({ userId: "u", previousId: "p" })]);
    const result: Acknowledgement = analytics.page({ userId: "u" });
    const passedOn: Promise<void> = result.catch((error) => {
      if (error.reason !== "closed") throw error;
    });
    await passedOn;
    return result.then(() => {}, (error: unknown) => {
      if (!(error instanceof LostCallError)) throw error;
    });
  }
  handled();
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
  export function readBatch(body: Uint8Array, headers: Record<string, string | string[] | undefined>): string {
    const payloads: readonly Payload[] = parsePayloads(body, headers);
    const failed = new Map<number, CallStatus>([[0, { status: 503, error: "busy" }]]);
    return eachResponse(payloads, failed) + (messageIds(headers)?.length ?? 0);
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
  // This is how it was before Node could require an ES module.
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

/** A call, and the missing field that TypeScript reports. */
const MISSING: readonly (readonly [call: string, field: string])[] = [
  ['track({ userId: "u" })', "event"],
  ['track({ anonymousId: "a" })', "event"],
  ["track({ properties: {} })", "event"],
  ['track({ userId: "u", messageId: "m", context: {} })', "event"],
  ['track({ event: "e" })', "userId"],
  ['group({ userId: "u" })', "groupId"],
  ['group({ anonymousId: "a", traits: { name: "g" } })', "groupId"],
  ['group({ groupId: "g" })', "userId"],
  ['alias({ userId: "u" })', "previousId"],
  ['alias({ previousId: "p" })', "userId"],
  ['identify({ traits: { plan: "pro" } })', "userId"],
  ['page({ name: "n" })', "userId"],
  ['screen({ category: "c" })', "userId"],
];

test("TypeScript names what a call lacks: first what only this method needs, then the id", async () => {
  const lines = MISSING.map(([call]) => `new Analytics("k").${call};`);
  writeFileSync(
    join(project, "missing.ts"),
    ['import { Analytics } from "switchyard-sdk/client";', ...lines].join("\n"),
  );
  const options = ["--strict", "--noEmit", "--module", "nodenext", "--ignoreConfig"];
  const compiled = run(join(BINARIES, "tsc"), [...options, "--pretty", "false", "missing.ts"], {
    cwd: project,
  });
  const { stdout } = await compiled.catch((error: unknown) => error as { readonly stdout: string });
  const errors = stdout.split(/^missing\.ts/m).slice(1);
  const named = errors.map((error) => /Property '(\w+)' is missing/.exec(error)?.[1] ?? error);
  expect(MISSING.map(([call], at) => [call, named[at]])).toEqual(MISSING);
});

test("nothing but the two entries, their types and what they share with the server is in the package", () => {
  const installed = join(project, "node_modules", "switchyard-sdk");
  expect(readdirSync(join(project, "node_modules")).filter((name) => name[0] !== ".")).toEqual([
    "switchyard-sdk",
  ]);
  expect(readdirSync(installed).sort()).toEqual([
    ...["LICENSE", "README.md", "cjs", "client", "domain", "package.json", "webhooks"],
  ]);
  expect(readdirSync(join(installed, "domain")).sort()).toEqual([
    ...["json.d.ts", "json.js", "timestamp.d.ts", "timestamp.js"],
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

/** Returns a Node on the PATH, version 20 or later, other than the one that runs this test. */
function machineNode(): string | null {
  const own = new Set([BINARIES, join(process.execPath, "..")]);
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => !own.has(folder));
  const found = folders.map((folder) => join(folder, "node")).find((file) => existsSync(file));
  return found ?? null;
}
