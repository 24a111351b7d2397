// The ingest stage over HTTP, with a Kafka in memory: the responses, the written records, and their times.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import type { Source } from "../../src/domain/destination.ts";
import type { LiveSettings } from "../../src/domain/live-settings.ts";
import { ANSWERS } from "../../src/router/ingest/responses.ts";
import { aSource, headerTexts } from "../support/build/calls.ts";
import { issue } from "../support/build/certificates.ts";
import { listsOf } from "../support/build/lists.ts";
import { type IngestWorld, ingestWorld, KEY } from "../support/worlds/ingest-world.ts";

let world: IngestWorld;
afterEach(() => world[Symbol.asyncDispose]());

const call = (number: number, more: object = {}) => ({
  type: "track",
  userId: `u${number % 7}`,
  event: "e",
  messageId: `m${number}`,
  ...more,
});
const calls = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, at) => call(at, more));
const noKey = { headers: { authorization: "" } };

async function bodyOf(response: Response) {
  return {
    status: response.status,
    ...((await response.json()) as { code?: string; message?: string }),
  };
}

test("a batch gets its response when it is written, in order, with its source and without its key", async () => {
  world = await ingestWorld();
  const body = {
    batch: calls(50, { writeKey: KEY }),
    writeKey: KEY,
    sentAt: "2026-11-20T10:00:00+0000",
    context: { app: "a" },
  };
  const response = await world.post("/v1/batch", body);
  expect([response.status, await response.text()]).toEqual([200, '{"success":true}']);
  expect(world.values()).toHaveLength(50);
  for (const record of world.records()) {
    expect(headerTexts(record)).toEqual({ "source-id": "web" });
    expect(`${record.value}`).not.toContain(KEY);
  }
  for (const user of ["u0", "u3", "u6"]) {
    const own = world.values().filter(({ userId }) => userId === user);
    const numbers = own.map(({ messageId }) => Number(`${messageId}`.slice(1)));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(own[0]).toMatchObject({
      sentAt: "2026-11-20T10:00:00+0000",
      context: { app: "a" },
      receivedAt: expect.stringMatching(/Z$/),
    });
  }
  expect(await world.metric('switchyard_ingest_calls_total{source="web"}')).toBe("50");
  expect(await world.metric('switchyard_ingest_requests_total{code="ok"}')).toBe("1");
  // Counters of events that have not happened yet exist, so that the first event is an increase.
  for (const code of Object.keys(ANSWERS)) {
    expect(await world.metric(`switchyard_ingest_requests_total{code="${code}"}`)).toBe("0");
  }
  expect(await world.metric("switchyard_ingest_in_flight_bytes")).toBe("0");
});

const ONE = JSON.stringify({ batch: [call(1)] });

