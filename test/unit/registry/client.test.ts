// References, limits and failover, with scripted responses.

import { expect, test } from "vitest";

import { currentSource, REFERENCES_MAX, schemaSource } from "../../../src/registry/client.ts";
import { compileSchema } from "../../../src/registry/compile.ts";
import type { RegistryConnection } from "../../../src/registry/port.ts";
import type { Exchange, Exchanged } from "../../../src/registry/registry-request.ts";

const signal = new AbortController().signal;
const DOWN: Exchanged = { kind: "failed", code: "ECONNREFUSED" };

function json(status: number, body: unknown): Exchanged {
  return { kind: "response", status, contentType: "application/json", body: JSON.stringify(body) };
}

function uses(...names: readonly string[]) {
  return names.map((name) => ({ name, subject: `${name} subject`, version: 3 }));
}

/** Responds by URL. For any other URL, the subject is unknown. */
function scripted(responses: Readonly<Record<string, Exchanged>>) {
  const asked: string[] = [];
  const exchange: Exchange = ({ url }) => {
    asked.push(url);
    return Promise.resolve(responses[url] ?? json(404, { error_code: 40_401 }));
  };
  return { asked, exchange };
}

function subject(name: string): string {
  return `http://a/v7/subjects/${encodeURIComponent(`${name} subject`)}/versions/3?deleted=true`;
}

test("an id, and a GUID, below the path of the URL", async () => {
  const guid = "0191b3c5-0000-7000-8000-000000000001";
  const found = json(200, { schema: '"long"' });
  const { exchange, asked } = scripted({
    "http://a/v7/schemas/ids/7": found,
    [`http://a/v7/schemas/guids/${guid}`]: found,
  });
  const source = schemaSource(["http://a/v7//"], exchange);
  const schema = { type: "AVRO", text: '"long"', references: [] };
  expect(await source.lookup(7, signal)).toEqual({ kind: "found", schema });
  expect(await source.lookup(guid, signal)).toEqual({ kind: "found", schema });
  expect(asked).toHaveLength(2);
});

test("schemas that it uses come first those that others use, each once", async () => {
  const { exchange, asked } = scripted({
    "http://a/v7/schemas/ids/7": json(200, { schema: "7", references: uses("B", "C") }),
    [subject("B")]: json(200, { schema: "b", references: uses("C") }),
    // Two schemas that use each other would never end.
    [subject("C")]: json(200, { schema: "c", references: uses("B") }),
  });
  const found = await schemaSource(["http://a/v7"], exchange).lookup(7, signal);
  const references = [
    { name: "C", text: "c" },
    { name: "B", text: "b" },
  ];
  const schema = { type: "AVRO", text: "7", references };
  expect(found).toEqual({ kind: "found", schema });
  expect(asked).toHaveLength(3);
});

test("a reference to a subject that is no text is unknown", async () => {
  const { exchange } = scripted({
    "http://a/v7/schemas/ids/7": json(200, { schema: "7", references: uses("\ud800") }),
  });
  const found = await schemaSource(["http://a/v7"], exchange).lookup(7, signal);
  expect(found).toMatchObject({ kind: "unknown" });
});

test("a schema whose reference is unknown is unknown, by name", async () => {
  const { exchange } = scripted({
    "http://a/v7/schemas/ids/7": json(200, { schema: "7", references: uses("B\u001b[2J") }),
  });
  expect(await schemaSource(["http://a/v7"], exchange).lookup(7, signal)).toEqual({
    kind: "unknown",
    error:
      "the schema registry does not have version 3 of B\\u001b[2J subject, which schema 7 uses",
  });
});

test("a schema whose reference is not returned is unavailable, because the registry responded", async () => {
  const { exchange, asked } = scripted({
    "http://a/v7/schemas/ids/7": json(200, { schema: "7", references: uses("B") }),
    [subject("B")]: json(403, { error_code: 40_301 }),
  });
  const found = await schemaSource(["http://a/v7"], exchange).lookup(7, signal);
  expect(found).toMatchObject({ kind: "unavailable", error: expect.stringContaining("403") });
  expect(asked).toHaveLength(2);
});

const GUID = "0191b3c5-0000-7000-8000-000000000001";
const FAILURES: readonly (readonly [string, Exchanged])[] = [
  ["404 without a code", json(404, { error_code: 404 })],
  ["403", json(403, { error_code: 40_301 })],
  ["500", json(500, { error_code: 50_001 })],
  ["422", json(422, { error_code: 42_201 })],
  ["400", json(400, {})],
  ["a schema that is null", json(200, { schema: null })],
  ["a redirect", json(302, {})],
  ["silence", { kind: "timeout" }],
  ["a closed connection", DOWN],
];

