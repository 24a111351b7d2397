// Calls written by the schema that producers are offered are the same calls as in JSON.

import { readFileSync } from "node:fs";
import avro, { type Type } from "avsc";
import { expect, test } from "vitest";

import { decodeValue } from "../../../../src/domain/decode.ts";
import { parseCall } from "../../../../src/domain/parse-call.ts";
import { compileSchema } from "../../../../src/registry/compile.ts";
import { recordValue } from "../../../support/build/record-value.ts";

const schemaText = (name: string) =>
  readFileSync(new URL(`../../../../schemas/${name}.avsc`, import.meta.url), "utf8");
const [CALL_TYPE, CALL] = [schemaText("call-type"), schemaText("call")];
const KNOWN = compileSchema({
  type: "AVRO",
  text: CALL,
  references: [{ name: "switchyard.CallType", text: CALL_TYPE }],
});

function encodedCall(call: Readonly<Record<string, unknown>>): Buffer {
  const registry: Record<string, Type> = {};
  const options = { registry, wrapUnions: true } as const;
  avro.Type.forSchema(JSON.parse(CALL_TYPE), options);
  const schema = JSON.parse(CALL) as { readonly fields: readonly { readonly name: string }[] };
  const fields = schema.fields.map(({ name }) => {
    if (name === "type") return [name, call.type];
    const value = call[name];
    const isTime = typeof value === "string" && value.startsWith("2026-");
    return [name, isTime ? { long: Date.parse(value) } : wrapped(value)];
  });
  return avro.Type.forSchema(JSON.parse(CALL), options).toBuffer(Object.fromEntries(fields));
}

/** As avsc wants values of unions. */
function wrapped(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" || typeof value === "boolean") return { [typeof value]: value };
  if (typeof value === "number") return { [Number.isInteger(value) ? "long" : "double"]: value };
  if (Array.isArray(value)) return { array: value.map(wrapped) };
  const entries = Object.entries(value).map(([key, inner]) => [key, wrapped(inner)]);
  return { map: Object.fromEntries(entries) };
}

const AT = "2026-03-01T09:30:15.250Z";
const CONTEXT = { ip: "192.0.2.1", library: { name: "x", version: "1" }, traits: { plan: "pro" } };

test.each([
  { type: "identify", userId: "u", traits: { email: "a@b.example", age: 7, tags: ["a", 1, null] } },
  {
    ...{ type: "track", userId: "u", event: "Order", messageId: "m", timestamp: AT, sentAt: AT },
    properties: {
      total: 9.5,
      items: [{ sku: "1", n: 2 }],
      address: { geo: { lat: 1.5 } },
      x: null,
    },
  },
  { type: "page", anonymousId: "a", name: "Home", category: "c", properties: { url: "https://x" } },
  { type: "screen", userId: "u", name: "Main", context: CONTEXT, receivedAt: AT },
  { type: "group", userId: "u", groupId: "g", traits: { size: 5 }, originalTimestamp: AT },
  { type: "alias", userId: "new", previousId: "old", integrations: { All: false, Webhooks: true } },
])("$type", (call) => {
  const schema = { ref: 1, known: KNOWN, start: 0 };
  const value = encodedCall(call);
  const decoded = decodeValue({ value, headers: [], schema });
  const inJson = decodeValue(recordValue(JSON.stringify(call)));
  if (decoded.kind === "refused" || inJson.kind === "refused") throw new Error("refused");
  const read = parseCall(decoded.json);
  expect(read.kind).toBe("call");
  const expected = parseCall(inJson.json);
  if (expected.kind === "refused") throw new Error(expected.error);
  // Times that are absent are null in Avro.
  const {
    timestamp = null,
    originalTimestamp = null,
    sentAt = null,
    receivedAt = null,
  } = expected.call;
  const times = { timestamp, originalTimestamp, sentAt, receivedAt };
  expect(read.kind === "call" && read.call).toEqual({ ...expected.call, ...times });
});
