// Bytes that no client library would send: the result is a response with the reason, or a closed connection.

import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, expect, test, vi } from "vitest";

import { type IngestWorld, ingestWorld, KEY } from "../support/worlds/ingest-world.ts";

const QUICK = {
  headersMs: 100,
  requestMs: 200,
  bodyWindowMs: 10_000,
  checkMs: 20,
};
const MIB = 1_024 * 1_024;

let world: IngestWorld;
afterEach(() => world[Symbol.asyncDispose]());

const body = (number: number) =>
  JSON.stringify({
    type: "track",
    userId: "u",
    event: "e",
    messageId: `m${number}`,
    writeKey: KEY,
  });
const request = (number: number, more = "") =>
  `POST /v1/track HTTP/1.1\r\nHost: x\r\n${more}Content-Length: ${body(number).length}\r\n\r\n${body(number)}`;
const head = (more: string) => `POST /v1/batch HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

/** Sends the parts, and waits for the end of the connection. */
async function endOf(...parts: readonly (string | Buffer)[]): Promise<string> {
  const raw = world.raw();
  for (const part of parts) raw.write(part);
  return raw.closed;
}

test.each([
  ["nothing", ""],
  ["half a request line", "POST /v1/ba"],
  ["headers that do not end", "POST /v1/batch HTTP/1.1\r\nHost: x\r\nA: b\r\n"],
  ["a body that does not come", head("Content-Length: 100\r\n")],
  ["a body that stops", `${head("Content-Length: 100\r\n")}{"batch":[`],
  ["chunks that stop", `${head("Transfer-Encoding: chunked\r\n")}5\r\n{"bat\r\n`],
])("%s: 408 and the end", async (_, text) => {
  world = await ingestWorld({ times: QUICK });
  const response = await endOf(text);
  expect(response).toMatch(/^HTTP\/1.1 408 /);
  expect(response).toContain('"code":"request-timeout"');
  await untilZero("switchyard_ingest_in_flight_bytes");
});

test("a body that trickles in is cut off, however steadily it comes", async () => {
  world = await ingestWorld({ times: QUICK });
  const raw = world.raw();
  raw.write(head("Content-Length: 100000\r\n"));
  const drip = setInterval(() => raw.write(" "), 5);
  expect(await raw.closed).toMatch(/^HTTP\/1.1 408 /);
  clearInterval(drip);
});

test("chunks without end are read to the limit and no further", async () => {
  world = await ingestWorld();
  const raw = world.raw();
  raw.write(head("Transfer-Encoding: chunked\r\n"));
  const chunk = Buffer.concat([
    Buffer.from(`${MIB.toString(16)}\r\n`),
    Buffer.alloc(MIB, " "),
    Buffer.from("\r\n"),
  ]);
  const send = () => {
    while (raw.socket.writable && raw.socket.write(chunk));
  };
  raw.socket.on("drain", send);
  send();
  expect(await raw.until(/\r\n\r\n\{.*\}/)).toMatch(/^HTTP\/1.1 413 .*"code":"body-too-large"/s);
  await raw.closed;
  await untilZero("switchyard_ingest_in_flight_bytes");
});

test("a length over the limit is rejected before the body is read", async () => {
  world = await ingestWorld();
  const raw = world.raw();
  raw.write(head(`Content-Length: ${11 * MIB}\r\n`));
  expect(await raw.until(/\}$/)).toMatch(/^HTTP\/1.1 413 /);
  raw.socket.destroy();
});