/** Responds to one ID and to GUIDs in one way, and to all other lookups in another way. */
function failing(alone: Exchanged, others: Exchanged) {
  const asked: string[] = [];
  const exchange: Exchange = ({ url }) => {
    asked.push(url);
    return Promise.resolve(/guids|[/]7$/.test(url) ? alone : others);
  };
  return { asked, source: schemaSource(["http://a"], exchange) };
}

test.each(FAILURES)(
  "%s for one schema: unavailable, if a probe has a response that counts",
  async (_, alone) => {
    for (const others of [json(404, { error_code: 40_403 }), json(200, { schema: "{}" })]) {
      const { source, asked } = failing(alone, others);
      expect((await source.lookup(7, signal)).kind).toBe("unavailable");
      expect((await source.lookup(GUID, signal)).kind).toBe("unavailable");
      const probe = "http://a/schemas/ids/2147483647";
      expect(asked).toEqual([
        ...["http://a/schemas/ids/7", probe],
        ...[`http://a/schemas/guids/${GUID}`, probe],
      ]);
    }
  },
);

test.each(FAILURES)("%s for each schema: an outage", async (_, response) => {
  const { source } = failing(response, response);
  expect((await source.lookup(7, signal)).kind).toBe("outage");
  expect((await source.lookup(2_147_483_647, signal)).kind).toBe("outage");
});

test.each([401, 407, 429])("%i: an outage, whatever other lookups return", async (status) => {
  const { source, asked } = failing(json(status, {}), json(200, { schema: "{}" }));
  expect((await source.lookup(7, signal)).kind).toBe("outage");
  expect(asked).toHaveLength(1);
});

test("no probe is sent if another lookup had a response meanwhile; it looks up what was found last", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const asked: string[] = [];
  const exchange: Exchange = async ({ url }) => {
    asked.push(url.slice("http://a/schemas/ids/".length));
    if (!url.endsWith("/7")) return json(url.endsWith("/8") ? 200 : 500, { schema: "{}" });
    if (asked.length === 1) await promise;
    return json(500, {});
  };
  const source = schemaSource(["http://a"], exchange);
  const waiting = source.lookup(7, signal);
  await source.lookup(8, signal);
  resolve();
  expect((await waiting).kind).toBe("unavailable");
  expect((await source.lookup(7, signal)).kind).toBe("unavailable");
  expect(asked).toEqual(["7", "8", "7", "8"]);
});

test("too many references, and too much text, are unusable", async () => {
  const many = Array.from({ length: REFERENCES_MAX + 1 }, (_, index) => `R${index}`);
  const { exchange, asked } = scripted({
    "http://a/v7/schemas/ids/7": json(200, { schema: "7", references: uses(...many) }),
    ...Object.fromEntries(many.map((name) => [subject(name), json(200, { schema: "r" })])),
    "http://a/v7/schemas/ids/8": json(200, { schema: "7", references: uses("L", "M") }),
    [subject("L")]: json(200, { schema: "x".repeat(600_000) }),
    [subject("M")]: json(200, { schema: "x".repeat(600_000) }),
  });
  const source = schemaSource(["http://a/v7"], exchange);
  expect(await source.lookup(7, signal)).toMatchObject({ kind: "unusable" });
  expect(asked).toHaveLength(1 + REFERENCES_MAX);
  expect(await source.lookup(8, signal)).toMatchObject({ kind: "unusable" });
});

test("of several URLs the next is asked on an outage, and the one that responded goes first", async () => {
  const responses: Record<string, Exchanged> = {
    "http://a/schemas/ids/7": DOWN,
    "http://b/schemas/ids/7": json(200, { schema: "b" }),
    "http://c/schemas/ids/7": json(200, { schema: "c" }),
  };
  const { exchange, asked } = scripted(responses);
  const source = schemaSource(["http://a", "http://b", "http://c"], exchange);
  await source.lookup(7, signal);
  await source.lookup(7, signal);
  responses["http://b/schemas/ids/7"] = DOWN;
  expect(await source.lookup(7, signal)).toMatchObject({ schema: { text: "c" } });
  responses["http://c/schemas/ids/7"] = DOWN;
  const outage = await source.lookup(7, signal);
  // The last lookup is followed by a probe, to which the registry responds.
  expect(asked.map((url) => url[7]).join("")).toBe("abbbccabc");
  expect(outage).toMatchObject({ kind: "unavailable" });
  // The error contains a sentence about each of them.
  expect("error" in outage && outage.error.match(/http:\/\/[abc]/g)?.length).toBe(3);
});

