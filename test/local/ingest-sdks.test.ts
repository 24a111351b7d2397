// The paths that SDKs for browsers and phones use: short forms, settings, beacons and pixels.

import { afterEach, expect, test } from "vitest";

import { type IngestWorld, ingestWorld, KEY } from "../support/worlds/ingest-world.ts";

let world: IngestWorld;
afterEach(() => world[Symbol.asyncDispose]());

const noKey = { headers: { authorization: "" } };
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${world.stage.port}${path}`, { headers });

test("a beacon's key is in its query", async () => {
  world = await ingestWorld();
  const batch = [{ type: "track", userId: "u", event: "e" }];
  const sent = await world.post(`/beacon/v1/batch?writeKey=${KEY}`, { batch }, noKey);
  expect(sent.status).toBe(200);
  expect((await world.post("/beacon/v1/batch", { batch }, noKey)).status).toBe(401);
  expect((await world.post("/beacon/v1/batch?writeKey=x", { batch }, noKey)).status).toBe(401);
  expect(world.values()).toMatchObject([{ event: "e" }]);
});

test("a pixel is an image; its call is stored", async () => {
  world = await ingestWorld();
  const query = `userId=u&event=Mail+Opened&properties.mail=7&context.page.path=%2Fa`;
  const pixel = await get(`/pixel/v1/track?writeKey=${KEY}&${query}`);
  expect([pixel.status, pixel.headers.get("content-type")]).toEqual([200, "image/gif"]);
  expect(pixel.headers.get("cache-control")).toBe("no-store");
  expect(Buffer.from(await pixel.arrayBuffer()).toString("latin1")).toMatch(/^GIF89a/);
  expect(world.values()).toMatchObject([
    {
      type: "track",
      userId: "u",
      event: "Mail Opened",
      channel: "web",
      properties: { mail: "7" },
      context: { page: { path: "/a" } },
    },
  ]);
  expect(`${world.records()[0]?.value}`).not.toContain(KEY);
  const refused = await get(`/pixel/v1/track?writeKey=wrong&${query}`);
  expect([refused.status, refused.headers.get("content-type")]).toEqual([401, "image/gif"]);
  expect((await get(`/pixel/v1/track?writeKey=${KEY}&userId=u`)).status).toBe(400);
  expect(world.records()).toHaveLength(1);
});

test("figures and merges are taken and not stored", async () => {
  world = await ingestWorld();
  expect((await world.post("/v1/m", { series: [] }, noKey)).status).toBe(200);
  expect((await world.post("/v1/merge", { mergeProperties: [] })).status).toBe(200);
  const wrong = { headers: { authorization: `Basic ${btoa("wrong:")}` } };
  expect((await world.post("/v1/merge", {}, wrong)).status).toBe(401);
  expect(world.records()).toHaveLength(0);
  const counted = "switchyard_ingest_requests_total";
  expect(await world.metric(`${counted}{code="ignored-merge"}`)).toBe("1");
  expect(await world.metric(`${counted}{code="ignored-metrics"}`)).toBe("1");
});

test("settings send every call here", async () => {
  world = await ingestWorld({ corsOrigins: ["*"] });
  const page = { origin: "https://app.example.com" };
  const segment = await get(`/v1/projects/${KEY}/settings`, page);
  expect(segment.headers.get("access-control-allow-origin")).toBe("*");
  expect(segment.headers.get("cache-control")).toBe("no-store");
  const apiHost = `127.0.0.1:${world.stage.port}/v1`;
  expect(await segment.json()).toMatchObject({
    integrations: { "Segment.io": { apiKey: KEY, apiHost, protocol: "http" } },
    metrics: { sampleRate: 0 },
  });
  const basic = { authorization: `Basic ${btoa(`${KEY}:`)}` };
  for (const response of [get("/sourceConfig/", basic), get(`/sourceConfig?writeKey=${KEY}`)]) {
    expect(await (await response).json()).toMatchObject({
      source: { id: "web", enabled: true, destinations: [], config: {} },
    });
  }
  for (const path of ["/v1/projects/wrong/settings", "/sourceConfig"]) {
    expect((await get(path)).status).toBe(401);
  }
});

test("behind a proxy that ends TLS, settings name https", async () => {
  world = await ingestWorld();
  const response = await get(`/v1/projects/${KEY}/settings`, { "x-forwarded-proto": "https" });
  expect(await response.json()).toMatchObject({
    integrations: { "Segment.io": { protocol: "https" } },
  });
});

test("a host that no URL may have gets no settings", async () => {
  world = await ingestWorld();
  const raw = world.raw();
  raw.write(`GET /v1/projects/${KEY}/settings HTTP/1.1\r\nHost: a"/b\r\nConnection: close\r\n\r\n`);
  expect(await raw.closed).toMatch(/^HTTP\/1.1 400 /);
});

test("a short body that is not read leaves the connection open", async () => {
  world = await ingestWorld();
  const raw = world.raw();
  const wrong = `Authorization: Basic ${btoa("wrong:")}\r\n`;
  raw.write(`POST /v1/batch HTTP/1.1\r\nHost: x\r\n${wrong}Content-Length: 5\r\n\r\n`);
  await raw.until(/unknown-write-key/);
  raw.write("12345GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  expect((await raw.closed).match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 401", "HTTP/1.1 200"]);
});
