// Canaries on a real Kafka: a search for the bytes of values that the rules of two destinations drop or hash finds
// nothing in any data of these destinations, while a destination without rules gets the values unchanged. Endpoints
// return what they get, so that a value in a request would also be in the log, the attempts and the traces.

import { createHash, createHmac } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";

import { DELIVERY_HEADER } from "../../src/domain/delivery.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import { buildPage } from "../../tools/page/build.ts";
import { encoded, framed } from "../support/build/avro.ts";
import { headerTexts } from "../support/build/calls.ts";
import { type UsedKafka, useKafka } from "../support/kit/kafka.ts";
import {
  type UsedProcess,
  type UsedProgram,
  useProgram,
  WRITE_KEY,
} from "../support/kit/program.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import { type OtlpCollector, startOtlpCollector } from "../support/servers/otlp-collector.ts";
import { registerSchema, sharedRegistry } from "../support/servers/schema-registry.ts";

const PEPPER = "pepper-of-24-characters-";

/**
 * The strings to search for: a value without its first letter, which some values encode as an escape, and a user ID
 * that is a number.
 */
const CANARIES = ["anary-5f1e", "90071992547409937701"];
const [USER, NUMBER] = ["canary-5f1e-user", CANARIES[1] ?? ""];
const [EMAIL, PHONE] = ["canary-5f1e@x.test", "canary-5f1e-phone"];
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const hmac = (text: string) => createHmac("sha256", PEPPER).update(text).digest("hex");

const RULES = {
  dropping: `
    filters:
      - name: nothing personal
        sources: [web]
        dropProperties:
          "": [userId, anonymousId]
          traits: [email, phone]
          context.traits: [email, phone]
          properties: [email, phone]
          properties.items: [email]
    map: [{ remove: context.ip }]`,
  hashing: `
    map:
      - { hash: userId, algorithm: hmac-sha256, secret: "${PEPPER}" }
      - { hash: anonymousId, algorithm: hmac-sha256, secret: "${PEPPER}" }
      - { hash: traits.email, normalize: email }
      - { hash: context.traits.email, normalize: email }
      - { hash: properties.email, normalize: email }
      - { hash: properties.items.email, normalize: email }
      - { remove: traits.phone }
      - { remove: context.traits.phone }
      - { remove: properties.phone }
      - { remove: context.ip }`,
};
const RULED = Object.keys(RULES);
/** Topics that do not belong to a destination with rules. */
const OTHER_TOPICS = ["calls", "deletion-requests", "audience-syncs", "deliveries.plain"];

const json = (value: object) => Buffer.from(JSON.stringify(value));
const ids = { userId: USER, anonymousId: "canary-5f1e-anonymous" };
const context = { ip: "canary-5f1e-ip", traits: { email: EMAIL, phone: PHONE, plan: "pro" } };
const person = { email: EMAIL, phone: PHONE, plan: "pro" };

const PLAIN_CALLS: readonly (readonly [messageId: string, value: Buffer])[] = [
  ["identify", json({ type: "identify", messageId: "identify", ...ids, traits: person })],
  ["context-only", json({ type: "identify", messageId: "context-only", ...ids, context })],
  [
    "lists",
    json({
      ...{ type: "track", event: "Order", messageId: "lists", ...ids, context },
      properties: { ...person, items: [{ email: EMAIL, sku: 1 }, "x", { email: PHONE }] },
    }),
  ],
  ["page", json({ type: "page", messageId: "page", ...ids, traits: person, properties: person })],
  ["group", json({ type: "group", groupId: "g", messageId: "group", ...ids, traits: person })],
  [
    "escapes",
    Buffer.from(
      String.raw`{ "type":"identify","messageId":"escapes","us\u0065rId":"\u0063anary-5f1e-user", "anonymousId" : "\u0063anary-5f1e-a","tr\u0061its":{"\u0065mail":"\u0063anary-5f1e@x.test","ph\u006fne":"\u0063anary-5f1e-p","plan":"pro"},"context":{"\u0069p":"\u0063anary-5f1e"}}`,
    ),
  ],
  [
    "repeats",
    Buffer.from(
      `{"type":"identify","messageId":"repeats","userId":"canary-5f1e-first","userId":"${USER}","anonymousId":"canary-5f1e-a","anonymousId":null,"traits":{"email":"canary-5f1e-t"},"traits":{"email":"canary-5f1e-1","email":"${EMAIL}","phone":"canary-5f1e-2","phone":{"a":"canary-5f1e-3"},"plan":"pro"}}`,
    ),
  ],
  [
    "number",
    Buffer.from(
      `{"type":"track","event":"E","messageId":"number","userId":${NUMBER},"properties":{"email":["${EMAIL}",{"a":"${EMAIL}"},null],"total":1.50}}`,
    ),
  ],
];
const SCHEMA_CALLS = ["avro", "json-schema"] as const;
const INGESTED = "ingested";
const MESSAGE_IDS = [...PLAIN_CALLS.map(([id]) => id), ...SCHEMA_CALLS, INGESTED];