test("an unknown schema is a response: no other URL is asked", async () => {
  const { exchange, asked } = scripted({});
  const found = await schemaSource(["http://a", "http://b"], exchange).lookup(7, signal);
  expect(found.kind).toBe("unknown");
  expect(asked).toHaveLength(1);
});

test("a lookup that was given up asks no other URL", async () => {
  const { exchange, asked } = scripted({ "http://a/schemas/ids/7": DOWN });
  const source = schemaSource(["http://a", "http://b"], exchange);
  expect((await source.lookup(7, AbortSignal.abort())).kind).toBe("outage");
  expect(asked).toHaveLength(1);
});

const COLOR = (...symbols: readonly string[]) =>
  JSON.stringify({ type: "enum", name: "Color", symbols });
const holding = (name: string, ...types: readonly string[]) =>
  JSON.stringify({
    type: "record",
    name,
    fields: types.map((type, index) => ({ name: `f${index}`, type })),
  });
const OLD = { name: "Color", subject: "color", version: 1 };
const NEW = { ...OLD, version: 2 };
const RESPONSES = {
  "http://a/subjects/color/versions/1?deleted=true": json(200, { schema: COLOR("RED", "BLUE") }),
  "http://a/subjects/color/versions/2?deleted=true": json(200, { schema: COLOR("GREEN", "PINK") }),
  "http://a/subjects/old/versions/1?deleted=true": json(200, {
    schema: holding("Old", "Color"),
    references: [OLD],
  }),
  "http://a/subjects/older/versions/1?deleted=true": json(200, {
    schema: holding("Older", "Color"),
    references: [OLD],
  }),
  "http://a/subjects/new/versions/1?deleted=true": json(200, {
    schema: holding("New", "Color"),
    references: [NEW],
  }),
};
const the = (name: string) => ({ name, subject: name.toLowerCase(), version: 1 });

test.each<[string, readonly object[], readonly string[], string]>([
  ["before another's newer one", [OLD, the("New")], ["Color", "New"], "BLUE, BLUE"],
  ["behind it", [the("New"), OLD], ["Color", "New"], "PINK, PINK"],
  ["the newer one", [NEW, the("Old")], ["Color", "Old"], "PINK, PINK"],
  [
    "for the first and the last of three",
    [the("Old"), the("New"), the("Older")],
    ["Old", "New", "Older"],
    "BLUE, BLUE, BLUE",
  ],
])(
  "two versions of a reference: the first one that is visited counts for all, %s",
  async (_name, references, types, read) => {
    const schema = holding("Root", ...types);
    const { exchange } = scripted({
      ...RESPONSES,
      "http://a/schemas/ids/7": json(200, { schema, references }),
    });
    const found = await schemaSource(["http://a"], exchange).lookup(7, signal);
    const known = found.kind === "found" ? compileSchema(found.schema) : null;
    const value =
      known?.kind === "schema" ? known.read(Buffer.from([2, 2, 2].slice(0, types.length))) : null;
    const colors =
      value?.kind === "json"
        ? [...`${value.bytes}`.matchAll(/[A-Z]+/g)].join(", ")
        : (value ?? known);
    expect(colors).toBe(read);
  },
);

// Order and Invoice use Address; Address v2 has a `zip` in addition. The bytes are those that Avro 1.11.3 for Java writes
// with the schemas in the order in which Confluent's AbstractSchemaProvider visits them, and those that
// confluent-kafka 2.16.0 for Python writes.

const ADDRESS = (...more: readonly object[]) => ({
  ...{ type: "record", name: "Address", namespace: "s" },
  fields: [{ name: "street", type: "string" }, ...more],
});
const holder = (name: string, fields: Readonly<Record<string, string>>) => ({
  ...{ type: "record", name, namespace: "s" },
  fields: Object.entries(fields).map(([field, type]) => ({ name: field, type })),
});
const reference = (name: string, version = 1) => ({ name, subject: name, version });
const WITH_ZIP = "026102043132026202043334";
const WITHOUT_ZIP = "02610262";
const [A, B] = ["a", "b"].map((street) => ({ to: { street } }));
const [A_ZIP, B_ZIP] = [{ to: { street: "a", zip: "12" } }, { to: { street: "b", zip: "34" } }];

