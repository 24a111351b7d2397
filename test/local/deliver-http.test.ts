// The bytes of a request, and the interpretation of the response, with a server that responds with given bytes.

import type { Socket } from "node:net";
import { expect, test } from "vitest";

import {
  READ_BODY_MAX_BYTES,
  RESPONSE_BODY_MAX_BYTES,
} from "../../src/router/destinations/webhook/http.ts";
import type { Batch } from "../../src/router/destinations/webhook/settings.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { endpointOf } from "../support/build/webhook-destination.ts";
import { httpClient, LONG_MS, outcome } from "../support/servers/http-client.ts";
import { rawServer } from "../support/servers/raw-server.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Returns the result of one request that gets this response. */
async function responded(respond: (socket: Socket) => void, timeoutMs = LONG_MS) {
  await using server = await rawServer(respond);
  await using http = httpClient({ timeoutMs });
  return await http.post(endpointOf(`${server.url}/hook`));
}

function says(text: string) {
  return (socket: Socket) => {
    socket.write(text, "latin1");
  };
}

test("on the wire is what the specification lists, in its order, and nothing else", async () => {
  await using server = await rawServer(says(OK));
  await using http = httpClient();
  await http.post(
    endpointOf(`${server.url}/a/b?c=d`, [
      ["X-Team", "crm"],
      ["x-two", "2"],
    ]),
  );
  const body =
    '{"version":1,"type":"track","userId":"u","event":"Caf\u00c3\u00a9 \u00e2\u0098\u0095","properties":{"a":1},"timestamp":"2026-03-01T09:30:15.250Z"}';
  expect(server.received[0]?.split("\r\n")).toEqual([
    "POST /a/b?c=d HTTP/1.1",
    `host: ${new URL(server.url).host}`,
    "connection: keep-alive",
    "User-Agent: Switchyard/1.0",
    "Content-Type: application/json",
    // Computed with: openssl dgst -sha1 -hmac s3cr3t
    expect.stringMatching(/^X-Signature: [0-9a-f]{40}$/),
    "X-Team: crm",
    "x-two: 2",
    `content-length: ${body.length}`,
    "",
    body,
  ]);
});

test.each([
  ["a whole response", OK, 200],
  ["no body", "HTTP/1.1 204 No Content\r\n\r\n", 204],
  [
    "a chunked body",
    "HTTP/1.1 202 A\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    202,
  ],
  ["a client error", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404],
  [
    "a redirect, which is not followed",
    "HTTP/1.1 302 F\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    302,
  ],
  ["100 Continue first", `HTTP/1.1 100 Continue\r\n\r\n${OK}`, 200],
  ["100 Continue twice", `HTTP/1.1 100 C\r\nA: b\r\n\r\nHTTP/1.1 100 C\r\n\r\n${OK}`, 200],
  ["early hints first", `HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${OK}`, 200],
  ["both", `HTTP/1.1 103 E\r\n\r\nHTTP/1.1 100 C\r\n\r\nHTTP/1.1 102 P\r\n\r\n${OK}`, 200],
])("%s", async (_name, response, status) => {
  const result = await responded(says(response));
  expect(result).toMatchObject({ kind: "response", status });
});

