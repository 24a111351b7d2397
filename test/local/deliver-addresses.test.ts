// The targets of requests: the socket connects to the address that was checked, even if the name's addresses change.

import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { isIP } from "node:net";
import { Worker } from "node:worker_threads";
import { expect, test, vi } from "vitest";
import type { Resolve } from "../../src/base/http/lookup.ts";
import { endpointOf } from "../support/build/webhook-destination.ts";
import { httpClient, outcome } from "../support/servers/http-client.ts";
import { rawServer } from "../support/servers/raw-server.ts";

interface LateServer extends AsyncDisposable {
  readonly url: string;
}

/**
 * For this time, the server's queue of connections is full, and it accepts none. The operating system retries after 1
 * s, so a connection takes 1 s.
 */
const LATE_MS = 600;

const PROGRAM = `
const { createServer, connect } = require("node:net");
const { parentPort } = require("node:worker_threads");
const server = createServer((socket) => {
  socket.on("error", () => undefined);
  socket.on("data", () => socket.write("HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok"));
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
  const { port } = server.address();
  for (let count = 0; count < 3; count += 1) connect(port, "127.0.0.1").on("error", () => undefined);
  setImmediate(() => {
    parentPort.postMessage(port);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${LATE_MS});
  });
});`;

/** A server that initially lets connections wait, like a distant server. */
async function lateServer(): Promise<LateServer> {
  const worker = new Worker(PROGRAM, { eval: true });
  const [port] = (await once(worker, "message")) as [number];
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
}

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CLOSING = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";

/** A name server that returns the next of these results for each lookup, and the last result for all later lookups. */
function names(...responses: readonly (readonly string[])[]) {
  const asked: string[] = [];
  const resolve: Resolve = (name, found) => {
    const response = responses[Math.min(asked.length, responses.length - 1)] ?? [];
    asked.push(name);
    const addresses: LookupAddress[] = response.map((address) => ({
      address,
      family: isIP(address),
    }));
    setImmediate(found, null, addresses);
  };
  return { resolve, asked };
}

function at(server: { readonly url: string }, host: string) {
  return endpointOf(`http://${host}:${new URL(server.url).port}/`);
}

test.each([
  "127.0.0.1",
  "127.8.8.8",
  "::1",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "64:ff9b::7f00:1",
  "2002:7f00:1::",
  "0.0.0.0",
  "::",
  "10.0.0.1",
  "172.16.0.1",
  "192.168.1.1",
  "169.254.169.254",
  "::ffff:a9fe:a9fe",
  "64:ff9b::a9fe:a9fe",
  "fd00:ec2::254",
  "fe80::1",
  "100.64.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "168.63.129.16",
])("a name that resolves to %s is rejected, and nothing connects", async (address) => {
  await using server = await rawServer((socket) => socket.write(OK));
  const { resolve, asked } = names([address]);
  await using http = httpClient({ resolve, allow: [] });
  expect(await http.post(at(server, "hook.example.com"))).toMatchObject({
    kind: "no-response",
    cause: "address",
  });
  expect(asked).toEqual(["hook.example.com"]);
  expect(server.connections()).toBe(0);
});

test.each([
  "127.0.0.1",
  "2130706433",
  "0x7f000001",
  "0x7f.1",
  "0177.0.0.1",
  "017700000001",
  "127.1",
  "[::1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[64:ff9b::127.0.0.1]",
  "[2002:7f00:1::]",
  "[::127.0.0.1]",
  "0",
])("http://%s/ is rejected without a lookup", async (host) => {
  await using server = await rawServer((socket) => socket.write(OK));
  const { resolve, asked } = names(["127.0.0.1"]);
  await using http = httpClient({ resolve, allow: [] });
  expect(outcome(await http.post(at(server, host)))).toBe("address");
  expect(asked).toEqual([]);
  expect(server.connections()).toBe(0);
});

test("of several addresses only those that may be requested are tried", async () => {
  await using server = await rawServer((socket) => socket.write(OK));
  // macOS has no second IPv4 loopback address.
  const host = process.platform === "linux" ? "127.0.0.2" : "::1";
  const place = { host, port: Number(new URL(server.url).port) };
  await using forbidden = await rawServer((socket) => socket.write(OK), true, place);
  const { resolve } = names([host, "10.0.0.1", "169.254.169.254", "127.0.0.1"]);
  await using http = httpClient({ resolve, allow: ["127.0.0.1"] });
  expect(outcome(await http.post(at(server, "hook.example.com")))).toBe(200);
  expect(forbidden.connections()).toBe(0);
});