async function readOrderAndInvoice(references: readonly string[], bytes: string) {
  const at = (name: string, version = 1) =>
    `http://a/subjects/${name}/versions/${version}?deleted=true`;
  const found = (schema: object, ...used: readonly object[]) =>
    json(200, { schema: JSON.stringify(schema), references: used });
  const zip = { name: "zip", type: ["null", "string"], default: null };
  const { exchange } = scripted({
    [at("s.Address")]: found(ADDRESS()),
    [at("s.Address", 2)]: found(ADDRESS(zip)),
    [at("s.Order")]: found(holder("Order", { to: "s.Address" }), reference("s.Address", 1)),
    [at("s.Invoice")]: found(holder("Invoice", { to: "s.Address" }), reference("s.Address", 2)),
    "http://a/schemas/ids/7": found(
      holder("Call", { order: "s.Order", invoice: "s.Invoice" }),
      ...references.map((name) => reference(name)),
    ),
  });
  const looked = await schemaSource(["http://a"], exchange).lookup(7, signal);
  const known = looked.kind === "found" ? compileSchema(looked.schema) : null;
  const value = known?.kind === "schema" ? known.read(Buffer.from(bytes, "hex")) : null;
  return value?.kind === "json" ? (JSON.parse(`${value.bytes}`) as unknown) : (value ?? known);
}

test.each<[string, readonly string[], string, unknown]>([
  ["v1 first", ["s.Order", "s.Invoice"], WITHOUT_ZIP, { order: A, invoice: B }],
  ["v2 first", ["s.Invoice", "s.Order"], WITH_ZIP, { order: A_ZIP, invoice: B_ZIP }],
])("bytes of Java, %s: that version is used for both", async (_, references, bytes, json) => {
  expect(await readOrderAndInvoice(references, bytes)).toEqual(json);
});

test.each<[string, readonly string[], string]>([
  ["v2 last", ["s.Order", "s.Invoice"], WITH_ZIP],
  ["v1 last", ["s.Invoice", "s.Order"], WITHOUT_ZIP],
])("bytes of Python, %s: the error names the difference", async (_, references, bytes) => {
  expect(await readOrderAndInvoice(references, bytes)).toEqual({
    kind: "refused",
    error: expect.stringMatching(/define s\.Address in different ways.*Java.*Python use the last/),
  });
});

// A registry whose URLs, passwords or TLS files change during lookups.

const never = new AbortController().signal;

function connection(token: string): RegistryConnection {
  return { urls: ["https://r.example.com"], authentication: { kind: "token", token }, tls: null };
}

/** Records what happened, in order. A connection with the token `broken` cannot be created. */
function world(first: RegistryConnection) {
  const happened: string[] = [];
  let current = first;
  const source = currentSource(
    () => current,
    ({ authentication }) => {
      const name = authentication?.kind === "token" ? authentication.token : "";
      if (name === "broken") throw new Error("key values mismatch");
      happened.push(`open ${name}`);
      return {
        lookup: async (ref) => {
          happened.push(`${name} looks up ${ref}`);
          return { kind: "unknown", error: "" };
        },
        [Symbol.asyncDispose]: async () => void happened.push(`close ${name}`),
      };
    },
  );
  const change = (next: RegistryConnection) => {
    current = next;
  };
  return { source, change, happened };
}

test("an equal connection keeps the source, another one takes its place", async () => {
  const { source, change, happened } = world(connection("a"));
  await source.lookup(1, never);
  change(connection("a"));
  await source.lookup(2, never);
  change(connection("b"));
  await source.lookup(3, never);
  await source[Symbol.asyncDispose]();
  expect(happened).toEqual([
    "open a",
    "a looks up 1",
    "a looks up 2",
    "open b",
    "close a",
    "b looks up 3",
    "close b",
  ]);
});

test("TLS files that cannot be used are an outage, which ends when they can", async () => {
  const { source, change, happened } = world(connection("a"));
  change(connection("broken"));
  const error = "the registry's TLS files cannot be used: key values mismatch";
  expect(await source.lookup(1, never)).toEqual({ kind: "outage", error });
  change(connection("b"));
  expect(await source.lookup(1, never)).toMatchObject({ kind: "unknown" });
  expect(happened).toEqual(["open a", "open b", "close a", "b looks up 1"]);
});