test.each([
  ["gzip", gzipSync(ONE), "gzip", 200, undefined],
  ["gzip with a form content type", gzipSync(ONE), "x-gzip", 200, undefined],
  ["no gzip", Buffer.from("{}"), "gzip", 400, "invalid-gzip"],
  ["gzip cut short", gzipSync(ONE).subarray(0, 60), "gzip", 400, "invalid-gzip"],
  ["another encoding", Buffer.from("{}"), "br", 400, "invalid-encoding"],
  ["two encodings", Buffer.from("{}"), "gzip, gzip", 400, "invalid-encoding"],
  ["a byte-order mark", Buffer.from(`\ufeff${ONE}`), "identity", 200, undefined],
  ["no UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), "identity", 400, "invalid-json"],
  ["nothing at all", Buffer.from(""), "identity", 400, "invalid-json"],
] as const)("%s", async (_, body, encoding, status, code) => {
  world = await ingestWorld();
  const headers = {
    "content-encoding": encoding,
    "content-type": "application/x-www-form-urlencoded",
  };
  const response = await world.post("/v1/batch", body, { headers });
  expect(await bodyOf(response)).toMatchObject(code === undefined ? { status } : { status, code });
  expect(world.records()).toHaveLength(status === 200 ? 1 : 0);
});

test("a gzip bomb is unpacked no further than the limit", async () => {
  world = await ingestWorld();
  const bomb = gzipSync(Buffer.alloc(200 * 1_024 * 1_024, " "));
  expect(bomb.length).toBeLessThan(300_000);
  const response = await world.post("/v1/batch", bomb, { headers: { "content-encoding": "gzip" } });
  expect(await bodyOf(response)).toMatchObject({ status: 413, code: "body-too-large" });
  expect(await world.metric("switchyard_ingest_in_flight_bytes")).toBe("0");
});

test("10 MiB are taken, a byte more is not", async () => {
  world = await ingestWorld();
  const limit = 10 * 1_024 * 1_024;
  const empty = JSON.stringify({ batch: [call(1)] });
  const exactly = await world.post("/v1/batch", empty + " ".repeat(limit - empty.length));
  expect(exactly.status).toBe(200);
  const over = await world.post("/v1/batch", empty + " ".repeat(limit + 1 - empty.length));
  expect(await bodyOf(over)).toMatchObject({ status: 413, code: "body-too-large" });
});

test("a batch of analytics-go's size: 250 calls of 31 KB", async () => {
  world = await ingestWorld();
  const text = "x".repeat(31 * 1_024);
  const batch = calls(250, { properties: { text }, timestamp: "2026-11-20T10:00:00+0000" });
  const response = await world.post("/v1/batch", { batch, sentAt: "2026-11-20T10:00:01Z" });
  expect(response.status).toBe(200);
  expect(world.records()).toHaveLength(250);
});

test("a batch as analytics-go sends it, and again after a lost response", async () => {
  world = await ingestWorld();
  const body = readFileSync(join(import.meta.dirname, "../golden/analytics-go-batch.json"));
  const first = await world.post("/v1/batch", body);
  const again = await world.post("/v1/batch", body);
  expect([first.status, again.status]).toEqual([200, 200]);
  const values = world
    .values()
    .toSorted((a, b) => `${a.messageId}`.localeCompare(`${b.messageId}`));
  expect(values.map(({ messageId }) => messageId)).toEqual(
    [1, 2, 3, 4, 5, 6].flatMap((number) => [`go-${number}`, `go-${number}`]),
  );
  for (const value of values) {
    expect(value).toMatchObject({
      // The clock in this test is months later.
      timestamp: expect.stringMatching(/^2027-01-15T07:59:5\d/),
      originalTimestamp: "2026-11-20T10:00:00+0000",
      sentAt: "2026-11-20T10:00:05Z",
      context: { library: { name: "analytics-go" } },
    });
  }
  const track = world.records().find(({ value }) => `${value}`.includes("go-2"));
  expect(`${track?.value}`).toMatch(/"big":\s*12345678901234567890/);
  expect(values[4]).toMatchObject({ type: "page", traits: { url: "https://a.example.com/" } });
});

test("a source can do without the correction of clocks", async () => {
  const own = { writeKeys: [KEY], correctClock: false };
  world = await ingestWorld({ sources: [aSource("web", [], own)] });
  const timestamp = "2026-11-20T10:00:00+0000";
  await world.post("/v1/batch", { batch: [call(1, { timestamp })], sentAt: timestamp });
  expect(world.values()).toMatchObject([{ timestamp }]);
  expect(world.values()[0]).not.toHaveProperty("originalTimestamp");
});

test("calls of Python and PHP are stored as far as they can be read, and counted", async () => {
  world = await ingestWorld();
  const sent = [call(1), call(2), call(3)].map((each) => JSON.stringify(each).slice(0, -1));
  const batch = [`${sent[0]},"properties":{"ratio":NaN}}`, `${sent[1]},"properties":[]}`];
  const invalid = `${sent[2]},"properties":[1]}`;
  const response = await world.post("/v1/batch", `{"batch":[${[...batch, invalid]}],"context":[]}`);
  expect(response.status).toBe(200);
  expect(
    world.values().toSorted((a, b) => (`${a.messageId}` < `${b.messageId}` ? -1 : 1)),
  ).toMatchObject([
    { messageId: "m1", properties: { ratio: null } },
    { messageId: "m2", properties: [] },
  ]);
  expect(await world.metric('switchyard_ingest_calls_repaired_total{source="web"}')).toBe("1");
  const skipped = 'switchyard_ingest_calls_rejected_total{source="web",reason="invalid-call"}';
  expect(await world.metric(skipped)).toBe("1");
});

test("what a batch adds to its calls is bounded too", async () => {
  world = await ingestWorld();
  const context = { text: "x".repeat(30_000) };
  const response = await world.post("/v1/batch", { batch: calls(5_000), context });
  expect(await bodyOf(response)).toMatchObject({ status: 413, code: "body-too-large" });
  expect(world.records()).toHaveLength(0);
  expect(await world.metric("switchyard_ingest_in_flight_bytes")).toBe("0");
});

test("calls that are not valid cost only themselves; alone they are a 400", async () => {
  world = await ingestWorld();
  const batch = [
    call(1),
    { type: "track", userId: "u" },
    call(2, { properties: { a: "x".repeat(40_000) } }),
    call(3),
  ];
  expect((await world.post("/v1/batch", { batch })).status).toBe(200);
  expect(
    world
      .values()
      .map(({ messageId }) => messageId)
      .toSorted(),
  ).toEqual(["m1", "m3"]);
  const counted = "switchyard_ingest_calls_rejected_total";
  expect(await world.metric(`${counted}{source="web",reason="invalid-call"}`)).toBe("1");
  expect(await world.metric(`${counted}{source="web",reason="too-large"}`)).toBe("1");
  expect(await bodyOf(await world.post("/v1/track", { userId: "u" }))).toMatchObject({
    status: 400,
    code: "invalid-call",
    message: "event is missing, but a track requires it. Correct the call.",
  });
  const large = await world.post("/v1/track", {
    userId: "u",
    event: "e",
    properties: { a: "x".repeat(40_000) },
  });
  expect(await bodyOf(large)).toMatchObject({ status: 400, code: "call-too-large" });
  const empty = await world.post("/v1/batch", { batch: [] });
  expect(empty.status).toBe(200);
  expect(world.records()).toHaveLength(2);
});

test.each([
  ["none", { batch: [call(1)] }, noKey, "missing-write-key"],
  ["an unknown one", { batch: [call(1)], writeKey: "wrong-secret" }, noKey, "unknown-write-key"],
  [
    "an unknown one in the header",
    { batch: [call(1)], writeKey: KEY },
    { headers: { authorization: `Basic ${btoa("wrong-secret:")}` } },
    "unknown-write-key",
  ],
])("a write key: %s", async (_, body, init, code) => {
  world = await ingestWorld();
  const response = await world.post("/v1/batch", body, init);
  expect(response.headers.get("www-authenticate")).toBeNull();
  expect(await bodyOf(response)).toMatchObject({ status: 401, code });
  expect(await world.metric(`switchyard_ingest_requests_total{code="${code}"}`)).toBe("1");
  expect(world.records()).toHaveLength(0);
  expect(JSON.stringify(world.lines)).not.toContain("wrong-secret");
});

test("the key may be in the body alone, and an older one still counts", async () => {
  world = await ingestWorld();
  expect(
    (await world.post("/v1/batch", { batch: [call(1)], writeKey: "old-key" }, noKey)).status,
  ).toBe(200);
  const single = { userId: "u", writeKey: KEY };
  expect((await world.post("/v1/identify/", single, noKey)).status).toBe(200);
  expect(world.records().map((record) => headerTexts(record)["source-id"])).toEqual(["web", "web"]);
});

test("a source over its rate is reported when to come back", async () => {
  world = await ingestWorld();
  const slow = { headers: { authorization: `Basic ${btoa("slow-key:")}` } };
  expect((await world.post("/v1/batch", { batch: calls(5) }, slow)).status).toBe(200);
  const response = await world.post("/v1/batch", { batch: calls(1) }, slow);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThanOrEqual(2);
  expect(await bodyOf(response)).toMatchObject({ status: 429, code: "rate-limited" });
  expect((await world.post("/v1/batch", { batch: calls(9) })).status).toBe(200);
});

test("too much in flight: 429, and room again when Kafka has acknowledged", async () => {
  world = await ingestWorld({ maxInFlightBytes: 1_048_576 });
  world.cluster.delayWrites(2_000);
  const large = { batch: calls(30, { properties: { text: "x".repeat(30_000) } }) };
  const responses = await Promise.all(
    Array.from({ length: 6 }, () => world.post("/v1/batch", large)),
  );
  const statuses = responses.map(({ status }) => status);
  expect(statuses).toContain(200);
  expect(statuses).toContain(429);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  const refused = responses.find(({ status }) => status === 429);
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect(world.records()).toHaveLength(30 * statuses.filter((status) => status === 200).length);
  expect((await world.post("/v1/batch", large)).status).toBe(200);
  expect(await world.metric("switchyard_ingest_in_flight_bytes")).toBe("0");
});

test("without brokers: 503 in time, then at once; what was handed over is written all the same", async () => {
  world = await ingestWorld();
  world.cluster.goDown();
  const startedAtMs = world.clock.nowMs();
  const first = await world.post("/v1/batch", { batch: [call(1)] });
  const tookMs = world.clock.nowMs() - startedAtMs;
  expect(tookMs).toBeGreaterThanOrEqual(7_000);
  expect(tookMs).toBeLessThan(8_000);
  const seconds = Number(first.headers.get("retry-after"));
  expect(seconds >= 1 && seconds <= 30).toBe(true);
  expect(await bodyOf(first)).toMatchObject({ status: 503, code: "kafka-unavailable" });
  const second = await world.post("/v1/batch", { batch: [call(2)] });
  expect(second.status).toBe(503);
  expect(world.stage.healthProblems()).toEqual([
    expect.stringMatching(/not acknowledged a write for \d+ s/),
  ]);
  world.cluster.comeUp();
  while (world.stage.healthProblems().length > 0) await new Promise(setImmediate);
  expect((await world.post("/v1/batch", { batch: [call(3)] })).status).toBe(200);
  expect(
    world
      .values()
      .map(({ messageId }) => messageId)
      .toSorted(),
  ).toEqual(["m1", "m3"]);
  expect(await world.metric("switchyard_ingest_in_flight_bytes")).toBe("0");
});

test("a producer that was closed is no reason to respond 200", async () => {
  world = await ingestWorld();
  await world.producer.close(0);
  expect((await world.post("/v1/track", call(1))).status).toBe(503);
  expect(world.records()).toHaveLength(0);
});

test("a record that the topic does not take is omitted and counted; alone it is a 400", async () => {
  world = await ingestWorld({}, 20_000);
  const large = call(2, { properties: { text: "x".repeat(25_000) } });
  expect((await world.post("/v1/batch", { batch: [call(1), large, call(3)] })).status).toBe(200);
  expect(world.records()).toHaveLength(2);
  const reason = 'switchyard_ingest_calls_rejected_total{source="web",reason="too-large"}';
  expect(await world.metric(reason)).toBe("1");
  expect(await world.metric('switchyard_ingest_calls_total{source="web"}')).toBe("2");
  const alone = await world.post("/v1/track", large);
  expect(await bodyOf(alone)).toMatchObject({ status: 400, code: "call-too-large" });
});

test("health, preflight and what is not there", async () => {
  world = await ingestWorld({ corsOrigins: ["https://app.example.com"] });
  const base = `http://127.0.0.1:${world.stage.port}`;
  expect(await bodyOf(await fetch(`${base}/v1/health`))).toEqual({ status: 200, success: true });
  const headers = {
    origin: "https://app.example.com",
    "access-control-request-headers": "authorization",
  };
  const preflight = await fetch(`${base}//v1/batch`, { method: "OPTIONS", headers });
  expect(preflight.status).toBe(200);
  expect(preflight.headers.get("access-control-allow-origin")).toBe("https://app.example.com");
  const posted = await world.post("/v1/batch", { batch: [call(1)] }, { headers });
  expect(posted.headers.get("access-control-allow-origin")).toBe("https://app.example.com");
  const wrong = await fetch(`${base}/v1/batch`);
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  expect(await bodyOf(await world.post("/v2/batch", {}))).toMatchObject({
    status: 404,
    code: "unknown-path",
  });
});

test("without a single write key it says so, and again only after there was one", async () => {
  world = await ingestWorld({ sources: [] });
  const said = () => world.lines.filter(({ msg }) => msg === "ingest.no-write-keys").length;
  expect(said()).toBe(1);
  const settings = (sources: readonly Source[]) =>
    ({ sources, ingestTls: null }) as unknown as LiveSettings;
  world.stage.update?.(settings([]));
  expect(said()).toBe(1);
  world.stage.update?.(settings([aSource("web", [], { writeKeys: ["k"] })]));
  world.stage.update?.(settings([]));
  expect(said()).toBe(2);
  expect((await world.post("/v1/track", call(1))).status).toBe(401);
});

test("calls over TLS", async () => {
  const pem = (name: string) =>
    readFileSync(join(import.meta.dirname, "../golden/tls", name), "utf8");
  world = await ingestWorld({ tls: { cert: pem("cert.pem"), key: pem("key.pem") } });
  const { port } = world.stage;
  const status = await new Promise((resolve, reject) => {
    const options = { port, method: "POST", path: "/v1/track", rejectUnauthorized: false };
    const sent = request(options, (response) => resolve(response.resume().statusCode));
    sent.on("error", reject);
    sent.end(JSON.stringify({ ...call(1), writeKey: KEY }));
  });
  expect(status).toBe(200);
  expect(world.records()).toHaveLength(1);
});

test("asked to stop, it responds during the handover, closes connections, then stops", async () => {
  world = await ingestWorld({ handoverMs: 3_000 });
  const base = `http://127.0.0.1:${world.stage.port}`;
  expect((await world.post("/v1/batch", { batch: [call(1)] })).headers.get("connection")).toBe(
    "keep-alive",
  );
  const stopped = world.stage[Symbol.asyncDispose]();
  const late = await world.post("/v1/batch", { batch: [call(2)] });
  expect([late.status, late.headers.get("connection")]).toEqual([200, "close"]);
  expect((await fetch(`${base}/v1/health`)).status).toBe(503);
  const begun = world.raw();
  const body = JSON.stringify({ batch: [call(3)], writeKey: KEY });
  begun.write(`POST /v1/batch HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`);
  begun.write(body.slice(0, 10));
  while (await isListening(base));
  begun.write(body.slice(10));
  await stopped;
  expect(await begun.closed).toMatch(/^HTTP\/1.1 200 /);
  expect(
    world
      .values()
      .map(({ messageId }) => messageId)
      .toSorted(),
  ).toEqual(["m1", "m2", "m3"]);
});

async function isListening(base: string): Promise<boolean> {
  return fetch(`${base}/v1/health`).then(
    () => true,
    () => false,
  );
}

test("other sources count from the next request: keys, limits, settings of SDKs", async () => {
  world = await ingestWorld();
  const post = async (key: string) => {
    const body = { batch: calls(2), writeKey: key };
    return (await world.post("/v1/batch", body, noKey)).status;
  };
  expect(await post("old-key")).toBe(200);
  expect(await post("new-key")).toBe(401);
  world.stage.update?.(
    listsOf({ sources: [aSource("ios", [], { writeKeys: ["new-key"], callsPerSecond: 1 })] }),
  );
  expect(await post("old-key")).toBe(401);
  expect(await post("new-key")).toBe(200);
  expect(await post("new-key")).toBe(429);
  const sources = world.records().map((record) => headerTexts(record)["source-id"]);
  expect(sources.toSorted()).toEqual(["ios", "ios", "web", "web"]);
});

test("another certificate is shown to the next connection", async () => {
  const [first, second] = ["first", "second"].map((name) => issue({ name, hosts: ["localhost"] }));
  if (first === undefined || second === undefined) throw new Error("no certificate");
  world = await ingestWorld({ tls: first });
  const shown = async () => {
    const socket = connect({
      host: "127.0.0.1",
      port: world.stage.port,
      rejectUnauthorized: false,
    });
    await once(socket, "secureConnect");
    const { CN } = socket.getPeerCertificate().subject;
    socket.destroy();
    return CN;
  };
  expect(await shown()).toBe("first");
  world.stage.update?.(listsOf({ ingestTls: second }));
  expect(await shown()).toBe("second");
});
