// The real program with a real registry: values with and without schemas, an outage of the registry, and a schema that
// is registered after its first value.

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { RecordHeaders } from "../../src/domain/record.ts";
import { type PrivateRegistry, startPrivateRegistry } from "../../tools/kafka/registry.ts";
import { encoded, framed, varint } from "../support/build/avro.ts";
import { useKafka } from "../support/kit/kafka.ts";
import { useProgram } from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import { registerSchema } from "../support/servers/schema-registry.ts";

interface Webhook {
  readonly type: string;
  readonly event?: string;
  readonly userId: string;
  readonly properties?: unknown;
  readonly traits?: unknown;
  readonly timestamp: string;
}

const PROPERTIES = {
  type: "record",
  name: "Properties",
  fields: [
    { name: "order_id", type: "string" },
    { name: "total", type: { type: "bytes", logicalType: "decimal", precision: 9, scale: 2 } },
    { name: "shipped_at", type: ["null", { type: "long", logicalType: "timestamp-micros" }] },
    { name: "more", type: { type: "map", values: ["null", "int", "string"] } },
  ],
};
const CALL = {
  type: "record",
  name: "Call",
  namespace: "com.acme",
  fields: [
    { name: "type", type: { type: "enum", name: "Kind", symbols: ["track", "page"] } },
    { name: "user_id", type: ["null", "string"] },
    { name: "event", type: "string" },
    { name: "timestamp", type: { type: "long", logicalType: "timestamp-micros" } },
    { name: "properties", type: "Properties" },
  ],
};
const ONE_TEXT = (name: string) => ({
  type: "record",
  name,
  fields: [{ name: "userId", type: "string" }],
});
const AT_MS = Date.UTC(2026, 2, 1, 9, 30, 15, 250);
const MICROS = AT_MS * 1_000 + 7;

/** Returns a call whose `Properties` are in a separate schema. */
function avroCall(userId: string, event: string): Buffer {
  const whole = {
    ...CALL,
    fields: CALL.fields.map((field) =>
      field.type === "Properties"
        ? { ...field, type: { ...PROPERTIES, namespace: "com.acme" } }
        : field,
    ),
  };
  return encoded(whole, {
    ...{ type: "track", user_id: { string: userId }, event, timestamp: MICROS },
    properties: {
      ...{ order_id: "o1", total: Buffer.from([0x30, 0x39]), shipped_at: { long: MICROS } },
      more: { n: { int: 1 }, s: { string: "x" }, z: null },
    },
  });
}

const JSON_PROPERTIES = {
  order_id: "o1",
  total: 123.45,
  shipped_at: "2026-03-01T09:30:15.250007Z",
  more: { n: 1, s: "x", z: null },
};
const jsonCall = (userId: string, event: string) => ({
  type: "track",
  userId,
  event,
  timestamp: "2026-03-01T09:30:15.250Z",
  properties: JSON_PROPERTIES,
});

let registry: PrivateRegistry;
let received: Webhook[] = [];

beforeAll(async () => {
  registry = await startPrivateRegistry();
});

afterAll(() => registry?.[Symbol.asyncDispose]());

beforeEach(() => {
  received = [];
});

async function world() {
  const { url } = await useReceiver(({ body }) => {
    received.push(JSON.parse(body) as Webhook);
    return 200;
  });
  const own = useKafka("avro");
  const program = useProgram({
    kafka: { brokers: own.brokers, topicPrefix: own.prefix, partitions: 3 },
    registry: { url: registry.url },
    destinations: {
      hook: { messageIdHeader: false, endpoints: [{ url }] },
      other: { type: "topic", name: "Other" },
    },
    audienceDefaults: { source: "web" },
  });
  const running = await program.ready();
  const write = (
    topic: string,
    value: Buffer | object,
    partition = 0,
    headers: RecordHeaders = [],
  ) => own.write(topic, [{ value, partition, headers }]);
  return { prefix: own.prefix, program, running, write };
}

async function registerCall(subject: string): Promise<number> {
  const inner = { ...PROPERTIES, namespace: "com.acme" };
  const first = await registerSchema(registry.url, `${subject}-p`, {
    schema: JSON.stringify(inner),
  });
  expect(first).toBeGreaterThan(0);
  return await registerSchema(registry.url, subject, {
    schema: JSON.stringify(CALL),
    references: [{ name: "com.acme.Properties", subject: `${subject}-p`, version: 1 }],
  });
}

const header = (id: number): RecordHeaders[number] => {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt32BE(id, 1);
  return ["__value_schema_id", bytes];
};
const eventsOf = () => received.map(({ event }) => event).toSorted();