test("a body that begins like a response, after hints in the same piece, is a body", async () => {
  const result = await responded((socket) => {
    socket.write("HTTP/1.1 103 E\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
    setTimeout(() => socket.write("H"), 20);
    setTimeout(() => socket.write("T"), 40);
  });
  expect(result).toMatchObject({ kind: "response", status: 200 });
});

test("a 100 Continue in pieces is skipped", async () => {
  const pieces = [
    "H",
    "TTP/1.1 10",
    "0 Continue\r\n",
    "\r",
    "\nHTTP/1.1 20",
    "1 Created\r\nContent-Length: 0\r\n\r\n",
  ];
  const result = await responded((socket) => {
    const next = () => {
      const piece = pieces.shift();
      if (piece !== undefined) socket.write(piece, () => setTimeout(next, 5));
    };
    next();
  });
  expect(result).toMatchObject({ kind: "response", status: 201 });
});

test("Retry-After is handed on as it came", async () => {
  const result = await responded(
    says("HTTP/1.1 503 S\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n"),
  );
  expect(result).toMatchObject({ status: 503, retryAfter: "120" });
});

test.each([
  ["64 KiB of body are read to the end, and the connection serves again", 0, 1],
  ["one byte more drops the connection", 1, 2],
])("%s", async (_name, more, connections) => {
  const bytes = RESPONSE_BODY_MAX_BYTES + more;
  const response = `HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n${"x".repeat(bytes)}`;
  await using server = await rawServer(says(response));
  await using http = httpClient();
  const endpoint = endpointOf(`${server.url}/hook`);
  expect(await http.post(endpoint)).toMatchObject({ status: 200 });
  expect(await http.post(endpoint)).toMatchObject({ status: 200 });
  expect(server.connections()).toBe(connections);
});

const EACH: Batch = { calls: 2, bytes: 1_024, waitMs: 1, format: "array", responses: "each" };

test.each([
  ["a body of 256 KiB", 200, READ_BODY_MAX_BYTES, READ_BODY_MAX_BYTES, 1],
  ["one byte more", 200, READ_BODY_MAX_BYTES + 1, null, 2],
  ["an unsuccessful one", 400, 10, null, 1],
  ["none", 200, 0, 0, 1],
])("a request that needs the response gets %s", async (_name, status, sent, read, connections) => {
  const response = `HTTP/1.1 ${status} S\r\nContent-Length: ${sent}\r\n\r\n${"x".repeat(sent)}`;
  await using server = await rawServer(says(response));
  await using http = httpClient({ destination: { batch: EACH } });
  const endpoint = endpointOf(`${server.url}/hook`);
  for (let request = 0; request < 2; request += 1) {
    const result = await http.post(endpoint);
    expect(result).toMatchObject({ kind: "response", status });
    const body = result.kind === "response" ? result.body : undefined;
    expect(body?.length ?? null).toBe(read);
  }
  expect(server.connections()).toBe(connections);
});

test("a body that breaks off is not read", async () => {
  await using server = await rawServer((socket) => {
    socket.end("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n[");
  });
  await using http = httpClient({ destination: { batch: EACH } });
  const result = await http.post(endpointOf(`${server.url}/hook`));
  expect(result).toMatchObject({ kind: "response", status: 200, body: undefined });
});

test.each([
  ["a head of 20 KiB", `HTTP/1.1 200 OK\r\n${`Set-Cookie: ${"c".repeat(986)}\r\n`.repeat(20)}`],
  ["64 KiB of body in chunks of 256 bytes", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"],
])("%s is read to its end, and the connection serves again", async (_name, head) => {
  const chunk = `100\r\n${"x".repeat(256)}\r\n`;
  const isChunked = head.includes("chunked");
  const rest = isChunked ? `\r\n${chunk.repeat(256)}0\r\n\r\n` : "Content-Length: 0\r\n\r\n";
  await using server = await rawServer(says(head + rest));
  await using http = httpClient();
  const endpoint = endpointOf(`${server.url}/hook`);
  for (let request = 0; request < 3; request += 1) {
    expect(await http.post(endpoint)).toMatchObject({ status: 200 });
  }
  expect(server.connections()).toBe(1);
});

test.each([
  ["nothing", () => undefined],
  ["half of the status line", says("HTTP/1.1 200 O")],
  [
    "1xx without end",
    (socket: Socket) => {
      const more = () => {
        if (!socket.destroyed)
          socket.write("HTTP/1.1 102 Processing\r\n\r\n", () => setTimeout(more, 5));
      };
      more();
    },
  ],
])("%s until the deadline is a timeout", async (_name, respond) => {
  const result = await responded(respond, 100);
  expect(result).toMatchObject({ kind: "no-response", cause: "timeout" });
  expect(result.durationMs).toBeGreaterThanOrEqual(100);
});

test.each([
  ["half of the headers", says("HTTP/1.1 503 S\r\nRetry-After: 7\r\nContent-"), 503, "7"],
  ["half of the body", says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), 200, null],
  [
    "a body that drips",
    (socket: Socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n");
      const more = () => {
        if (!socket.destroyed) socket.write("x", () => setTimeout(more, 5));
      };
      more();
    },
    200,
    null,
  ],
])("%s until the deadline: the status counts", async (_name, respond, status, retryAfter) => {
  expect(await responded(respond, 1_000)).toMatchObject({ kind: "response", status, retryAfter });
});

test.each([
  ["a close before the response", (socket: Socket) => socket.end(), "reset"],
  ["a close within the status line", (socket: Socket) => socket.end("HTTP/1.1 200 O"), "reset"],
  ["no HTTP at all", says("SSH-2.0-OpenSSH_9.6\r\n"), "protocol"],
  [
    "two content lengths",
    says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"),
    "protocol",
  ],
])("%s is a failure without a response", async (_name, respond, cause) => {
  expect(await responded(respond)).toMatchObject({ kind: "no-response", cause });
});

test.each([
  ["a head", "HTTP/1.1 404 No\r\nContent-Le", 404],
  ["a body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", 200],
  ["a chunked body", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", 200],
])("%s cut short: the status counts", async (_name, text, status) => {
  const result = await responded((socket) => socket.end(text));
  expect(result).toMatchObject({ kind: "response", status });
});

test("a refused connection is refused, an unknown name is dns", async () => {
  const gone = `http://127.0.0.1:${await freePort()}/`;
  await using http = httpClient();
  expect(await http.post(endpointOf(gone))).toMatchObject({ cause: "refused" });
  // No name server is queried for an empty label.
  expect(await http.post(endpointOf("http://nobody..invalid/"))).toMatchObject({ cause: "dns" });
});

test.each(["127.0.0.1", "localhost", "[::1]", "0x7f.1"])(
  "a request to %s is rejected unless its network is allowed",
  async (host) => {
    await using server = await rawServer(says(OK));
    await using http = httpClient({ allow: [] });
    const url = `http://${host}:${new URL(server.url).port}/`;
    expect(await http.post(endpointOf(url))).toMatchObject({ cause: "address" });
    expect(server.connections()).toBe(0);
  },
);

test("one after the other goes over one connection, in parallel over several", async () => {
  await using server = await rawServer(says(OK));
  await using http = httpClient();
  const endpoint = endpointOf(server.url);
  for (let count = 0; count < 5; count += 1) await http.post(endpoint);
  expect(server.connections()).toBe(1);
  await Promise.all([http.post(endpoint), http.post(endpoint), http.post(endpoint)]);
  expect(server.connections()).toBe(3);
});

test("a connection that the endpoint closed between requests costs nothing", async () => {
  await using server = await rawServer((socket) => socket.end(OK));
  await using http = httpClient();
  const endpoint = endpointOf(server.url);
  for (let count = 0; count < 3; count += 1) {
    expect(await http.post(endpoint)).toMatchObject({ kind: "response", status: 200 });
    await expect.poll(server.open).toBe(0);
  }
  expect(server.connections()).toBe(3);
});

test("after a failure of each kind the next request is none the worse", async () => {
  const responses = [
    (socket: Socket) => socket.resetAndDestroy(),
    says("nonsense\r\n\r\n"),
    () => undefined,
    says(OK),
  ];
  let turn = 0;
  await using server = await rawServer((socket) => responses[turn++]?.(socket));
  await using http = httpClient({ timeoutMs: 1_500 });
  const endpoint = endpointOf(server.url);
  const results = [];
  for (const _ of responses) results.push(await http.post(endpoint));
  expect(results.map(outcome)).toEqual(["reset", "protocol", "timeout", 200]);
});

test.each(["http:", "https:"])("closing ends what is in progress over %s", async (protocol) => {
  // It never responds, so with https, not even the connection is established.
  await using server = await rawServer(() => undefined);
  const http = httpClient();
  const pending = http.post(endpointOf(server.url.replace("http:", protocol)));
  await expect.poll(() => server.received[0]).toBeTruthy();
  await http.close();
  expect(outcome(await pending)).toBe("reset");
  await expect.poll(server.open).toBe(0);
});

test("closing gives idle connections back", async () => {
  await using server = await rawServer(says(OK));
  const http = httpClient();
  await http.post(endpointOf(server.url));
  expect(server.open()).toBe(1);
  await http.close();
  await expect.poll(server.open).toBe(0);
});
