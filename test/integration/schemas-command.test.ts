// `switchyard schemas` with a real registry, Apicurio.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request as requestHttp } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { runProgram } from "../../src/program/cli/program.ts";
import { issue } from "../support/build/certificates.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { type Responding, registryStandIn } from "../support/servers/registry-stand-in.ts";
import { sharedRegistry } from "../support/servers/schema-registry.ts";
import { fakeShell } from "../support/worlds/fake-shell.ts";

let folder = "";
let context = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-schemas-"));
  context = uniquePrefix("ctx").replace(/\.$/, "");
});
afterEach(() => rmSync(folder, { recursive: true }));

function configure(registry: Readonly<Record<string, unknown>>): string {
  const file = join(folder, "switchyard.yaml");
  const source = { id: "web", destinations: ["d"] };
  const config = {
    kafka: { brokers: ["localhost:1"] },
    registry,
    sources: [source],
    destinations: [{ id: "d", type: "topic", name: "D" }],
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

async function schemas(registry: Readonly<Record<string, unknown>>, args: readonly string[]) {
  const shell = fakeShell();
  const config = configure(registry);
  const all = ["schemas", ...args, "--context", context, "--config", config];
  const status = await runProgram(all, shell);
  return { status, out: shell.output(), err: shell.errors() };
}

function record(name: string, fields: readonly unknown[]): void {
  const schema = { type: "record", name, namespace: "own", fields };
  writeFileSync(join(folder, `${name}.avsc`), JSON.stringify(schema, null, 4));
}

test("lists what is missing, --apply registers it, and then there is nothing to do", async () => {
  const registry = { url: await sharedRegistry() };
  const before = await schemas(registry, []);
  expect(before).toMatchObject({ status: 1, err: "" });
  expect(before.out).toMatch(/switchyard\.CallType +new/);
  expect(before.out).toMatch(/switchyard\.Call +not checked: it uses .*CallType/);

  const registered = await schemas(registry, ["--apply"]);
  expect(registered).toMatchObject({ status: 0, err: "" });
  expect(registered.out.match(/registered as version 1, id \d+/g)).toHaveLength(6);

  const after = await schemas(registry, []);
  expect(after.out).toContain("All 6 schemas are registered.");
  expect(after.status).toBe(0);
  const again = await schemas(registry, ["--apply"]);
  expect(again.out).toBe(registered.out);

  const subject = encodeURIComponent(`:.${context}:switchyard.Call`);
  const found = await fetch(`${registry.url}/subjects/${subject}/versions/1`);
  const reference = { name: "switchyard.CallType", subject: `:.${context}:switchyard.CallType` };
  expect(await found.json()).toMatchObject({ references: [{ ...reference, version: 1 }] });
  const level = await fetch(`${registry.url}/config/${subject}`);
  expect(await level.json()).toEqual({ compatibilityLevel: "BACKWARD_TRANSITIVE" });
});

test("a version that reads former ones is added; one that does not keeps all others back", async () => {
  const registry = { url: await sharedRegistry() };
  const own = ["--dir", folder];
  const field = { name: "a", type: "string" };
  record("A", [field]);
  record("B", [{ name: "a", type: "A" }]);
  expect(await schemas(registry, ["--apply", ...own])).toMatchObject({ status: 0 });

  record("A", [field, { name: "b", type: "string", default: "" }]);
  const added = await schemas(registry, ["--apply", ...own]);
  expect(added).toMatchObject({ status: 0, err: "" });
  expect(added.out).toMatch(/own\.A +registered as version 2/);

  expect(added.out).toMatch(/own\.B +registered as version 2/);
  record("B", [
    { name: "a", type: "A" },
    { name: "c", type: "string" },
  ]);
  const unchecked = await schemas(registry, ["--apply", ...own]);
  expect(unchecked).toMatchObject({ status: 1, out: "" });
  expect(unchecked.err).toMatch(/has not registered .*own\.B: .*Incompatible artifact/);

  record("A", [field, { name: "c", type: "string" }]);
  record("C", [field]);
  const refused = await schemas(registry, ["--apply", ...own]);
  expect(refused.status).toBe(1);
  expect(refused.out).toMatch(/own\.A +incompatible: cannot read what earlier versions wrote/);
  expect(refused.out).toContain("nothing was registered");
  const subject = encodeURIComponent(`:.${context}:own.C`);
  const found = await fetch(`${registry.url}/subjects/${subject}/versions`);
  expect(found.status).toBe(404);
});

test("by https with a client certificate and a token, as the program requests it", async () => {
  const url = new URL(await sharedRegistry());
  const ca = issue({ name: "ca", isCa: true });
  const server = issue({ name: "registry", hosts: ["127.0.0.1"], by: ca });
  const client = issue({ name: "switchyard", by: ca });
  const pass: Responding = (request, response) => {
    if (request.headers.authorization !== "Bearer t1") {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error_code: 40_101, message: "no" }));
      return;
    }
    const { method, headers } = request;
    const to = requestHttp(new URL(request.url ?? "", url), { method, headers }, (upstream) => {
      response.writeHead(upstream.statusCode ?? 500, upstream.headers);
      upstream.pipe(response);
    });
    request.pipe(to);
  };
  await using front = await registryStandIn(pass, {
    cert: server.cert,
    key: server.key,
    ca: ca.cert,
    requestCert: true,
    rejectUnauthorized: true,
  });
  const files = { ca: ca.cert, cert: client.cert, key: client.key };
  for (const [name, pem] of Object.entries(files)) writeFileSync(join(folder, `${name}.pem`), pem);
  const tls = { ca: "ca.pem", cert: "cert.pem", key: "key.pem" };
  const registry = { url: `${front.url}${url.pathname}`, token: "t1", tls };
  expect(await schemas(registry, ["--apply"])).toMatchObject({ status: 0, err: "" });
  expect(front.asked).toContainEqual(expect.stringMatching(/^POST .*\/versions\?normalize=true$/));
  const wrong = await schemas({ ...registry, token: "hunter2" }, []);
  expect(wrong.status).toBe(1);
  expect(wrong.err).toMatch(/is not available: https:.*rejects the credentials \(401\)/);
  expect(wrong.err).not.toContain("hunter2");
});
