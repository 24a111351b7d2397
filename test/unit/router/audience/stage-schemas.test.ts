// The audience stage with a schema registry, and the schema for producers.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

import { encoded, framed } from "../../../support/build/avro.ts";
import { AudienceWorld } from "../../../support/worlds/audience-world.ts";
import { MemorySchemas } from "../../../support/worlds/memory-schemas.ts";

const SCHEMA = JSON.parse(
  readFileSync(new URL("../../../../schemas/audience-sync.avsc", import.meta.url), "utf8"),
) as { readonly fields: readonly { readonly name: string }[] };
const ABSENT = Object.fromEntries(SCHEMA.fields.map(({ name }) => [name, null]));
const avro = (id: number, fields: object) => framed(id, encoded(SCHEMA, { ...ABSENT, ...fields }));
const s = (string: string) => ({ string });
const users = (...ids: string[]) => ({ array: ids });

test("a sync in Avro, with null in each field that it does not use, is the same as one in JSON", async () => {
  const schemas = new MemorySchemas();
  schemas.learnAvro(7, SCHEMA);
  const world = new AudienceWorld({ schemas });
  const process = await world.start();
  const first = { audienceId: s("a1"), syncId: s("s1") };
  world.append(avro(7, { ...first, type: "begin", audienceName: s("VIP") }), 0);
  world.append(avro(7, { ...first, type: "members", userIds: users("u1", "u2") }), 0);
  world.append(avro(7, { ...first, type: "end", count: { long: 2 } }), 0);
  await world.settle();
  expect(world.reported()).toEqual(["u1 vip=true", "u2 vip=true"]);
  world.sync("a1", "s2", ["u2", "u3"], "VIP");
  const third = { audienceId: s("a1"), syncId: s("s3"), audienceName: s("VIP") };
  world.append(avro(7, { ...third, type: "snapshot", userIds: users("u3") }), 0);
  await world.settle();
  expect(world.reported(2)).toEqual(["u3 vip=true", "u1 vip=false", "u2 vip=false"]);
  expect(world.deadLetters()).toEqual([]);
  await process.close();
  expect(process.failures).toEqual([]);
});

test("a stop while the registry is unreachable leaves the sync to the next owner", async () => {
  const unavailable = new MemorySchemas();
  const world = new AudienceWorld({ schemas: unavailable });
  const process = await world.start();
  const snapshot = { type: "snapshot", audienceName: s("VIP"), userIds: users("u1") };
  world.append(avro(7, { ...snapshot, audienceId: s("a1"), syncId: s("s1") }), 0);
  await world.until(() => unavailable.waiting === 1);
  await process.close();
  expect(process.failures).toEqual([]);
  unavailable.learnAvro(7, SCHEMA);
  const second = await world.start(process.stores);
  await world.settle();
  expect(world.reported()).toEqual(["u1 vip=true"]);
  await second.close();
});