const AVRO = {
  ...{ type: "record", name: "Order" },
  fields: [
    ...["type", "event", "messageId", "userId"].map((name) => ({ name, type: "string" })),
    { name: "properties", type: { type: "map", values: "string" } },
  ],
};

async function schemaRecords(subject: string): Promise<readonly Buffer[]> {
  const registry = await sharedRegistry();
  const schema = JSON.stringify(AVRO);
  const avro = await registerSchema(registry, `${subject}avro`, { schema });
  const jsonSchema = await registerSchema(registry, `${subject}json`, {
    schema: `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`,
    schemaType: "JSON",
  });
  const call = { type: "track", event: "E", userId: USER };
  const avroCall = { ...call, messageId: "avro", properties: person };
  return [
    framed(avro, encoded(AVRO, avroCall)),
    framed(jsonSchema, json({ ...call, messageId: "json-schema", properties: person })),
  ];
}

interface Received {
  readonly path: string;
  readonly messageId: string;
  readonly status: number;
  readonly bytes: Buffer;
}

/**
 * Starts a receiver. The endpoint without rules accepts everything. The others fail, reject, fail and then accept each
 * call, and return what they got.
 */
async function startReceiver() {
  const received: Received[] = [];
  const { url } = await useReceiver(
    ({ path: at, id: messageId, earlier, rawHeaders, bytes: body }) => {
      const path = at.slice(1);
      const isRuled = RULED.includes(path);
      const status = isRuled ? ([503, 400, 503][earlier] ?? 200) : 200;
      const bytes = Buffer.concat([Buffer.from(rawHeaders.join("\n")), body]);
      received.push({ path, messageId, status, bytes });
      return { status, body: isRuled ? body : "" };
    },
  );
  return { received, url };
}

interface World extends UsedKafka {
  readonly world: UsedProgram;
  readonly program: UsedProcess;
  readonly received: readonly Received[];
  readonly collector: OtlpCollector;
  readonly console: string;
}

async function startWorld(): Promise<World> {
  const own = useKafka("canaries");
  const { prefix, brokers } = own;
  const [registry, collector, { received, url: hooks }] = await Promise.all([
    sharedRegistry(),
    startOtlpCollector(),
    startReceiver(),
    buildPage(),
  ]);
  onTestFinished(() => collector[Symbol.asyncDispose]());
  const hook = (id: string, rules: string) => `  - id: ${id}
    type: webhook
    payload: full
    messageIdHeader: true
    traceparent: true
    endpoints: [{ url: "${hooks}/${id}" }]${rules}`;
  const world = useProgram(`
kafka: { brokers: [${brokers.join(", ")}], topicPrefix: "${prefix}", partitions: 2, replicationFactor: 1 }
registry: { url: "${registry}" }
sources: [{ id: web, writeKey: ${WRITE_KEY}, destinations: [${RULED.join(", ")}, plain] }]
defaultSource: web
destinations:
${Object.entries(RULES)
  .map(([id, rules]) => hook(id, rules))
  .join("\n")}
${hook("plain", "")}
attempts: { enabled: true, responseBytes: 4KiB }
operatorEvents: { enabled: true }
delivery: { retryDelays: [1s], allowNetworks: [127.0.0.0/8] }
ingest: { host: 127.0.0.1, port: 0, handover: 100ms }
admin: { host: 127.0.0.1, port: 0 }
console: { host: 127.0.0.1, port: 0, showPayloads: true }
tracing: { url: "${collector.url}", sampleRatio: 100% }
log: { level: debug, attempts: all }
`);
  const program = await world.ready("ingest,route,deletion,deliver,delay,console");
  const { url } = await program.logged("console.listening");
  const console = new URL(String(url)).origin;
  return { ...own, world, program, received, collector, console };
}