test("the first of several addresses is given time to respond", async () => {
  await using server = await lateServer();
  const { resolve } = names(["127.0.0.1", "::1"]);
  await using http = httpClient({ resolve });
  const result = await http.post(at(server, "far.example.com"));
  expect(outcome(result)).toBe(200);
  expect(result.durationMs).toBeGreaterThan(500);
});

test.each([1_234, 3_333, 4_999])("a deadline of %i ms is as good as any", async (timeoutMs) => {
  await using server = await rawServer((socket) => socket.write(OK));
  const { resolve } = names(["127.0.0.1"]);
  await using http = httpClient({ resolve, timeoutMs });
  expect(outcome(await http.post(at(server, "hook.example.com")))).toBe(200);
});

test("the address that was judged is the one connected to: nobody asks again", async () => {
  await using server = await rawServer((socket) => socket.write(OK));
  const { resolve, asked } = names(["127.0.0.1"], ["169.254.169.254"]);
  await using http = httpClient({ resolve, allow: ["127.0.0.1"] });
  expect(outcome(await http.post(at(server, "rebind.example.com")))).toBe(200);
  expect(asked).toHaveLength(1);
});

test("a name that has moved to a private address is rejected from the next connection on", async () => {
  await using server = await rawServer((socket) => socket.end(CLOSING));
  const { resolve } = names(["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1"]);
  await using http = httpClient({ resolve, allow: ["127.0.0.1"] });
  const outcomes = [];
  for (let count = 0; count < 3; count += 1) {
    outcomes.push(outcome(await http.post(at(server, "rebind.example.com"))));
  }
  expect(outcomes).toEqual([200, "address", 200]);
  expect(server.connections()).toBe(2);
});

test("requests follow a name that moves once their connections have their greatest age, however many there are", async () => {
  const clock = vi.spyOn(performance, "now");
  const startMs = performance.now();
  await using old = await rawServer((socket) => socket.write(OK));
  const place = { host: "127.0.0.2", port: Number(new URL(old.url).port) };
  await using moved = await rawServer((socket) => socket.write(OK), true, place);
  const { resolve, asked } = names(["127.0.0.1"], ["127.0.0.2"]);
  await using http = httpClient({ resolve, connectionMaxAgeMs: 60_000 });
  const connections = [];
  // A request every 200 ms: the connection is never idle for long enough to be closed for that reason.
  for (let atMs = 0; atMs <= 60_000; atMs += 200) {
    clock.mockReturnValue(startMs + atMs);
    expect(outcome(await http.post(at(old, "moving.example.com")))).toBe(200);
    connections.push(`${old.connections()} ${moved.connections()}`);
  }
  clock.mockRestore();
  expect(new Set(connections.slice(0, -1))).toEqual(new Set(["1 0"]));
  expect(connections.at(-1)).toBe("1 1");
  expect(asked).toHaveLength(2);
  await expect.poll(old.open).toBe(0);
});

test.each([
  ["127.0.0.1", "127.0.0.0/8"],
  ["::ffff:127.0.0.1", "127.0.0.0/8"],
])("%s may be requested where %s is allowed", async (address, network) => {
  await using server = await rawServer((socket) => socket.write(OK));
  const { resolve } = names([address]);
  await using http = httpClient({ resolve, allow: [network] });
  expect(outcome(await http.post(at(server, "hook.internal")))).toBe(200);
});

test("a redirect into the private network is a response like any other", async () => {
  await using inside = await rawServer((socket) => socket.write(OK));
  await using server = await rawServer((socket) =>
    socket.write(`HTTP/1.1 307 T\r\nLocation: ${inside.url}\r\nContent-Length: 0\r\n\r\n`),
  );
  await using http = httpClient();
  expect(outcome(await http.post(endpointOf(server.url)))).toBe(307);
  expect(inside.connections()).toBe(0);
});

test("a name server that fails is dns, one that says nothing a timeout", async () => {
  const fails: Resolve = (_name, found) => {
    setImmediate(found, Object.assign(new Error("down"), { code: "EAI_AGAIN" }), []);
  };
  await using failing = httpClient({ resolve: fails });
  expect(outcome(await failing.post(endpointOf("http://hook.example.com/")))).toBe("dns");
  await using hanging = httpClient({ resolve: () => undefined, timeoutMs: 50 });
  expect(outcome(await hanging.post(endpointOf("http://hook.example.com/")))).toBe("timeout");
});
