// docs/troubleshooting.md about calls that the ingest stage rejects: the cause in each row is created, is visible where
// the page describes, and is fixed in the way that the page describes.

import { afterEach, expect, test } from "vitest";
import type { LiveSettings } from "../../src/domain/live-settings.ts";
import { aSource } from "../support/build/calls.ts";
import { type IngestWorld, ingestWorld, KEY } from "../support/worlds/ingest-world.ts";

let world: IngestWorld;
afterEach(() => world[Symbol.asyncDispose]());

const CALL = { type: "track", userId: "u", event: "e" };
const by = (key: string, more: object = {}) => ({
  headers: { authorization: `Basic ${btoa(`${key}:`)}`, ...more },
});

/** Returns the status, and the code and message in the body. */
async function refused(response: Promise<Response>) {
  const responded = await response;
  const { code, message } = (await responded.json()) as { code: string; message: string };
  const counted = await world.metric(`switchyard_ingest_requests_total{code="${code}"}`);
  const logged = world.lines.filter(
    (line) => line.msg === "ingest.request-rejected" && line.code === code,
  );
  expect([counted, logged.length]).toEqual(["1", 1]);
  return [responded.status, code, message];
}

const statusOf = async (response: Promise<Response>) => (await response).status;

test("401: a key that was rotated, until it is kept in writeKeys", async () => {
  world = await ingestWorld({ sources: [aSource("web", [], { writeKeys: ["new-key"] })] });
  const post = () => world.post("/v1/track", CALL, by("rotated-key"));
  expect(await refused(post())).toEqual([
    ...[401, "unknown-write-key"],
    expect.stringMatching(/^No source has this write key\./),
  ]);
  const writeKeys = ["new-key", "rotated-key"];
  const settings = { sources: [aSource("web", [], { writeKeys })], ingestTls: null };
  world.stage.update?.(settings as unknown as LiveSettings);
  expect(await statusOf(post())).toBe(200);
});

test("400: the message names the field, and it is so again", async () => {
  world = await ingestWorld();
  const post = () => world.post("/v1/track", { ...CALL, event: 7 });
  expect(await refused(post())).toEqual([
    ...[400, "invalid-call"],
    expect.stringMatching(/^event .* Correct the call\.$/),
  ]);
  expect(await statusOf(post())).toBe(400);
  expect(await statusOf(world.post("/v1/track", CALL))).toBe(200);
});

test("200, and calls are missing: counted, and the log has the first mistake of each reason", async () => {
  world = await ingestWorld();
  const tooLarge = { ...CALL, properties: { a: "x".repeat(40_000) } };
  const batch = [CALL, { type: "track", userId: "u" }, { ...CALL, event: 7 }, tooLarge];
  expect(await statusOf(world.post("/v1/batch", { batch }))).toBe(200);
  expect(world.records()).toHaveLength(1);
  const counted = (reason: string) =>
    world.metric(`switchyard_ingest_calls_rejected_total{source="web",reason="${reason}"}`);
  expect(await Promise.all(["invalid-call", "too-large"].map(counted))).toEqual(["2", "1"]);
  const lines = world.lines.filter(({ msg }) => msg === "ingest.calls-rejected");
  expect(lines).toMatchObject([
    { source: "web", reason: "invalid-call", count: 2, error: expect.stringMatching(/^event /) },
    { source: "web", reason: "too-large", count: 1 },
  ]);
});

test("429: a source over its callsPerSecond, until that is raised", async () => {
  world = await ingestWorld();
  const batch = Array.from({ length: 5 }, () => CALL);
  const post = () => world.post("/v1/batch", { batch }, by("slow-key"));
  expect(await statusOf(post())).toBe(200);
  expect(await refused(post())).toEqual([
    ...[429, "rate-limited"],
    expect.stringMatching(/^This source has reached its limit of calls per second\./),
  ]);
  const sources = [aSource("slow", [], { writeKeys: ["slow-key"], callsPerSecond: 1_000 })];
  world.stage.update?.({ sources, ingestTls: null } as unknown as LiveSettings);
  expect(await statusOf(post())).toBe(200);
});

test("429: bodies arrive faster than Kafka acknowledges, until it has", async () => {
  world = await ingestWorld({ maxInFlightBytes: 1_048_576 });
  world.cluster.delayWrites(2_000);
  const large = { ...CALL, properties: { text: "x".repeat(30_000) } };
  const post = () => world.post("/v1/batch", { batch: Array.from({ length: 30 }, () => large) });
  const responses = await Promise.all([post(), post(), post()]);
  const last = responses.find(({ status }) => status !== 200);
  expect([last?.status, await last?.json()]).toMatchObject([
    429,
    {
      code: "overloaded",
      message: expect.stringMatching(/^The server has too many unacknowledged bytes in flight\./),
    },
  ]);
  expect(await statusOf(post())).toBe(200);
});

test("503: Kafka has acknowledged nothing for 7 s, until it is back", async () => {
  world = await ingestWorld();
  world.cluster.goDown();
  expect(await refused(world.post("/v1/track", CALL))).toEqual([
    ...[503, "kafka-unavailable"],
    expect.stringMatching(/^Kafka did not store the calls in time\./),
  ]);
  world.cluster.comeUp();
  // The client sends the call again.
  await expect.poll(() => statusOf(world.post("/v1/track", CALL))).toBe(200);
});

test("a page of an origin that is not allowed gets no leave, until it is in ingest.corsOrigins", async () => {
  const origin = "https://shop.example.com";
  const allowed = async (corsOrigins: readonly string[]) => {
    world = await ingestWorld({ corsOrigins });
    const url = `http://127.0.0.1:${world.stage.port}/v1/track`;
    const asked = { origin, "access-control-request-headers": "authorization" };
    const preflight = await fetch(url, { method: "OPTIONS", headers: asked });
    const posted = await world.post("/v1/track", CALL, by(KEY, { origin }));
    return [preflight, posted].map(({ headers }) => headers.get("access-control-allow-origin"));
  };
  expect(await allowed(["https://app.example.com"])).toEqual([null, null]);
  await world[Symbol.asyncDispose]();
  expect(await allowed([origin])).toEqual([origin, origin]);
});