async function send({ prefix, write, program }: World): Promise<void> {
  const values = [...PLAIN_CALLS.map(([, value]) => value), ...(await schemaRecords(prefix))];
  await write(
    "calls",
    values.map((value) => ({ key: USER, value })),
  );
  const call = { ...ids, messageId: INGESTED, traits: person, context };
  expect(await program.post("/v1/identify", call)).toBe(200);
}

/** Runs a deletion, replays and retries on the calls; see the steps of the receiver. */
async function liveThroughAll(on: World): Promise<void> {
  const { world, received, recordsIn } = on;
  const all = MESSAGE_IDS.length;
  const deadLetters = async () => (await recordsIn("dead-letters")).length;
  const accepted = (path: string) =>
    received.filter((each) => each.path === path && each.status === 200).length;
  const run = async (...args: readonly string[]) =>
    expect(await world.inProcess(args)).toMatchObject({ status: 0 });
  await send(on);
  await expect.poll(deadLetters).toBe(RULED.length * all);
  await run("dead-letters", "replay", "--since", "1h");
  for (const id of RULED) await expect.poll(() => accepted(id)).toBe(all);
  for (const id of RULED) await run("replay", id, "--since", "1h");
  for (const id of RULED) await expect.poll(() => accepted(id)).toBe(2 * all);
  await run("delete", USER);
  await expect.poll(deadLetters).toBe(RULED.length * all + 1);
  await expect.poll(() => accepted("plain")).toBe(all + 1);
}

const bytesOf = ({ key, value, headers }: IncomingRecord) =>
  Buffer.concat([key, value, ...headers.flat()].map((part) => Buffer.from(part ?? "")));

/** Returns the body of a response; for a stream of events, the start of it. */
async function bodyOf(url: string): Promise<Buffer> {
  const { body, status } = await fetch(url);
  expect(status).toBe(200);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) {
    chunks.push(chunk as Uint8Array);
    if (url.includes("/api/events") && Buffer.concat(chunks).includes("data: {")) break;
  }
  return Buffer.concat(chunks);
}

/** Returns the view of a call without the data of the destination without rules. */
function ofRuled(view: Buffer): Buffer {
  const parsed = JSON.parse(view.toString()) as Record<string, readonly { destination: string }[]>;
  const [requests, steps] = [parsed.requests ?? [], parsed.steps ?? []];
  expect(requests).toHaveLength(RULED.length + 1);
  expect(steps.filter(({ destination }) => destination === "plain")).not.toEqual([]);
  const kept = requests.filter(({ destination }) => destination !== "plain");
  return json({ ...parsed, requests: kept });
}

type Place = readonly [name: string, bytes: Buffer];

async function consolePlaces({
  console: base,
  program,
  received,
}: World): Promise<readonly Place[]> {
  const deleted = received.find(({ bytes }) => bytes.includes('"delete"'))?.messageId ?? "";
  const admin = await program.admin();
  const addresses = [
    ...["dead-letters", "calls", "configuration"].map((name) => `${base}/api/${name}`),
    ...RULED.map((id) => `${base}/api/attempts?destination=${id}`),
    ...RULED.map((id) => `${base}/api/events?of=destination&id=${id}`),
    ...["overview", "destinations"].map((of) => `${base}/api/events?of=${of}`),
    ...["/metrics", "/status", "/readyz"].map((path) => `http://${admin}${path}`),
  ];
  const places: Place[] = [
    ["the notification's timeline", await bodyOf(`${base}/api/call?id=${deleted}`)],
  ];
  for (const address of addresses) places.push([address, await bodyOf(address)]);
  for (const id of MESSAGE_IDS) {
    places.push([`call ${id}`, ofRuled(await bodyOf(`${base}/api/call?id=${id}`))]);
  }
  return places;
}

