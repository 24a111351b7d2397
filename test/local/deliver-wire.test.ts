// Faults of endpoints in connections, byte for byte: each request ends within the deadline and releases its connection.
// deliver-http.test.ts has faults in responses.

import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { endpointOf } from "../support/build/webhook-destination.ts";
import { httpClient, outcome } from "../support/servers/http-client.ts";
import { rawServer } from "../support/servers/raw-server.ts";

const HEAD = "HTTP/1.1 200 OK\r\n";
const OK = `${HEAD}Content-Length: 2\r\n\r\nok`;
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

type Respond = (socket: Socket) => void;

function says(text: string | Buffer): Respond {
  return (socket) => {
    socket.write(text, "latin1");
  };
}

function saysAndResets(text: string): Respond {
  return (socket) => {
    socket.write(text, () => socket.resetAndDestroy());
  };
}

/** Writes as fast as the other side reads. */
function floods(start: string, more: string): Respond {
  return (socket) => {
    socket.write(start);
    const chunk = more.repeat(Math.ceil(4_096 / more.length));
    const next = () => {
      if (!socket.destroyed) socket.write(chunk, () => setImmediate(next));
    };
    next();
  };
}

test.each<[string, Respond, number | string]>([
  ["a reset before the response", (socket) => socket.resetAndDestroy(), "reset"],
  ["a reset within the status line", saysAndResets("HTTP/1."), "reset"],
  ["a reset within the headers", saysAndResets(`${HEAD}Content-`), 200],
  ["a reset within the body", saysAndResets(`${HEAD}Content-Length: 9\r\n\r\nhalf`), 200],
  ["a reset within a chunk", saysAndResets(`${CHUNKED}5\r\nha`), 200],
  ["a reset after an interim response", saysAndResets("HTTP/1.1 102 P\r\n\r\n"), "reset"],
  [
    "a length that is too long, then the end",
    (s) => s.end(`${HEAD}Content-Length: 9\r\n\r\nok`),
    200,
  ],
  ["a length that is no number", says(`${HEAD}Content-Length: two\r\n\r\nok`), 200],
  ["a negative length", says(`${HEAD}Content-Length: -1\r\n\r\nok`), 200],
  ["a length beyond any number", says(`${HEAD}Content-Length: ${"9".repeat(30)}\r\n\r\n`), 200],
  [
    "a length and chunks",
    says(`${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`),
    200,
  ],
  ["a chunk size that is no number", says(`${CHUNKED}xyz\r\n`), 200],
  ["a chunk longer than it says", says(`${CHUNKED}1\r\nokay\r\n`), 200],
  ["a NUL in a header's value", says(`${HEAD}A: b\0c\r\n\r\n`), 200],
  ["a control character in a header's value", says(`${HEAD}A: b\x01c\r\n\r\n`), 200],
  ["a blank in a header's name", says(`${HEAD}A b: c\r\n\r\n`), 200],
  ["a header without a name", says(`${HEAD}: c\r\n\r\n`), 200],
  ["a header without a colon", says(`${HEAD}nothing\r\n\r\n`), 200],
  ["a status of two digits", says("HTTP/1.1 20 OK\r\n\r\n"), "protocol"],
  ["a status of letters", says("HTTP/1.1 abc OK\r\n\r\n"), "protocol"],
  ["HTTP/0.9", says("<html>hello</html>\r\n\r\n"), "protocol"],
  [
    "the beginning of HTTP/2",
    says(Buffer.from("00001204000000000000030000006400040010000000060000", "hex")),
    "protocol",
  ],
  [
    "another protocol in its place",
    says("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    "protocol",
  ],
  ["headers without end", floods(HEAD, "A: bcdefghijklmnop\r\n"), 200],
  ["a header's name without end", floods(HEAD, "a"), 200],
  ["a header's value without end", floods(`${HEAD}A: `, "b"), 200],
  ["trailers without end", floods(`${CHUNKED}0\r\n`, "A: bcdefghijklmnop\r\n"), 200],
  ["a reason without end", floods("HTTP/1.1 200 ", "y"), "protocol"],
  ["a chunk extension without end", floods(`${CHUNKED}2;`, "x"), 200],
  ["102 without end", floods("", "HTTP/1.1 102 Processing\r\n\r\n"), "protocol"],
  ["100 without end", floods("", "HTTP/1.1 100 Continue\r\n\r\n"), "protocol"],
  ["103 with headers without end", floods("", "HTTP/1.1 103 E\r\nLink: x\r\n\r\n"), "protocol"],
  ["empty lines without end", floods("", "\r\n"), "protocol"],
  ["a body without end", floods(CHUNKED, "4\r\nmore\r\n"), 200],
  ["a body without end and length", floods(`${HEAD}\r\n`, "more"), 200],
])("%s: %3$s, and the connection is given back", async (_name, respond, expected) => {
  await using server = await rawServer(respond);
  await using http = httpClient({ timeoutMs: 5_000 });
  expect(outcome(await http.post(endpointOf(server.url)))).toBe(expected);
  await expect.poll(server.open).toBe(0);
});

test.each<[string, Respond, number]>([
  ["HTTP/1.0 with a length", says("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"), 200],
  ["HTTP/1.0 that ends by closing", (socket) => socket.end("HTTP/1.0 201 C\r\n\r\ntext"), 201],
  [
    "bytes that are no ASCII in a header",
    says(`${HEAD}A: caf\xe9\r\nContent-Length: 0\r\n\r\n`),
    200,
  ],
  ["a reset after the response", saysAndResets(OK), 200],
  ["more body than its length says", says(`${OK}and more`), 200],
  ["a second response that nobody asked for", says(`${OK}HTTP/1.1 500 No\r\n\r\n`), 200],
  [
    "a body that only claims to be gzip",
    says(`${HEAD}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope`),
    200,
  ],
  ["a status above 599", says("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"), 999],
])("%s: the status counts", async (_name, respond, status) => {
  await using server = await rawServer(respond);
  const http = httpClient();
  expect(outcome(await http.post(endpointOf(server.url)))).toBe(status);
  await http.close();
  await expect.poll(server.open).toBe(0);
});

test("a gzip bomb is never unpacked", async () => {
  const bomb = gzipSync(Buffer.alloc(60_000_000));
  const head = `${HEAD}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`;
  expect(bomb.length).toBeLessThan(65_536);
  await using server = await rawServer(says(Buffer.concat([Buffer.from(head), bomb])));
  await using http = httpClient();
  const before = process.memoryUsage().arrayBuffers;
  expect(outcome(await http.post(endpointOf(server.url)))).toBe(200);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(30_000_000);
});

test("what follows a response is not taken for the response to the next request", async () => {
  let requests = 0;
  await using server = await rawServer((socket) => {
    requests += 1;
    const extra = requests === 1 ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" : "";
    socket.write(`HTTP/1.1 ${requests === 1 ? 200 : 503} X\r\nContent-Length: 0\r\n\r\n${extra}`);
  });
  await using http = httpClient();
  const endpoint = endpointOf(server.url);
  expect(outcome(await http.post(endpoint))).toBe(200);
  expect(outcome(await http.post(endpoint))).toBe(503);
  expect(server.connections()).toBe(2);
});

test("a TLS handshake that never continues ends at the deadline", async () => {
  await using server = await rawServer(() => undefined);
  await using http = httpClient({ timeoutMs: 100 });
  const endpoint = endpointOf(server.url.replace("http:", "https:"));
  expect(outcome(await http.post(endpoint))).toBe("timeout");
  await expect.poll(server.open).toBe(0);
});
