// Connections that end between two requests: a request that certainly has not arrived is sent again immediately and
// does not count as an attempt. A request that may have arrived is not sent again.

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { MessageId } from "../../src/domain/ids.ts";
import { endpointOf } from "../support/build/webhook-destination.ts";
import { httpClient, outcome } from "../support/servers/http-client.ts";
import { rawServer } from "../support/servers/raw-server.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const ENDS: readonly (readonly [string, (socket: Socket) => void])[] = [
  ["closed", (socket) => socket.end()],
  ["closed for good", (socket) => socket.destroy()],
  ["reset", (socket) => socket.resetAndDestroy()],
];

function requests(received: readonly string[]): number {
  return received.join("").split("POST ").length - 1;
}

/** Connections of this process, on the client's side. */
const made: Socket[] = [];
const onSocket = (message: unknown) => {
  made.push((message as { readonly socket: Socket }).socket);
};
beforeEach(() => {
  made.length = 0;
  subscribe("net.client.socket", onSocket);
});
afterEach(() => {
  unsubscribe("net.client.socket", onSocket);
});

/** Ends the connections, and resolves when the client has detected this. */
async function endAll(sockets: readonly Socket[], end: (socket: Socket) => void): Promise<void> {
  expect(made).toHaveLength(new Set(sockets).size);
  const noticed = made.map((socket) => new Promise((resolve) => socket.once("close", resolve)));
  for (const socket of sockets) end(socket);
  await Promise.all(noticed);
}

/** Starts a server that responds to each request, and returns the connections. */
async function world(options: { closesAt?: number } = {}) {
  const sockets: Socket[] = [];
  let arrived = 0;
  const server = await rawServer((socket) => {
    sockets.push(socket);
    arrived += 1;
    if (arrived === options.closesAt) socket.destroy();
    else socket.write(OK);
  });
  return { server, sockets, endpoint: endpointOf(server.url) };
}

test.each(ENDS)("a connection is %s before the next request", async (_name, end) => {
  const { server, sockets, endpoint } = await world();
  await using _ = server;
  await using http = httpClient();
  await http.post(endpoint);
  await endAll(sockets, end);
  expect(outcome(await http.post(endpoint))).toBe(200);
  expect(requests(server.received)).toBe(2);
  expect(server.connections()).toBe(2);
});

test.each(ENDS)("all connections are %s, as by a restart of the endpoint", async (_name, end) => {
  const { server, sockets, endpoint } = await world();
  await using _ = server;
  await using http = httpClient();
  const several = () => Promise.all(Array.from({ length: 8 }, () => http.post(endpoint)));
  await several();
  await endAll(sockets, end);
  expect((await several()).map(outcome)).toEqual(Array.from({ length: 8 }, () => 200));
  expect(requests(server.received)).toBe(16);
});

// In the next two cases, no code has run since the end: only the kernel has received it when we write.
test("reset at the very moment of sending: nothing was written, so it is sent again", async () => {
  const { server, sockets, endpoint } = await world();
  await using _ = server;
  await using http = httpClient();
  await http.post(endpoint);
  for (const socket of sockets) socket.resetAndDestroy();
  expect(outcome(await http.post(endpoint))).toBe(200);
  expect(requests(server.received)).toBe(2);
  expect(server.connections()).toBe(2);
});

test("closed at the very moment of sending: it was written, so it may have arrived", async () => {
  const { server, sockets, endpoint } = await world();
  await using _ = server;
  await using http = httpClient();
  await http.post(endpoint);
  for (const socket of sockets) socket.destroy();
  expect(outcome(await http.post(endpoint))).toBe("reset");
  expect(server.connections()).toBe(1);
});

test("a request that arrived and got no response is not sent again", async () => {
  const { server, endpoint } = await world({ closesAt: 2 });
  await using _ = server;
  await using http = httpClient();
  expect(outcome(await http.post(endpoint))).toBe(200);
  expect(outcome(await http.post(endpoint))).toBe("reset");
  expect(requests(server.received)).toBe(2);
});

test("an endpoint that closes every new connection is asked once per attempt", async () => {
  await using server = await rawServer((socket) => socket.destroy());
  await using http = httpClient();
  expect(outcome(await http.post(endpointOf(server.url)))).toBe("reset");
  expect(server.connections()).toBe(1);
});

test("whenever a connection ends, no request arrives twice or is taken for done", async () => {
  const { server, sockets, endpoint } = await world();
  await using _ = server;
  await using http = httpClient({ destination: { messageIdHeader: true } });
  for (let round = 0; round < 300; round += 1) {
    const messageId = `${round}-` as MessageId;
    await http.post(endpoint);
    const [, end] = ENDS[round % ENDS.length] ?? [];
    const closing = turns(round % 5).then(() => {
      for (const socket of sockets) end?.(socket);
    });
    await turns(round % 7);
    const arrived = outcome(await http.post(endpoint, { messageId })) === 200;
    await closing;
    const copies = server.received.join("").split(`Message-Id: ${messageId}\r`).length - 1;
    expect(copies, `round ${round}`).toBeLessThanOrEqual(1);
    if (arrived) expect(copies).toBe(1);
    sockets.length = 0;
  }
});

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((done) => setImmediate(done));
}
