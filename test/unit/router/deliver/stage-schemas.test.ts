// The deliver stage with a schema registry: the route stage writes no schemas, but other producers may write values
// with schemas to a destination's topic.

import { expect, test } from "vitest";

import { deliveryHeaders } from "../../../../src/domain/delivery.ts";
import type { DestinationId, MessageId } from "../../../../src/domain/ids.ts";
import { encoded, framed } from "../../../support/build/avro.ts";
import { deliveryOf, webhookDestination } from "../../../support/build/webhook-destination.ts";
import { DeliverWorld, HOUR_MS, topics } from "../../../support/worlds/deliver-world.ts";
import { MemorySchemas, UNKNOWN } from "../../../support/worlds/memory-schemas.ts";
import type { ScriptedResponse } from "../../../support/worlds/scripted-http.ts";

const CALL = {
  type: "record",
  name: "Call",
  fields: ["type", "user_id", "event"].map((name) => ({ name, type: "string" })),
};
const VALUE = encoded(CALL, { type: "track", user_id: "u", event: "avro" });
const FRAMED = framed(7, VALUE);
const CRM = "crm" as DestinationId;

async function world(
  schemas: MemorySchemas,
  respond: (earlier: number) => ScriptedResponse = () => 200,
  partitions = 1,
  order: "loose" | "strict" = "loose",
) {
  const destinations = ["crm", "other"].map((id) =>
    webhookDestination({ id, urls: [`http://${id}.test/`], order }),
  );
  const made = new DeliverWorld({
    schemas,
    destinations,
    partitions,
    respond: (_sent, earlier) => respond(earlier),
  });
  await made.startDeliver();
  await made.startDelay();
  return made;
}

const bodies = (made: DeliverWorld) =>
  made.http.sent.map(({ url, body }) => [new URL(url).hostname, JSON.parse(`${body}`).event]);

test("a value with a schema is delivered as its JSON, also after it was scheduled for retry", async () => {
  const schemas = new MemorySchemas();
  schemas.learnAvro(7, CALL);
  const made = await world(schemas, (earlier) => (earlier === 0 ? 503 : 200));
  const headers = deliveryHeaders(deliveryOf({ receivedAtMs: made.clock.nowMs() }));
  const header = ["__value_schema_id", Buffer.of(0, 0, 0, 0, 7)] as const;
  made.append({}, { value: VALUE, headers: [header, ...headers] });
  await made.settle(30_000);
  expect(bodies(made)).toEqual([
    ["crm.test", "avro"],
    ["crm.test", "avro"],
  ]);
  expect(made.http.sent[0]?.body).toEqual(made.http.sent[1]?.body);
  expect(made.deadLetters()).toEqual([]);
});

test("an outage puts the queue behind such a value on hold, no other destination, and costs no window", async () => {
  const schemas = new MemorySchemas();
  const made = await world(schemas);
  made.append({}, { value: FRAMED });
  made.append({ messageId: "m-2" as MessageId });
  made.append({ destination: "other" as DestinationId });
  await made.settle(5 * HOUR_MS);
  expect(bodies(made)).toEqual([["other.test", "e"]]);
  expect(made.deadLetters()).toEqual([]);
  schemas.learnAvro(7, CALL);
  await made.settle(10_000);
  expect(bodies(made).slice(1).toSorted()).toEqual([
    ["crm.test", "avro"],
    ["crm.test", "e"],
  ]);
  expect(made.deadLetters()).toEqual([]);
});

test("a partition that waits for a schema stops no other one, and no delivery that comes back", async () => {
  const schemas = new MemorySchemas();
  // The very first request fails, so this delivery is returned after 10 s.
  const made = await world(schemas, (earlier) => (earlier === 0 ? 503 : 200), 2);
  const topic = topics.deliveries(CRM);
  const headersOf = (messageId: string) =>
    deliveryHeaders(
      deliveryOf({ messageId: messageId as MessageId, receivedAtMs: made.clock.nowMs() }),
    );
  // This is as much as a partition may have in flight, and much more than all partitions may have together.
  const padding = Buffer.alloc(8_000, " ");
  const json = (event: string) =>
    Buffer.concat([Buffer.from(`{"type":"track","event":"${event}","userId":"u"}`), padding]);
  for (let at = 0; at < 600; at += 1) {
    const value = Buffer.concat([FRAMED, padding]);
    made.cluster.append({ topic, partition: 0, key: null, value, headers: headersOf(`a${at}`) });
  }
  for (let at = 0; at < 600; at += 1) {
    const [value, headers] = [json(`e${at}`), headersOf(`b${at}`)];
    made.cluster.append({ topic, partition: 1, key: null, value, headers });
  }
  await made.settle(HOUR_MS);
  const events = () => new Set(bodies(made).map(([, event]) => event));
  expect(events().size).toBe(600);
  expect(made.http.sent).toHaveLength(601);
  // A retry also waits alone, and the queue continues.
  const retries = topics.retries(CRM);
  const back = [FRAMED, json("behind")];
  for (const [at, value] of back.entries()) {
    made.cluster.append({ topic: retries, key: null, value, headers: headersOf(`r${at}`) });
  }
  const later = { key: null, value: json("later"), headers: headersOf("later") };
  made.cluster.append({ topic, partition: 1, ...later });
  await made.settle(HOUR_MS);
  expect(events()).toContain("later");
  expect(events()).not.toContain("behind");
  expect(made.deadLetters()).toEqual([]);
  schemas.learnAvro(7, CALL);
  await made.settle(HOUR_MS);
  expect(events()).toContain("behind");
});

test("one whose schema the registry does not know is a dead letter, with its bytes", async () => {
  const schemas = new MemorySchemas();
  schemas.learn(7, UNKNOWN);
  const made = await world(schemas);
  made.append({}, { value: FRAMED });
  await made.settle(2_000);
  expect(made.http.sent).toEqual([]);
  expect(made.deadLetters()).toMatchObject([{ "switchyard-reason": "unknown-schema" }]);
  const [deadLetter] = made.cluster.records("sw.dead-letters");
  expect(deadLetter?.value).toEqual(FRAMED);
});

test("a value that waited behind another one of its user is delivered as JSON, too", async () => {
  const schemas = new MemorySchemas();
  schemas.learnAvro(7, CALL);
  const made = await world(schemas, (earlier) => (earlier === 0 ? 503 : 200), 1, "strict");
  const headers = deliveryHeaders(deliveryOf({ receivedAtMs: made.clock.nowMs() }));
  made.append({});
  made.append({}, { value: FRAMED, headers });
  await made.settle(30_000);
  expect(bodies(made)).toEqual([
    ["crm.test", "e"],
    ["crm.test", "e"],
    ["crm.test", "avro"],
  ]);
});
