// A call in `calls` as the timeline reads it, with and without a schema in the registry.

import { expect, test } from "vitest";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import { factsBy, factsWith } from "../../../../src/operator/timeline/facts.ts";
import type { Lookup } from "../../../../src/registry/port.ts";
import { encoded, framed } from "../../../support/build/avro.ts";
import { config } from "../../../support/build/config-source.ts";
import { foundSchema, scriptedSchemas } from "../../../support/worlds/scripted-schemas.ts";

const CALL = {
  type: "record",
  name: "Call",
  fields: ["type", "event", "user_id", "message_id"].map((name) => ({ name, type: "string" })),
};
const AVRO = encoded(CALL, { type: "track", event: "Order", user_id: "u", message_id: "m-1" });
const NOW_MS = Date.UTC(2026, 2, 1);
const FOUND = foundSchema(CALL);

function facts(response: Lookup, value: Buffer) {
  const schemas = scriptedSchemas(() => response);
  const of = config(`
kafka: { brokers: [k:9092] }
defaultSource: web
sources: [{ id: web, destinations: [hook] }]
destinations: [{ id: hook, type: webhook, endpoints: [{ url: "https://a.example.com/" }] }]
`);
  const place = { topic: "sw.calls", partition: 0, offset: 7, timestampMs: NOW_MS };
  const record: IncomingRecord = { ...place, key: null, value, headers: [] };
  return factsWith(schemas, factsBy(of, topicNames("sw."), NOW_MS))(record);
}

test("a value with a schema is read by it", async () => {
  expect(await facts(FOUND, framed(7, AVRO))).toMatchObject({
    ...{ kind: "call", messageId: "m-1", event: "Order", source: "web" },
    destinations: [{ destination: "hook", gets: true }],
  });
});

test("JSON needs no registry, and waits for none", () => {
  const value = Buffer.from('{"type":"track","event":"Order","userId":"u","messageId":"m-1"}');
  expect(facts({ kind: "outage", error: "unavailable" }, value)).toMatchObject({
    ...{ kind: "call", messageId: "m-1" },
  });
});

test("without its schema it is reported as unusable, with the reason", async () => {
  const refused = "the registry refuses connections";
  expect(await facts({ kind: "outage", error: refused }, framed(7, AVRO))).toEqual({
    ...{ kind: "unusable", reason: "schema not known", error: refused },
  });
  const unknown = "the registry does not know schema 7";
  expect(await facts({ kind: "unknown", error: unknown }, framed(7, AVRO))).toEqual({
    ...{ kind: "unusable", reason: "unknown-schema", error: unknown },
  });
});

test.each([
  ["the user of a call", { type: "track", event: "e", userId: "u", previousId: "p" }, ["u"]],
  ["both users of an alias", { type: "alias", userId: "u", previousId: "p" }, ["u", "p"]],
  ["nobody, if there is only an anonymous ID", { type: "page", anonymousId: "u" }, []],
])("a suppression applies to a call by %s", (_what, call, userIds) => {
  const value = Buffer.from(JSON.stringify(call));
  expect(facts({ kind: "outage", error: "unavailable" }, value)).toMatchObject({ userIds });
});
