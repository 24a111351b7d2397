// The stages read what producers write with the schemas in schemas/: a call, each record of an audience sync, and both
// deletion requests.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import avro, { type Type } from "avsc";
import { expect, test } from "vitest";
import { parseCall } from "../../../src/domain/parse-call.ts";
import { compileSchema } from "../../../src/registry/compile.ts";
import { parseSync } from "../../../src/router/audience/parse-sync.ts";
import { ROOT } from "../../support/project/tracked-texts.ts";

const CALL_TYPE = { name: "switchyard.CallType", text: text("call-type") };

function text(name: string): string {
  return readFileSync(join(ROOT, "schemas", `${name}.avsc`), "utf8");
}

function typeOf(name: string): Type {
  const registry: Record<string, Type> = {};
  avro.Type.forSchema(JSON.parse(CALL_TYPE.text), { registry });
  return avro.Type.forSchema(JSON.parse(text(name)), { registry, wrapUnions: true });
}

/** Encodes a record like a producer, and decodes it. Absent fields have their defaults. */
function throughAvro(name: string, record: Readonly<Record<string, unknown>>): unknown {
  const references = name === "call" ? [CALL_TYPE] : [];
  const known = compileSchema({ type: "AVRO", text: text(name), references });
  if (known.kind !== "schema") throw new Error(known.error);
  const read = known.read(typeOf(name).toBuffer(record));
  if (read.kind !== "json") throw new Error(read.error);
  return JSON.parse(read.bytes.toString());
}

test("a call, with values of each kind", () => {
  const json = throughAvro("call", {
    type: "track",
    messageId: { string: "m1" },
    userId: { string: "u1" },
    event: { string: "Order Completed" },
    properties: {
      map: {
        total: { double: 12.5 },
        items: { array: [{ map: { sku: { string: "s1" }, quantity: { long: 2 } } }] },
        address: { map: { city: { string: "Köln" }, tags: { array: [{ string: "a" }] } } },
        note: null,
      },
    },
    integrations: { map: { All: { boolean: false }, Webhooks: { boolean: true } } },
    timestamp: { long: Date.parse("2026-03-01T09:30:15.250Z") },
    sourceId: { string: "web" },
  });
  const parsed = parseCall(json);
  expect(parsed).toMatchObject({
    kind: "call",
    call: {
      type: "track",
      messageId: "m1",
      userId: "u1",
      anonymousId: null,
      event: "Order Completed",
      properties: {
        total: 12.5,
        items: [{ sku: "s1", quantity: 2 }],
        address: { city: "Köln", tags: ["a"] },
        note: null,
      },
      integrations: { All: false, Webhooks: true },
      timestamp: "2026-03-01T09:30:15.250Z",
    },
  });
  expect(json).toMatchObject({ sourceId: "web", writeKey: null });
});

test.each(["identify", "page", "screen", "group", "alias"])("a call of type %s", (type) => {
  const record = {
    type,
    userId: { string: "u1" },
    groupId: { string: "g1" },
    previousId: { string: "a1" },
    traits: { map: { plan: { string: "pro" } } },
  };
  expect(parseCall(throughAvro("call", record))).toMatchObject({ kind: "call", call: { type } });
});

const OF_SYNC = { audienceId: { string: "vip" }, syncId: { string: "s1" } };
const NAMED = { ...OF_SYNC, audienceName: { string: "VIP" } };
const USERS = { userIds: { array: ["u1", "u2"] } };

test.each([
  [
    { type: "begin", ...NAMED },
    { audienceId: "vip", syncId: "s1", audienceName: "VIP" },
  ],
  [{ type: "members", ...OF_SYNC, ...USERS }, { userIds: ["u1", "u2"] }],
  [
    { type: "end", ...OF_SYNC, count: { long: 2 } },
    { count: 2, force: false },
  ],
  [{ type: "end", ...OF_SYNC, count: { long: 2 }, force: { boolean: true } }, { force: true }],
  [
    { type: "snapshot", ...NAMED, ...USERS },
    { userIds: ["u1", "u2"], force: false },
  ],
  [{ type: "approve", ...OF_SYNC }, { syncId: "s1" }],
  [{ type: "delete", audienceId: { string: "vip" } }, { audienceId: "vip" }],
  [
    {
      type: "trait",
      userId: { string: "u1" },
      traitName: { string: "Plan" },
      value: { string: "pro" },
    },
    { key: "plan", userId: "u1", value: "pro" },
  ],
  [
    { type: "trait", userId: { string: "u1" }, traitName: { string: "Plan" } },
    { key: "plan", value: null },
  ],
])("a record of a sync: %j", (record, expected) => {
  const parsed = parseSync(throughAvro("audience-sync", record));
  expect(parsed).toMatchObject({ kind: "sync", record: { type: record.type, ...expected } });
});

test("a deletion request, of some sources and of all", () => {
  const some = throughAvro("deletion-request", {
    userId: "u1",
    sourceIds: ["web"],
    timestamp: { long: Date.parse("2026-03-01T09:30:15.250Z") },
  });
  expect(some).toEqual({ userId: "u1", sourceIds: ["web"], timestamp: "2026-03-01T09:30:15.250Z" });
  // A field sourceIds would be rejected, whatever it contains.
  const all = throughAvro("deletion-request-for-all-sources", { userId: "u1" });
  expect(all).toEqual({ userId: "u1", timestamp: null, suppress: null });
});
