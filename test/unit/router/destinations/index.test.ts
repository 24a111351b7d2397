// The table of types: what the rest of the program requires of each type.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseConfig } from "../../../../src/config/parse.ts";
import type { Destination } from "../../../../src/domain/destination.ts";
import { openTransport, TYPE_SETTINGS, typeOf } from "../../../../src/router/destinations/index.ts";
import { aTopicDestination } from "../../../support/build/calls.ts";
import { NO_EGRESS } from "../../../support/build/lists.ts";
import { unitOf, webhookDestination } from "../../../support/build/webhook-destination.ts";

const SRC = join(import.meta.dirname, "../../../../src");
const FOLDERS = readdirSync(join(SRC, "router/destinations"), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const DELETED = { type: "delete", userId: "u" } as const;

/** The required settings of each type, except for the name. */
const REQUIRED: Readonly<Record<string, object>> = {
  webhook: { endpoints: [{ url: "https://crm.example.com/hook" }] },
};

function smallest(kind: string): Destination {
  const given = { id: "one", type: kind, name: "One", ...REQUIRED[kind] };
  const parsed = parseConfig({ kafka: { brokers: "k:1" }, destinations: [given] }, {}, () => {
    throw new Error("no file is named");
  });
  if (parsed.kind === "invalid") throw new Error(JSON.stringify(parsed.problems));
  const [destination] = parsed.config.destinations;
  if (destination === undefined) throw new Error("it has no destination");
  return destination;
}

test("each type is a folder, and the other way round", () => {
  expect(Object.keys(TYPE_SETTINGS).toSorted()).toEqual(FOLDERS.toSorted());
});

describe.each(Object.keys(TYPE_SETTINGS))("a destination of type %s", (kind) => {
  test("has its kind, and endpoints if it is attempted", () => {
    const destination = smallest(kind);
    expect(destination.kind).toBe(kind);
    expect(typeOf(destination).attempts !== null).toBe(destination.isAttempted);
    if (destination.isAttempted) expect(destination.endpoints.length).toBeGreaterThan(0);
  });
});

test("a type that is not in the table is a broken invariant", () => {
  expect(() => typeOf({ ...aTopicDestination("lake"), kind: "carrier-pigeon" })).toThrow();
});

test("the transport sends by the type of a destination, and another CA is one for all", async () => {
  const transport = await openTransport({
    timeoutMs: 5_000,
    allowNetworks: [],
    connectionMaxAgeMs: 60_000,
    ...NO_EGRESS,
  });
  const sender = transport.open(webhookDestination());
  const [endpoint] = webhookDestination().endpoints;
  if (endpoint === undefined) throw new Error("it has no endpoint");
  expect(sender.prepare(unitOf(DELETED), 0)).toMatchObject({ headers: expect.anything() });
  expect(sender.span(endpoint).name).toBe("POST");
  await sender.close();
  expect(() => transport.open({ ...webhookDestination(), kind: "carrier-pigeon" })).toThrow();
  expect(transport.update(NO_EGRESS)).toBe(false);
});

const ASKS = new RegExp(`\\b(?:kind|type) (?:===|!==) "(?:${FOLDERS.join("|")})"`);

test("nothing outside src/router/destinations compares the type of a destination", () => {
  const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.tsx?$/.test(file) && !file.startsWith("destinations/"),
  );
  expect(files.filter((file) => ASKS.test(readFileSync(join(SRC, file), "utf8")))).toEqual([]);
  expect('if (destination.kind === "webhook") return;').toMatch(ASKS);
});