test("Avro, JSON Schema and JSON in one topic arrive as the same webhooks", async () => {
  const { prefix, write } = await world();
  const avro = await registerCall(`${prefix}call`);
  const json = await registerSchema(registry.url, `${prefix}json`, {
    schema: '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}',
    schemaType: "JSON",
  });
  await write("calls", jsonCall("u", "json"));
  await write("calls", framed(avro, avroCall("u", "avro")));
  await write("calls", avroCall("u", "header"), 0, [header(avro)]);
  await write("calls", framed(json, Buffer.from(JSON.stringify(jsonCall("u", "schema")))));
  await expect.poll(eventsOf).toEqual(["avro", "header", "json", "schema"]);
  for (const webhook of received) {
    const { event, ...rest } = jsonCall("u", webhook.event ?? "");
    expect(webhook).toEqual({ version: 1, ...rest, event });
  }

  const sync = await registerSchema(registry.url, `${prefix}sync`, {
    schema: JSON.stringify({
      type: "record",
      name: "Snapshot",
      fields: [
        ...["type", "audience_id", "audience_name", "sync_id"].map((name) => ({
          name,
          type: "string",
        })),
        { name: "user_ids", type: { type: "array", items: "string" } },
      ],
    }),
  });
  const texts = ["snapshot", "vip", "VIP", "s1"].map((each) =>
    Buffer.concat([varint(BigInt(each.length)), Buffer.from(each)]),
  );
  const members = Buffer.concat([...texts, Buffer.from("\x02\x04u1\x00")]);
  await write("audience-syncs", framed(sync, members));
  const deletion = await registerSchema(registry.url, `${prefix}deletion`, {
    schema: JSON.stringify({
      ...ONE_TEXT("Deletion"),
      fields: [{ name: "user_id", type: "string" }],
    }),
  });
  await write("deletion-requests", framed(deletion, Buffer.from("\x04u9")));
  await expect
    .poll(() => received.map(({ type, userId }) => `${type} ${userId}`))
    .toEqual(expect.arrayContaining(["identify u1", "delete u9"]));
  expect(received.find(({ type }) => type === "identify")?.traits).toEqual({ vip: true });
});

test("while the registry is unreachable a partition waits and the others continue; then everything arrives", async () => {
  const { prefix, running, write } = await world();
  const known = await registerCall(`${prefix}call`);
  // The same schema under another subject would have the same ID.
  const later = await registerSchema(registry.url, `${prefix}later`, {
    schema: JSON.stringify({
      ...CALL,
      doc: prefix,
      fields: CALL.fields.map((field) =>
        field.type === "Properties" ? { name: "properties", type: PROPERTIES } : field,
      ),
    }),
  });
  expect(later).not.toBe(known);
  await write("calls", framed(known, avroCall("u", "before")), 1);
  await expect.poll(eventsOf).toEqual(["before"]);

  await registry.kill();
  await write("calls", framed(later, avroCall("u", "waits")), 0);
  await write("calls", jsonCall("u", "waits behind it"), 0);
  await running.logged("registry.unreachable");
  await write("calls", jsonCall("u", "json"), 1);
  await write("calls", framed(known, avroCall("u", "known")), 2);
  await write("deletion-requests", { userId: "u9" });
  await expect.poll(eventsOf).toEqual(["before", "json", "known", undefined]);
  expect(await running.get("/readyz")).toContain("refuses connections");

  await registry.restart();
  await expect
    .poll(eventsOf)
    .toEqual(["before", "json", "known", "waits", "waits behind it", undefined]);
  await running.logged("registry.reachable");
  expect(await running.stop()).toBe(0);
  expect(received).toHaveLength(6);
});

test("a value whose schema is unknown is a dead letter, and its replay works when it is known", async () => {
  const { prefix, program, running, write } = await world();
  const known = await registerCall(`${prefix}call`);
  const next = known + 2;
  await write("calls", framed(next, avroCall("u", "early")), 0);
  await write("calls", framed(known, Buffer.concat([avroCall("u", "long"), Buffer.of(1)])), 0);
  await write("calls", framed(known, avroCall("u", "fine")), 0);
  await expect.poll(eventsOf).toEqual(["fine"]);
  const refused = () => running.lines.filter(({ msg }) => msg === "record.dead-lettered");
  await expect
    .poll(refused)
    .toMatchObject([{ reason: "unknown-schema" }, { reason: "undecodable" }]);
  expect(refused()[1]?.error).toContain("1 more byte than its schema");

  // Two more schemas are registered. The second one has the ID in `early`.
  for (const number of [1, 2]) {
    const whole = {
      ...CALL,
      doc: `${prefix}${number}`,
      fields: CALL.fields.map((field) =>
        field.type === "Properties" ? { name: "properties", type: PROPERTIES } : field,
      ),
    };
    const schema = JSON.stringify({ ...whole, name: `Call${number}` });
    const id = await registerSchema(registry.url, `${prefix}${number}`, { schema });
    expect(id).toBe(known + number);
  }
  // The result that the schema does not exist is cached for 10 s.
  const replay = async () => {
    const args = ["dead-letters", "replay", "--reason", "unknown-schema"];
    expect((await program.command(args)).status).toBe(0);
    return eventsOf().includes("early");
  };
  await expect.poll(replay, { interval: 3_000 }).toBe(true);
});
