// Lookups in a real registry, Apicurio. test/local/registry-client.test.ts tests what Apicurio does not support.

import { expect, test } from "vitest";
import { systemClock } from "../../src/base/runtime/clock.ts";
import { createMetrics } from "../../src/base/telemetry/instruments.ts";
import { createSchemaSource } from "../../src/registry/client.ts";
import type { RegistryConnection } from "../../src/registry/port.ts";
import { createSchemas } from "../../src/registry/schemas.ts";
import { startPrivateRegistry } from "../../tools/kafka/registry.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { registerSchema, sharedRegistry } from "../support/servers/schema-registry.ts";

const never = new AbortController().signal;

function connectionTo(...urls: readonly string[]): RegistryConnection {
  return { urls, authentication: null, tls: null };
}

function record(name: string, type: string): string {
  return JSON.stringify({ type: "record", name, fields: [{ name: "field", type }] });
}

test("a schema is found by its id, with the ones that it uses", async () => {
  const url = await sharedRegistry();
  const subject = uniquePrefix("registry");
  const [inner, middle, outer] = ["Inner", "Middle", "Outer"].map((name) => `${subject}${name}`);
  await registerSchema(url, `${inner}`, { schema: record("Inner", "string") });
  await registerSchema(url, `${middle}`, {
    schema: record("Middle", "Inner"),
    references: [{ name: "Inner", subject: `${inner}`, version: 1 }],
  });
  const id = await registerSchema(url, `${outer}`, {
    schema: record("Outer", "Middle"),
    references: [{ name: "Middle", subject: `${middle}`, version: 1 }],
  });
  await using source = createSchemaSource(connectionTo(`${url}/`));
  const found = await source.lookup(id, never);
  if (found.kind !== "found") throw new Error(found.error);
  expect(found.schema.type).toBe("AVRO");
  expect(JSON.parse(found.schema.text)).toMatchObject({ name: "Outer" });
  const references = found.schema.references.map(({ name: of, text }) => [of, JSON.parse(text)]);
  expect(references).toEqual([
    ["Inner", expect.objectContaining({ name: "Inner" })],
    ["Middle", expect.objectContaining({ name: "Middle" })],
  ]);
});

test.each(["JSON", "PROTOBUF"] as const)(
  "a schema of type %s is reported as such",
  async (schemaType) => {
    const url = await sharedRegistry();
    const schema =
      schemaType === "JSON"
        ? '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}'
        : 'syntax = "proto3"; message A { string b = 1; }';
    const id = await registerSchema(url, `${uniquePrefix("registry")}${schemaType}`, {
      schema,
      schemaType,
    });
    await using source = createSchemaSource(connectionTo(url));
    expect(await source.lookup(id, never)).toMatchObject({
      kind: "found",
      schema: { type: schemaType },
    });
  },
);

test("an unknown ID is the registry's response; a wrong path, and GUIDs, which it lacks, are not", async () => {
  const url = await sharedRegistry();
  await using source = createSchemaSource(connectionTo(url));
  expect((await source.lookup(2_147_483_647, never)).kind).toBe("unknown");
  await using wrong = createSchemaSource(connectionTo(new URL(url).origin));
  const sentence = { error: expect.stringContaining("check the path in registry.url") };
  expect(await wrong.lookup(1, never)).toMatchObject({ kind: "outage", ...sentence });
  const guid = "00000000-0000-4000-8000-000000000000";
  // Apicurio responds to other lookups, so this is not an outage.
  expect(await source.lookup(guid, never)).toMatchObject({ kind: "unavailable", ...sentence });
});

test("killed, back, silent: whoever waits continues with the response, and what is known stays known", async () => {
  await using registry = await startPrivateRegistry();
  const { url } = registry;
  const known = await registerSchema(url, "known", { schema: '"string"' });
  const later = await registerSchema(url, "later", { schema: '"long"' });
  const last = await registerSchema(url, "last", { schema: '"int"' });
  const lines = new LogLines();
  await using schemas = createSchemas({
    source: createSchemaSource(connectionTo(url)),
    compile: ({ text }) => ({ kind: "refused", reason: "undecodable", error: text }),
    clock: systemClock,
    random: Math.random,
    log: lines.log,
    metrics: createMetrics(),
  });
  await schemas.ready([known], never);

  await registry.kill();
  const waiting = schemas.ready([known, later], never);
  await lines.until("registry.unreachable");
  expect(schemas.healthProblems().join()).toMatch(/refuses connections/);
  expect(schemas.get(known)).toMatchObject({ error: '"string"' });
  await registry.restart();
  await waiting;
  expect(schemas.get(later)).toMatchObject({ error: '"long"' });
  expect(lines.seen).toEqual(["registry.unreachable", "registry.reachable"]);
  expect(schemas.healthProblems()).toEqual([]);

  await registry.freeze();
  const silent = schemas.ready([last], never);
  await expect.poll(() => schemas.healthProblems().join()).toMatch(/did not respond within 5 s/);
  await registry.thaw();
  await silent;
  expect(schemas.get(last)).toMatchObject({ error: '"int"' });
});
