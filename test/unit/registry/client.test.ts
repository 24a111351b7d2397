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
    { name: "C", text: "c", uses: [] },
    { name: "B", text: "b", uses: [0] },
  ];
  const schema = { type: "AVRO", text: "7", references, uses: [1, 0] };
  expect(found).toEqual({ kind: "found", schema });
  expect(asked).toHaveLength(3);
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

test("a schema whose reference cannot be asked for is an outage", async () => {
  const { exchange } = scripted({
    "http://a/v7/schemas/ids/7": json(200, { schema: "7", references: uses("B") }),
    [subject("B")]: DOWN,
  });
  const found = await schemaSource(["http://a/v7"], exchange).lookup(7, signal);
  expect(found.kind).toBe("outage");
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
  expect(asked.map((url) => url[7]).join("")).toBe("abbbccab");
  expect(outage).toMatchObject({ kind: "outage" });
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
  ["before another's newer one", [OLD, the("New")], ["Color", "New"], "BLUE, PINK"],
  ["behind it", [the("New"), OLD], ["Color", "New"], "BLUE, PINK"],
  ["the newer one", [NEW, the("Old")], ["Color", "Old"], "PINK, BLUE"],
  [
    "for the first and the last of three",
    [the("Old"), the("New"), the("Older")],
    ["Old", "New", "Older"],
    "BLUE, PINK, BLUE",
  ],
])(
  "two versions of a reference: each text reads its own, %s",
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