test.each([
  ["no HTTP", "hello\r\n\r\n", 400, "invalid-request"],
  ["TLS to a plain port", Buffer.from("16030100c6010000c20303", "hex"), 400, "invalid-request"],
  ["two lengths", head("Content-Length: 1\r\nContent-Length: 2\r\n"), 400, "invalid-request"],
  [
    "a length and chunks",
    head("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
    400,
    "invalid-request",
  ],
  ["a length that is none", head("Content-Length: -1\r\n"), 400, "invalid-request"],
  [
    "a chunk size that is none",
    `${head("Transfer-Encoding: chunked\r\n")}zz\r\n`,
    400,
    "invalid-request",
  ],
  ["headers that are too large", head(`A: ${"b".repeat(20_000)}\r\n`), 431, "headers-too-large"],
] as const)("%s: %s", async (_, bytes, status, code) => {
  world = await ingestWorld();
  const response = await endOf(bytes);
  expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(JSON.parse(response.slice(response.indexOf("\r\n\r\n")))).toMatchObject({
    success: false,
    code,
  });
});

test("what is broken behind a request in flight is not taken for its response", async () => {
  world = await ingestWorld();
  world.cluster.goDown();
  const raw = world.raw();
  raw.write(`${request(1)}broken\r\n\r\n`);
  expect(await raw.closed).toBe("");
});

test("requests in a row on one connection get their responses in a row", async () => {
  world = await ingestWorld();
  const raw = world.raw();
  raw.write(request(1) + request(2) + request(3, "Connection: close\r\n"));
  expect((await raw.closed).match(/HTTP\/1.1 200 /g)).toHaveLength(3);
  expect(world.values().map(({ messageId }) => messageId)).toEqual(["m1", "m2", "m3"]);
});

test("a client that leaves in the middle leaves nothing behind", async () => {
  world = await ingestWorld();
  for (let count = 0; count < 20; count += 1) {
    const socket = connect({ host: "127.0.0.1", port: world.stage.port });
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.write(`${head("Content-Length: 100000\r\n")}${" ".repeat(5_000)}`);
    await new Promise(setImmediate);
    if (count % 2 === 0) socket.resetAndDestroy();
    else socket.destroy();
  }
  await untilZero("switchyard_ingest_connections");
  await untilZero("switchyard_ingest_in_flight_bytes");
});

test("a client that ends its side has left: the connection is closed, the calls may be written", async () => {
  world = await ingestWorld();
  // Nothing is acknowledged, and no time limit expires, before the server receives this.
  const clock = vi.spyOn(world.clock, "advanceToNext").mockResolvedValue(false);
  const raw = world.raw();
  raw.socket.end(request(1));
  expect(await raw.closed).toBe("");
  clock.mockRestore();
  await untilZero("switchyard_ingest_in_flight_bytes");
  expect(world.records().length).toBeLessThanOrEqual(1);
});

/** A closed connection is detected a moment later. */
async function untilZero(metric: string): Promise<void> {
  while ((await world.metric(metric)) !== "0") await new Promise(setImmediate);
}

test("Expect: 100-continue gets a response, then the request does", async () => {
  world = await ingestWorld();
  const raw = world.raw();
  raw.write(
    `POST /v1/track HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${body(1).length}\r\n\r\n`,
  );
  await raw.until(/^HTTP\/1.1 100 Continue\r\n\r\n/);
  raw.write(body(1));
  expect(await raw.until(/success/)).toContain("HTTP/1.1 200 OK");
  raw.socket.destroy();
});

test("a wrong key in the header gets a response before the body has come", async () => {
  world = await ingestWorld();
  const raw = world.raw();
  const wrong = `Authorization: Basic ${btoa("wrong:")}\r\n`;
  raw.write(head(`${wrong}Content-Length: 100000\r\n`));
  expect(await raw.until(/\}$/)).toMatch(/^HTTP\/1.1 401 .*"code":"unknown-write-key"/s);
  raw.socket.destroy();
});

test("bodies without a key in the header share a budget; a key in the header needs none of it", async () => {
  world = await ingestWorld({ maxUnauthenticatedBytes: 100_000 });
  const [first, second] = [world.raw(), world.raw()];
  first.write(`${head("Content-Length: 100000\r\n")}${" ".repeat(80_000)}`);
  while (Number(await world.metric("switchyard_ingest_in_flight_bytes")) < 80_000) {
    await new Promise(setImmediate);
  }
  second.write(`${head("Content-Length: 100000\r\n")}${" ".repeat(80_000)}`);
  expect(await second.until(/\}$/)).toMatch(/^HTTP\/1.1 429 .*"code":"overloaded"/s);
  const call = { type: "track", userId: "u", event: "e", properties: { a: "x".repeat(30_000) } };
  expect((await world.post("/v1/batch", { batch: [call, call, call, call] })).status).toBe(200);
  first.socket.destroy();
  second.socket.destroy();
  await untilZero("switchyard_ingest_in_flight_bytes");
});