async function commandPlaces({ world }: World): Promise<readonly Place[]> {
  const commands = [
    ...["escapes", "repeats", "avro"].flatMap((id) => [
      ["timeline", id, "--since", "1h"],
      ["timeline", id, "--since", "1h", "--json"],
    ]),
    ["dead-letters", "list", "--since", "1h"],
    ["dead-letters", "list", "--since", "1h", "--json"],
    ["status", "--json"],
  ];
  return await Promise.all(
    commands.map(async (args): Promise<Place> => {
      const { out, err } = await world.inProcess(args);
      expect(out.length).toBeGreaterThan(100);
      return [args.join(" "), Buffer.from(out + err)];
    }),
  );
}

async function topicPlaces({ prefix, kafka, recordsIn }: World): Promise<readonly Place[]> {
  const names = (await kafka.admin.topics()).filter((name) => name.startsWith(prefix));
  const topics = names.map((name) => name.slice(prefix.length));
  const places: Place[] = [];
  for (const topic of topics.filter((name) => !OTHER_TOPICS.includes(name))) {
    for (const record of await recordsIn(topic)) {
      const destination = headerTexts(record)[DELIVERY_HEADER.destination];
      if (destination !== "plain") places.push([`topic ${topic}`, bytesOf(record)]);
    }
  }
  return places;
}

const hasCanary = (bytes: Buffer) => CANARIES.some((canary) => bytes.includes(canary));

test("what rules drop or hash is in no place of the destination, and another destination gets it unchanged", async () => {
  const on = await startWorld();
  await liveThroughAll(on);
  const { received, recordsIn, program, collector } = on;
  const shown = [...(await consolePlaces(on)), ...(await commandPlaces(on))];
  const stored = await topicPlaces(on);
  expect(await program.stop()).toBe(0);

  const requests = (path: string) => received.filter((each) => each.path === path);
  const places: readonly Place[] = [
    ...shown,
    ...stored,
    ...RULED.flatMap(requests).map(({ path, bytes }): Place => [`a request to ${path}`, bytes]),
    ...program.lines.map((line): Place => [`log ${String(line.msg)}`, json(line)]),
    ...collector.bodies.map((body): Place => ["traces", body]),
  ];
  const leaks = places.filter(([, bytes]) => hasCanary(bytes)).map(([name]) => name);
  expect([...new Set(leaks)]).toEqual([]);

  // The search would find the values if the data contained them.
  const kinds = new Set(places.map(([name]) => name));
  for (const topic of [...RULED.map((id) => `deliveries.${id}`), "delays.1s", "attempts"]) {
    expect(kinds).toContain(`topic ${topic}`);
  }
  expect(kinds).toContain("topic dead-letters");
  expect(kinds).toContain("log delivery.attempted");
  const hashed = [hmac(USER), sha256(EMAIL), hmac(NUMBER)];
  for (const digest of hashed) {
    const found = places.filter(([, bytes]) => bytes.includes(digest)).map(([name]) => name);
    expect(found).toEqual(
      expect.arrayContaining(["topic deliveries.hashing", "topic dead-letters", "topic attempts"]),
    );
  }
  expect(collector.spans.length).toBeGreaterThan(0);

  const given = (await recordsIn("calls")).map(({ value }) => `${value}`);
  const plain = (await recordsIn("deliveries.plain")).map(({ value }) => `${value}`);
  const framedCount = SCHEMA_CALLS.length;
  expect(plain.filter((value) => given.includes(value))).toHaveLength(
    MESSAGE_IDS.length - framedCount,
  );
  expect(plain.filter((value) => hasCanary(Buffer.from(value)))).toHaveLength(
    MESSAGE_IDS.length + 1,
  );
  for (const { bytes } of requests("plain")) expect(hasCanary(bytes)).toBe(true);
});
