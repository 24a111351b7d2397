// The deletion stage with a schema registry, and the schemas for producers.

import { readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";

import { encoded, framed } from "../../../support/build/avro.ts";
import { DeletionWorld } from "../../../support/worlds/deletion-world.ts";
import { MemorySchemas } from "../../../support/worlds/memory-schemas.ts";

const schemaFile = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../../schemas/${name}.avsc`, import.meta.url), "utf8"));
const SOME = schemaFile("deletion-request");
const ALL = schemaFile("deletion-request-for-all-sources");

let world = new DeletionWorld();
afterEach(() => world.kill());

test("requests in Avro, for all sources and for some, are carried out", async () => {
  world = new DeletionWorld();
  const schemas = new MemorySchemas();
  schemas.learnAvro(1, ALL);
  schemas.learnAvro(2, SOME);
  const deletion = await world.start(schemas);
  world.append(framed(1, encoded(ALL, { userId: "jane", timestamp: null })));
  world.append(framed(2, encoded(SOME, { userId: "joe", sourceIds: ["ios"], timestamp: null })));
  world.append(framed(2, encoded(SOME, { userId: "jim", sourceIds: [], timestamp: null })));
  await world.until(() => world.notified("hook").length === 3 && world.deadLetters().length === 1);
  await deletion.close();
  expect(world.notified("hook").toSorted()).toEqual(["jane at ios", "jane at web", "joe at ios"]);
  expect(deletion.failures).toEqual([]);
});

/** The usual form of an optional field. */
const OPTIONAL = {
  type: "record",
  name: "DeletionRequest",
  fields: [
    { name: "userId", type: "string" },
    { name: "sourceIds", type: ["null", { type: "array", items: "string" }], default: null },
  ],
};

test("a null that an Avro schema gives is no sourceIds, and one that was written in JSON is invalid", async () => {
  world = new DeletionWorld();
  const schemas = new MemorySchemas();
  schemas.learnAvro(1, OPTIONAL);
  const deletion = await world.start(schemas);
  world.append(framed(1, encoded(OPTIONAL, { userId: "jane", sourceIds: null })));
  world.append(framed(1, encoded(OPTIONAL, { userId: "joe", sourceIds: { array: ["ios"] } })));
  world.append({ userId: "jim", sourceIds: null });
  await world.until(() => world.notified("hook").length === 3 && world.deadLetters().length === 1);
  await deletion.close();
  expect(world.notified("hook").toSorted()).toEqual(["jane at ios", "jane at web", "joe at ios"]);
});

test("a null of an Avro schema makes no request for all sources where another field names one", async () => {
  const field = (name: string) => ({ name, type: ["null", "string"], default: null });
  const schema = { ...OPTIONAL, fields: [...OPTIONAL.fields, field("sourceId"), field("reason")] };
  const none = { sourceIds: null, sourceId: null, reason: null };
  world = new DeletionWorld();
  const schemas = new MemorySchemas();
  schemas.learnAvro(1, schema);
  const deletion = await world.start(schemas);
  world.append(
    framed(1, encoded(schema, { ...none, userId: "jane", sourceId: { string: "ios" } })),
  );
  world.append(framed(1, encoded(schema, { ...none, userId: "joe" })));
  await world.until(() => world.notified("hook").length === 2 && world.deadLetters().length === 1);
  await deletion.close();
  expect(world.notified("hook").toSorted()).toEqual(["joe at ios", "joe at web"]);
});