test("a body below the least rate is stopped, one at it continues", async () => {
  const times = { ...QUICK, requestMs: 20_000, bodyWindowMs: 500 };
  world = await ingestWorld({ times, minBodyBytesPerSecond: 1_000 });
  const [slow, steady] = [world.raw(), world.raw()];
  slow.write(`${head("Content-Length: 100000\r\n")}${" ".repeat(10)}`);
  const text = body(1);
  steady.write(
    `POST /v1/track HTTP/1.1\r\nHost: x\r\nContent-Length: ${text.length + 9_000}\r\n\r\n`,
  );
  let left = 9_000;
  const flow = setInterval(() => {
    steady.write(" ".repeat(Math.min(left, 100)) + (left <= 0 ? text : ""));
    if (left <= 0) clearInterval(flow);
    left -= 100;
  }, 10);
  expect(await slow.until(/\}$/)).toMatch(/^HTTP\/1.1 408 .*too slowly/s);
  expect(await steady.until(/\}$/)).toMatch(/^HTTP\/1.1 200 /);
  steady.socket.destroy();
});

test("an address with too many connections gives up the one that has waited longest", async () => {
  world = await ingestWorld({ maxConnectionsPerAddress: 2 });
  const [first, second] = [world.raw(), world.raw()];
  for (const raw of [first, second]) {
    raw.write(request(1));
    await raw.until(/success/);
  }
  const third = world.raw();
  third.write(request(2, "Connection: close\r\n"));
  expect(await third.closed).toMatch(/^HTTP\/1.1 200 /);
  await first.closed;
  expect(
    await world.metric('switchyard_ingest_connections_closed_total{reason="per-address-limit"}'),
  ).toBe("1");
  second.socket.destroy();
});

test("silent connections of one address, however many, do not close those of another", async () => {
  world = await ingestWorld({ maxConnections: 20 });
  const { port } = world.stage;
  const other = world.raw();
  await once(other.socket, "connect");
  const silent = [];
  for (let count = 0; count < 60; count += 1) {
    const socket = connect({ host: "127.0.0.1", port, localAddress: "127.0.0.2" });
    socket.on("error", () => undefined);
    silent.push(socket);
    await once(socket, "connect");
  }
  const last = world.raw();
  for (const raw of [other, last]) raw.write(request(1, "Connection: close\r\n"));
  expect(await other.closed).toMatch(/^HTTP\/1.1 200 /);
  expect(await last.closed).toMatch(/^HTTP\/1.1 200 /);
  for (const socket of silent) socket.destroy();
});

test("requests of one address that do not end leave a tenth of the connections to others", async () => {
  world = await ingestWorld({ maxConnections: 20 });
  const { port } = world.stage;
  const busy = Array.from({ length: 30 }, () => {
    const socket = connect({ host: "127.0.0.1", port, localAddress: "127.0.0.2" });
    socket.on("error", () => undefined);
    socket.write(head("Content-Length: 100\r\n"));
    return socket;
  });
  const closed = 'switchyard_ingest_connections_closed_total{reason="per-address-limit"}';
  await vi.waitFor(async () => expect(Number(await world.metric(closed))).toBeGreaterThan(0));
  const raw = world.raw();
  raw.write(request(1, "Connection: close\r\n"));
  expect(await raw.closed).toMatch(/^HTTP\/1.1 200 /);
  for (const socket of busy) socket.destroy();
});

test("an idle connection is kept for the configured time", async () => {
  world = await ingestWorld({ keepAliveTimeoutMs: 620_000 });
  const raw = world.raw();
  raw.write(request(1));
  expect(await raw.until(/success/)).toMatch(/^Keep-Alive: timeout=620\r$/m);
  raw.socket.destroy();
});

test.each([
  ["with a body", `POST /v1/track HTTP/1.1\r\nContent-Length: ${body(1).length}\r\n\r\n${body(1)}`],
  ["without one", "GET /v1/health HTTP/1.1\r\n\r\n"],
])("a request without Host gets one response, %s", async (_, text) => {
  world = await ingestWorld();
  const response = await endOf(text);
  expect(response.match(/HTTP\/1.1 /g)).toHaveLength(1);
  expect(response).toMatch(/^HTTP\/1.1 400 .*"code":"invalid-request"/s);
  expect(world.records()).toHaveLength(0);
});
